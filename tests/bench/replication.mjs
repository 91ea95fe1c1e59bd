#!/usr/bin/env node
// replication.mjs WHAT...: measures replication on real processes of this machine and prints Markdown.
//
//   lag       three zones, 20,000 rows/s: how long until a write is seen at the others
//   soak      the same rate for two minutes with kills, pauses and cut links; then all must be equal
//   catchup   a cluster that was paused for 1,000,000 rows, while 5,000 rows/s go on, beside the
//             speed of a plain bulk load of one cluster
//   gone      a cluster is down for MINUTES (10) of writes, past the log's cap, and returns by a copy
//   clusters  three, four and eight clusters under the same 5,000 rows/s
//   verify    CELLS (10,000,000) cells on two clusters, one of which differs: time, and bytes shipped
//
// `lag` and `clusters` are loaded and watched by bench_lag, of the same build: this program itself
// would take as much of the processors as the clusters do, and its own pauses would be seen as lag.
//
// ATOLL names the program (default build/release/atoll); SECONDS, MINUTES, RATE change a run.

import {execFile, spawnSync} from 'node:child_process';
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {promisify} from 'node:util';
import {BulkWriter, Dice, FAMILY, Ledger, newSeed, sleep} from '../support/drill.mjs';
import {ATOLL, eventually, Instance, replicated} from '../support/instance.mjs';
import {cpuSeconds, folderBytes, rssMiB} from '../support/measure.mjs';
import {setCell} from '../support/raw.mjs';

const ZONES = ['us-central1-b', 'us-east1-c', 'europe-west1-b', 'us-west1-a', 'europe-west4-a', 'asia-east1-a',
  'asia-south1-a', 'southamerica-east1-a'];
const LAG = join(dirname(ATOLL), 'tests/bench_lag');
const VALUE_BYTES = 100;
const TABLE = 'fleet';

const run = promisify(execFile);
const seconds = fallback => Number(process.env.SECONDS ?? fallback);
const fixed = (value, digits = 1) => value.toFixed(digits);

/** An instance of `count` clusters; `more` are lines of its file. */
async function begin(count, more = '') {
  const folder = await mkdtemp(join(tmpdir(), 'atoll-test-'));
  const clusters = ZONES.slice(0, count).map((zone, i) => `  - id: lab-c${i + 1}\n    zone: ${zone}\n`).join('');
  await writeFile(join(folder, 'instance.yaml'), `project: atoll\ninstance: lab\ndurability: async\n` +
    `clusters:\n${clusters}${more}profiles:\n  - id: multi\n    routing: any\n`);
  const instance = await Instance.start({config: join(folder, 'instance.yaml')});
  await instance.raw('multi').createTable(TABLE, [FAMILY]);
  instance.end = async () => {
    await instance.stop();
    await rm(folder, {recursive: true, force: true});
  };
  return instance;
}

/** Writers through the given clients, `rate` rows a second in all. */
function load(raws, rate, {ledger = new Ledger(), batch = 100, name = 'w', rows = Infinity, lanes = 1} = {}) {
  const writers = raws.map((raw, i) => new BulkWriter({raw, table: TABLE, name: `${name}${i}`, ledger, batch,
    rows, lanes, rowsPerSecond: rate / raws.length, valueBytes: VALUE_BYTES}));
  const start = performance.now();
  return {
    ledger,
    get offered() { // what waits for its time is not yet
      return Math.min(writers.reduce((sum, writer) => sum + writer.offered, 0),
        rate * (performance.now() - start) / 1000);
    },
    get rate() {
      return ledger.writes / ((performance.now() - start) / 1000);
    },
    stop: () => Promise.all(writers.map(writer => writer.stop())),
  };
}

const routed = (instance, count) => Array.from({length: count}, () => instance.raw('multi', {deadlineMs: 5000}));
const pidOf = async (instance, id) => (await instance.status()).clusters.find(c => c.id === id).pid;

