// report.mjs: runs all cases against Atoll and, where it is installed, Google's emulator, and writes
// docs/CONFORMANCE.md: one line for each case with what came of it.
//
//   node tests/conformance/report.mjs [FILE]

import {spawn} from 'node:child_process';
import {access, writeFile} from 'node:fs/promises';
import {createServer} from 'node:net';
import {delimiter, join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import GROUPS from './cases/index.mjs';
import {runCase, Target} from './run.mjs';
import {eventually, Instance, ROOT} from '../support/instance.mjs';

const SDK = '/usr/lib/google-cloud-sdk/platform/bigtable-emulator';
const FILE = process.argv[2] ?? join(ROOT, 'docs/CONFORMANCE.md');

/** Google's emulator, which some cases kill: it is started again then. */
class Emulator {
  static async find() {
    for (const folder of [...process.env.PATH.split(delimiter), SDK]) {
      const program = join(folder, 'cbtemulator');
      if (await access(program).then(() => true, () => false)) return new Emulator(program);
    }
    return null;
  }

  constructor(program) {
    this.program = program;
  }

  async start() {
    const port = await freePort();
    this.process = spawn(this.program, ['-host', '127.0.0.1', '-port', `${port}`], {stdio: 'ignore'});
    this.target = new Target('emulator', `127.0.0.1:${port}`);
    const ping = () => this.target.api.call('ListTables', {parent: this.target.instanceName});
    await eventually('the emulator answers', async () => (await ping()).code === 'OK');
  }

  get dead() {
    return this.process.exitCode !== null || this.process.signalCode !== null;
  }

  async run(test) {
    if (this.dead) await this.restart();
    const result = await outcomeOf(this.target, test);
    await sleep(20); // a crash is seen a moment after the connection is lost
    return this.dead ? {ok: false, outcome: 'crashed'} : result;
  }

  async restart() {
    this.target.close();
    await this.start();
  }

  stop() {
    this.target.close();
    this.process.kill();
  }
}

function freePort() {
  return new Promise(done => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const {port} = server.address();
      server.close(() => done(port));
    });
  });
}

async function outcomeOf(target, test) {
  try {
    return await runCase(target, test);
  } catch (err) {
    return {ok: false, outcome: err.message};
  }
}

const instance = await Instance.start();
const {clusters} = await instance.status();
const options = {profile: 'tx', instance};
const router = new Target('router', instance.endpoint, options);
const direct = new Target('direct', `127.0.0.1:${clusters[0].grpc}`, options);
const emulator = await Emulator.find();
const totals = {cases: 0, atoll: 0, later: 0, compared: 0, emulator: 0};
const sections = [];
try {
  await emulator?.start();
  for (const group of GROUPS) sections.push(await section(group));
} finally {
  router.close();
  direct.close();
  emulator?.stop();
  await instance.stop();
}
await writeFile(FILE, page(sections));
console.log(`${FILE}: ${summary()}`);
process.exitCode = totals.atoll === totals.cases ? 0 : 1;

async function section({title, cases}) {
  const lines = ['| case | what must come of it | Atoll | cbtemulator |', '| --- | --- | --- | --- |'];
  const notes = [];
  for (const one of cases) {
    const ours = [await outcomeOf(router, one), ...one.routed ? [] : [await outcomeOf(direct, one)]];
    const theirs = emulator && !one.instance ? await emulator.run(one) : null;
    count(one, ours, theirs);
    lines.push(`| ${one.id} | ${cell(one.what)} | ${atollResult(one, ours)} | ${emulatorResult(one, theirs)} |`);
    if (one.decided) notes.push(`- ${one.id}: ${cell(one.decided)}.`);
  }
  const decided = notes.length > 0 ? ['', 'Where no public source settles the outcome:', '', ...notes] : [];
  return [`## ${title}`, '', ...lines, ...decided].join('\n');
}

function count(one, ours, theirs) {
  totals.cases++;
  if (ours.every(result => result.ok)) totals.atoll++;
  if (one.later) totals.later++;
  if (!theirs || one.later) return;
  totals.compared++;
  if (theirs.ok) totals.emulator++;
}

function atollResult(one, [routed, straight]) {
  if (!routed.ok) return `**wrong**: ${code(routed.outcome)}`;
  if (straight && !straight.ok) return `**wrong** at a cluster: ${code(straight.outcome)}`;
  return one.later ? `not yet: ${cell(one.later)}` : 'right';
}

function emulatorResult(one, result) {
  if (!result) return one.instance ? 'has no clusters' : 'not run';
  if (result.outcome === 'crashed') return '**crashed**';
  if (one.later) return result.ok ? 'the same' : code(result.outcome);
  return result.ok ? 'right' : `wrong: ${code(result.outcome)}`;
}

function code(text) {
  return `\`${text.trim().replace(/\s+/g, ' ').replace(/`/g, '\'').replace(/\|/g, '\\|')}\``;
}

function cell(text) {
  return text.replace(/\s+/g, ' ').replace(/[|<>*_\\`]/g, '\\$&');
}

function summary() {
  const {cases, atoll, later, compared, emulator: right} = totals;
  const ours = `Atoll: ${atoll} of ${cases} cases as listed (${later} of them name what is not offered yet)`;
  return compared > 0 ? `${ours}; cbtemulator: ${right} of ${compared} right` : ours;
}

function page(all) {
  return `# Conformance

What a Bigtable server must do with inputs that emulators are known to get wrong. Each case is a few
raw gRPC requests with the answers that are right in production, or, where no public source settles
that, the choice that is written below its table. Each is run through the router and directly at one
cluster of a three-zone instance; \`tests/conformance/cases/\` holds them, \`scripts/test conformance\`
runs them. This page is written by \`node tests/conformance/report.mjs\`.

${summary()}.

${all.join('\n\n')}
`;
}
