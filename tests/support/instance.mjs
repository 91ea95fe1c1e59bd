// instance.mjs: a whole Atoll instance for a test: real processes in a temporary folder.
//
//   const instance = await Instance.start({config: 'configs/three-zones.yaml'});
//   ... instance.raw('multi') ... await instance.kill('lab-c1') ...
//   await instance.stop();
//
// ATOLL names the program (default build/release/atoll). Every process is stopped by its pid through
// `atoll down`; the folder is removed unless a process reported a fault or ATOLL_KEEP is set.

import {execFile, execFileSync} from 'node:child_process';
import {mkdtemp, readdir, readFile, rm} from 'node:fs/promises';
import {createServer} from 'node:net';
import {tmpdir} from 'node:os';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {Raw} from './raw.mjs';

const run = promisify(execFile);
export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
export const ATOLL = resolve(ROOT, process.env.ATOLL ?? 'build/release/atoll');
const WAIT_MS = 120000;
const FAULT = /level=fatal|Sanitizer:|runtime error:/;

// Of a sanitized build: what is not its own fault.
process.env.LSAN_OPTIONS ??= `suppressions=${join(ROOT, 'tests/support/lsan.supp')}:print_suppressions=0`;

/** Folders whose processes run; a test that fails may not come to stop them. */
const alive = new Set();
process.on('exit', () => {
  for (const dir of alive)
    try {
      execFileSync(ATOLL, ['down', '--state-dir', dir], {stdio: 'ignore'});
    } catch {} // the failure that brought it here has been told
});

/**
 * Takes a part of the ports for this process's instances (ATOLL_PORTS), so that the port of a cluster
 * which is down for a moment is not chosen for an instance of another test. Whoever has a part
 * listens on its first port; without a part left it is as without this.
 */
const takePorts = (async () => {
  const [first, size, parts] = [16384, 2048, 8];
  for (let at = first; at < first + size * parts && !process.env.ATOLL_PORTS; at += size) {
    const server = createServer();
    const mine = await new Promise(done => server.once('error', () => done(false))
      .listen({host: '127.0.0.1', port: at}, () => done(true)));
    if (!mine) continue;
    server.unref();
    process.env.ATOLL_PORTS = `${at + 1}-${at + size - 1}`;
  }
})();

export class Instance {
  /** `config` is a path in the repository; the state directory is made in `under`. */
  static async start({config = 'configs/three-zones.yaml', under = tmpdir()} = {}) {
    await takePorts;
    const instance = new Instance();
    instance.dir = await mkdtemp(join(under, 'atoll-test-'));
    try {
      await instance.up('-c', resolve(ROOT, config), '--grpc-port', '0', '--http-port', '0');
    } catch (err) {
      await instance.down().catch(() => {}); // `up` has said what is wrong
      await rm(instance.dir, {recursive: true, force: true});
      throw err;
    }
    return instance;
  }

  project = 'atoll';
  id = 'lab';
  #clients = [];

  /** Starts all processes; again after `down` without further arguments. */
  async up(...args) {
    alive.add(this.dir);
    await this.atoll('up', ...args, '--detach');
    const status = await this.status();
    this.port = status.router.grpc;
    this.httpPort = status.router.http;
  }

  async down() {
    await this.atoll('down');
    alive.delete(this.dir);
  }

  /** A raw client of the router, through an app profile; closed by `stop`. */
  raw(profile = '', options = {}) {
    return this.#keep(new Raw(this.endpoint, {profile, ...options}));
  }

  /** A raw client of one cluster itself. */
  async direct(cluster, options = {}) {
    const {clusters} = await this.status();
    const {grpc} = clusters.find(c => c.id === cluster);
    return this.#keep(new Raw(`127.0.0.1:${grpc}`, options));
  }

  #keep(client) {
    this.#clients.push(client);
    return client;
  }

  /** Runs `atoll COMMAND ... --state-dir DIR` and returns its standard output. */
  async atoll(command, ...args) {
    return await output(ATOLL, command, ...args, '--state-dir', this.dir);
  }

  /** Runs `atoll cbt ...` against the router. */
  async cbt(...args) {
    return await output(ATOLL, 'cbt', '--endpoint', this.endpoint, ...args);
  }

  get endpoint() {
    return `127.0.0.1:${this.port}`;
  }

  async status() {
    return JSON.parse(await this.atoll('status', '--json'));
  }

  async kill(cluster) {
    await this.atoll('kill', cluster);
  }

  async startCluster(cluster) {
    await this.atoll('start', cluster);
  }

  /** Digest lines by cluster; throws when the clusters differ. */
  async digest(...table) {
    return await this.atoll('digest', ...table);
  }

  async log(name) {
    return await readFile(join(this.dir, 'logs', `${name}.log`), 'utf8');
  }

  /** Lines in which a process reported a fault of its own. */
  async faults() {
    const found = [];
    for (const name of await readdir(join(this.dir, 'logs'))) {
      const text = await readFile(join(this.dir, 'logs', name), 'utf8');
      const lines = text.split('\n').filter(line => FAULT.test(line));
      found.push(...lines.map(line => `${name}: ${line}`));
    }
    return found;
  }

  /** Lines that a sanitizer wrote, of any process. */
  async complaints() {
    const names = await readdir(join(this.dir, 'logs'));
    const logs = await Promise.all(names.map(name => readFile(join(this.dir, 'logs', name), 'utf8')));
    return logs.flatMap(log => log.split('\n').filter(line => /Sanitizer:|runtime error:/.test(line)));
  }

  /**
   * Stops all processes; throws when one of them had reported a fault, or a sanitizer found something,
   * be it a leak at the end, and keeps the folder then.
   */
  async stop() {
    this.#clients.forEach(client => client.close());
    await this.down();
    const found = await this.complaints();
    if (found.length > 0) throw new Error(`${this.dir}/logs: ${found.join('\n')}`);
    const faults = await this.faults();
    if (faults.length > 0) throw new Error(`${this.dir}/logs:\n${faults.slice(0, 10).join('\n')}`);
    if (!process.env.ATOLL_KEEP) await rm(this.dir, {recursive: true, force: true});
  }
}

/** What a command prints; the error of one that fails holds both of its outputs. */
async function output(program, ...args) {
  try {
    const {stdout} = await run(program, args, {maxBuffer: 64 << 20});
    return stdout;
  } catch (err) {
    err.message += err.stdout ? `\n${err.stdout}` : '';
    throw err;
  }
}

/**
 * Waits until `check` returns something true; throws with `what` after the time. That only ends a test
 * which hangs; how fast something is to be it does not say.
 */
export async function eventually(what, check, ms = WAIT_MS, pauseMs = 50) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise(done => setTimeout(done, pauseMs));
  }
}

/** Waits until no pair of clusters lags, as far as `atoll status` knows. */
export async function replicated(instance, ms = WAIT_MS) {
  await eventually('replication has caught up', async () => {
    const {clusters} = await instance.status();
    return clusters.every(c =>
      c.state === 'READY' && Object.values(c.lag).every(l => l.entries === 0));
  }, ms);
}