async function lag(count = 3, rate = Number(process.env.RATE ?? 20000)) {
  const instance = await begin(count);
  try {
    const {clusters, router} = await instance.status();
    const before = await Promise.all(clusters.map(c => cpuSeconds(c.pid)));
    const start = performance.now();
    const {stdout} = await run(LAG, [instance.raw().tableName(TABLE), 'multi', String(rate), String(seconds(20)),
      router.grpc, ...clusters.map(c => c.grpc)].map(String));
    const tookS = (performance.now() - start) / 1000;
    const after = await Promise.all(clusters.map(c => cpuSeconds(c.pid)));
    const memory = await Promise.all(clusters.map(c => rssMiB(c.pid)));
    const cpu = after.map((value, i) => (100 * (value - before[i])) / tookS);
    const number = name => Number(new RegExp(`${name} ([\\d.]+)`).exec(stdout)[1]);
    return {rate: number('rate'), p50: number('p50'), p90: number('p90'), p99: number('p99'), longest: number('max'),
      count: number('count'), cpuFirst: cpu[0], cpuOther: cpu.slice(1).reduce((a, b) => a + b) / (cpu.length - 1),
      rss: Math.max(...memory)};
  } finally {
    await instance.end();
  }
}

async function showLag() {
  const {rate, p50, p90, p99, longest, count} = await lag();
  console.log('\n| three zones, rows/s | markers seen | p50 ms | p90 ms | p99 ms | longest |');
  console.log('| ---: | ---: | ---: | ---: | ---: | ---: |');
  console.log(`| ${fixed(rate, 0)} | ${count} | ${fixed(p50)} | ${fixed(p90)} | ${fixed(p99)} | ${fixed(longest)} |`);
}

async function showClusters() {
  const rate = Number(process.env.RATE ?? 5000);
  console.log('\n| clusters | rows/s | lag p50 ms | lag p99 ms | processor %, nearest | processor %, each other | memory MiB, largest |');
  console.log('| ---: | ---: | ---: | ---: | ---: | ---: | ---: |');
  for (const count of [2, 3, 4, 8]) {
    const r = await lag(count, rate);
    console.log(`| ${count} | ${fixed(r.rate, 0)} | ${fixed(r.p50)} | ${fixed(r.p99)} | ${fixed(r.cpuFirst, 0)} | ` +
      `${fixed(r.cpuOther, 0)} | ${fixed(r.rss, 0)} |`);
  }
}

/** Kills, pauses and cuts by turns, until `end`. */
async function harass(instance, dice, end) {
  const done = {killed: 0, paused: 0, cut: 0};
  const any = () => `lab-c${dice.between(1, 3)}`;
  while (performance.now() < end) {
    const victim = any();
    const roll = dice.next();
    if (roll < 0.4) {
      await instance.kill(victim);
      await sleep(dice.between(300, 1500));
      await instance.startCluster(victim);
      done.killed++;
    } else if (roll < 0.7) {
      const pid = await pidOf(instance, victim);
      process.kill(pid, 'SIGSTOP');
      await sleep(dice.between(300, 2000));
      process.kill(pid, 'SIGCONT');
      done.paused++;
    } else {
      const other = [1, 2, 3].map(i => `lab-c${i}`).filter(id => id !== victim)[dice.between(0, 1)];
      await instance.atoll('cut', victim, other, ...(dice.chance(0.5) ? ['--one-way'] : []));
      await sleep(dice.between(500, 3000));
      await instance.atoll('heal');
      done.cut++;
    }
    await sleep(dice.between(500, 2500));
  }
  return done;
}

async function soak() {
  const seed = newSeed();
  const rate = Number(process.env.RATE ?? 20000);
  const instance = await begin(3);
  try {
    // Enough under way that who waits for a dead or paused cluster does not lower what is offered.
    const running = load(routed(instance, 8), rate, {rows: 6000, lanes: 8});
    const begun = performance.now();
    const done = await harass(instance, new Dice(seed), begun + seconds(120) * 1000);
    const offered = running.offered / ((performance.now() - begun) / 1000);
    const reached = running.rate;
    await running.stop();
    const start = performance.now();
    await replicated(instance, 120000);
    const drainS = (performance.now() - start) / 1000;
    const verdict = (await instance.atoll('verify', TABLE)).trim().split('\n').at(-1);
    console.log(`\nSEED=${seed}: ${fixed(offered, 0)} rows/s offered, ${fixed(reached, 0)} acknowledged, for ` +
      `${seconds(120)} s, ${running.ledger.writes} in all; ` +
      `${done.killed} kills, ${done.paused} pauses, ${done.cut} cuts; client errors: ${running.ledger.errors.length}; ` +
      `all had everything ${fixed(drainS)} s after the end.\natoll verify: ${verdict}`);
    const {rows} = await (await instance.direct('lab-c2', {deadlineMs: 0})).read(TABLE,
      {filter: {cellsPerColumnLimitFilter: 1}});
    const wrong = running.ledger.check(new Map(rows.map(({key, cells}) => [key, cells[0].value.toString('latin1')])));
    console.log(`rows compared with what was acknowledged: ${rows.length}; wrong: ${wrong.length}`);
    if (wrong.length > 0) throw new Error(wrong.slice(0, 10).join('\n'));
  } finally {
    await instance.end();
  }
}

