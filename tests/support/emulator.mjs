// emulator.mjs: `atoll emulator` in a process of its own, for a test.

import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {createInterface} from 'node:readline';
import {ATOLL} from './instance.mjs';

const READY = /^Cloud Bigtable emulator running on (.*:(\d+))$/;

/** Those that run; a test that fails may not come to end its own. */
const alive = new Set();
process.on('exit', () => alive.forEach(child => child.kill()));

export class Emulator {
  /** `program` and the arguments before the flags: a link named cbtemulator has none. */
  static async start({program = ATOLL, command = ['emulator'], flags = ['-port', '0'], env = {}} = {}) {
    const emulator = new Emulator();
    emulator.child = spawn(program, [...command, ...flags],
      {stdio: ['ignore', 'pipe', 'pipe'], env: {...process.env, ...env}});
    alive.add(emulator.child);
    emulator.child.once('exit', () => alive.delete(emulator.child));
    emulator.stderr = '';
    emulator.child.stderr.on('data', text => (emulator.stderr += text));
    emulator.exited = once(emulator.child, 'exit');
    emulator.ready = await Promise.race([
      once(createInterface(emulator.child.stdout), 'line').then(([line]) => line),
      emulator.exited.then(([code]) => {
        throw new Error(`the emulator ended with ${code}: ${emulator.stderr}`);
      }),
    ]);
    const [, address, port] = READY.exec(emulator.ready);
    emulator.address = address;
    emulator.port = Number(port);
    // A test that fails is not to wait for it.
    for (const one of [emulator.child, emulator.child.stdout, emulator.child.stderr]) one.unref();
    return emulator;
  }

  project = 'any-project';
  id = 'any-instance';

  /** As much of an instance's status as the cases ask for. */
  async status() {
    return {clusters: [{id: 'emulator-c1', grpc: this.port}]};
  }

  get endpoint() {
    return `127.0.0.1:${this.port}`;
  }

  /** Ends it; resolves to the exit code. Throws what a sanitizer said. */
  async stop(signal = 'SIGTERM') {
    this.child.ref();
    this.child.kill(signal);
    const [code] = await this.exited;
    if (/Sanitizer:|runtime error:/.test(this.stderr)) throw new Error(this.stderr);
    return code;
  }
}