/** Rows a second that one cluster of its own takes by MutateRows. */
async function bulkSpeed() {
  const instance = await begin(1);
  try {
    const raws = await Promise.all([0, 1, 2, 3].map(() => instance.direct('lab-c1')));
    const running = load(raws, 1e9, {batch: 500});
    await sleep(seconds(10) * 1000);
    const speed = running.rate;
    await running.stop();
    return speed;
  } finally {
    await instance.end();
  }
}

async function catchup() {
  const alone = await bulkSpeed();
  const missed = Number(process.env.ROWS ?? 1000000);
  const instance = await begin(3);
  try {
    const pid = await pidOf(instance, 'lab-c3');
    const near = await Promise.all([0, 1, 2, 3].map(() => instance.direct('lab-c1')));
    process.kill(pid, 'SIGSTOP');
    const bulk = load(near, 1e9, {batch: 500, name: 'missed'});
    while (bulk.ledger.writes < missed) await sleep(20);
    await bulk.stop();
    const steady = load(near.slice(0, 2), 5000, {name: 'steady'});
    await sleep(500);
    const before = await appliedRows(instance, 'lab-c1');
    process.kill(pid, 'SIGCONT');
    const start = performance.now();
    await eventually('caught up', async () => {
      const {clusters} = await instance.status();
      const lags = clusters.find(c => c.id === 'lab-c3').lag;
      return Object.values(lags).every(l => l.entries !== null && l.entries < 1000);
    }, 300000);
    const tookS = (performance.now() - start) / 1000;
    await steady.stop();
    const rate = (missed + 5000 * tookS) / tookS;
    console.log('\n| rows missed | bulk load of one cluster, rows/s | catching up, rows/s | ratio | time, s |');
    console.log('| ---: | ---: | ---: | ---: | ---: |');
    console.log(`| ${missed} | ${fixed(alone, 0)} | ${fixed(rate, 0)} | ${fixed(rate / alone, 2)} | ${fixed(tookS)} |`);
    if (before < missed) throw new Error(`only ${before} rows were written`);
    await replicated(instance);
    await instance.digest();
  } finally {
    await instance.end();
  }
}

async function appliedRows(instance, id) {
  const {clusters} = await instance.status();
  return clusters.find(c => c.id === id).seq ?? Infinity;
}

async function gone() {
  const minutes = Number(process.env.MINUTES ?? 10);
  const rate = Number(process.env.RATE ?? 5000);
  const capMiB = Math.round(Math.min(64, Math.max(16, 6.4 * minutes))); // reached within that time
  const instance = await begin(3, `storage:\n  log_cap_mib: ${capMiB}\n`);
  try {
    const raws = routed(instance, 4);
    const admin = instance.raw('multi');
    const running = load(raws, rate, {rows: 100000});
    const window = async ms => {
      const from = running.ledger.writes;
      const start = performance.now();
      await sleep(ms);
      return (running.ledger.writes - from) / ((performance.now() - start) / 1000);
    };
    await sleep(2000);
    const together = await window(10000);
    await instance.kill('lab-c3');
    const token = await admin.token(TABLE);
    const speeds = [];
    let largest = 0;
    for (const end = performance.now() + minutes * 60000; performance.now() < end;) {
      speeds.push(await window(10000));
      for (const id of ['lab-c1', 'lab-c2'])
        largest = Math.max(largest, await folderBytes(join(instance.dir, 'data', id)));
    }
    const falseBefore = await admin.consistent(TABLE, token);
    const states = new Set();
    await instance.startCluster('lab-c3');
    const start = performance.now();
    await eventually('it is READY again', async () => {
      const {state, lag: lags} = (await instance.status()).clusters.find(c => c.id === 'lab-c3');
      states.add(`${state} (${Object.values(lags).map(l => l.link).join(' ')})`);
      return state === 'READY' && Object.values(lags).every(l => l.entries !== null && l.entries < 1000);
    }, 600000);
    const tookS = (performance.now() - start) / 1000;
    await running.stop();
    await replicated(instance, 120000);
    const verdict = (await instance.atoll('verify', TABLE)).trim().split('\n').at(-1);
    console.log(`\n${minutes} minutes of ${rate} rows/s with one of three clusters down, log cap ${capMiB} MiB.\n`);
    console.log('| | |\n| --- | --- |');
    console.log(`| rows/s with all three, then with two (least, mean, most of 10 s) | ${fixed(together, 0)}; ` +
      `${fixed(Math.min(...speeds), 0)}, ${fixed(speeds.reduce((a, b) => a + b) / speeds.length, 0)}, ${fixed(Math.max(...speeds), 0)} |`);
    console.log(`| client errors | ${running.ledger.errors.length} |`);
    console.log(`| largest data directory of the others | ${fixed(largest / 2 ** 20, 0)} MiB |`);
    console.log(`| CheckConsistency while it was down | ${falseBefore} |`);
    console.log(`| states it went through on return | ${[...states].join(', ')} |`);
    console.log(`| time to READY without lag | ${fixed(tookS)} s |`);
    console.log(`| CheckConsistency afterwards | ${await admin.consistent(TABLE, token)} |`);
    console.log(`| atoll verify | ${verdict} |`);
    if (falseBefore) throw new Error('the token was true early');
    if (!/a copy is complete/.test(await instance.log('lab-c3'))) throw new Error('it was not filled by a copy');
  } finally {
    await instance.end();
  }
}

/** What a process wrote so far, to sockets and files, in bytes. */
async function writtenBytes(pid) {
  return Number(/wchar: (\d+)/.exec(await readFile(`/proc/${pid}/io`, 'utf8'))[1]);
}

/** Rows of 50 cells, the same at the same time on whatever cluster. */
async function fill(instance, cells) {
  const clients = await Promise.all([0, 1].map(() => instance.direct('lab-c1', {deadlineMs: 0})));
  const [perRow, batch] = [50, 100];
  let next = 0;
  await Promise.all(clients.map(async client => {
    while (next < cells / perRow) {
      const rows = Array.from({length: batch}, (_, i) => next + i);
      next += batch;
      const {codes} = await client.mutateMany(TABLE, rows.map(row => [String(row).padStart(8, '0'),
        ...Array.from({length: perRow}, (_, i) => setCell(FAMILY, `q${i}`, `value ${i}`, 1000))]));
      if (codes.some(code => code !== 0)) throw new Error(`rows were refused: ${codes}`);
    }
  }));
}

/** Clusters of one instance agree as soon as they hear each other, so the other is of another instance. */
async function showVerify() {
  const cells = Number(process.env.CELLS ?? 10000000);
  const two = await Promise.all([begin(1), begin(1)]);
  const folder = await mkdtemp(join(tmpdir(), 'atoll-test-'));
  try {
    await Promise.all(two.map(instance => fill(instance, cells)));
    const [here, there] = await Promise.all(two.map(async instance => (await instance.status()).clusters[0]));
    const yaml = await readFile(join(two[0].dir, 'instance.yaml'), 'utf8');
    await writeFile(join(folder, 'instance.yaml'), yaml.replace('clusters:\n', `clusters:\n- id: lab-other\n` +
      `  zone: us-east1-c\n  host: 127.0.0.1\n  grpc_port: ${there.grpc}\n  peer_port: ${there.peer}\n`));
    await two[1].direct('lab-c1').then(client =>
      client.mutate(TABLE, String(Math.floor(cells / 70)).padStart(8, '0'), setCell(FAMILY, 'q7', 'other', 1000)));
    const before = await Promise.all([here, there].map(c => writtenBytes(c.pid)));
    const start = performance.now();
    const {status, stdout, stderr} = spawnSync(ATOLL, ['verify', TABLE, '--state-dir', folder], {encoding: 'utf8'});
    const tookS = (performance.now() - start) / 1000;
    const after = await Promise.all([here, there].map(c => writtenBytes(c.pid)));
    console.log(`\n${cells} cells on each of two clusters, one differs: found in ${fixed(tookS)} s; the clusters wrote ` +
      `${after.map((value, i) => Math.ceil((value - before[i]) / 1024)).join(' + ')} KiB meanwhile.\n\n${stdout}`);
    if (status !== 1 || !/1 cells in 1 rows differ/.test(stdout)) throw new Error(`atoll verify: ${status} ${stderr}`);
  } finally {
    await Promise.all(two.map(instance => instance.end()));
    await rm(folder, {recursive: true, force: true});
  }
}

const WHAT = {lag: showLag, soak, catchup, gone, clusters: showClusters, verify: showVerify};
const asked = process.argv.slice(2);
if (asked.length === 0 || asked.some(name => !WHAT[name])) {
  console.error(`usage: replication.mjs ${Object.keys(WHAT).join('|')} ...`);
  process.exit(2);
}
for (const name of asked) await WHAT[name]();
