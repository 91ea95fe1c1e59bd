// Backups while clients write and clusters are killed: what a backup holds is one moment of each row,
// what is restored from it is the same on every cluster, and kill -9 while one is made, copied or
// restored leaves either the whole or nothing.

import assert from 'node:assert/strict';
import {readdir} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'node:test';
import {Dice, newSeed, sleep} from '../support/drill.mjs';
import {eventually, Instance, replicated} from '../support/instance.mjs';
import {setCell} from '../support/raw.mjs';

const ROWS = 1800;
const FILLER = 'x'.repeat(4000); // so that a backup takes a moment, to be killed in
const HOUR_MS = 3600e3;
const BATCH = 300;
const PAIR = ['a', 'b']; // two cells of a row, in two families, always written together

const key = i => `row#${String(i).padStart(6, '0')}`;
const pair = value => PAIR.map(family => setCell(family, 'v', value, 1000));
const add = (timestampMicros, n) => ({
  addToCell: {
    familyName: 'sum', columnQualifier: {rawValue: Buffer.from('n')},
    timestamp: {rawTimestampMicros: timestampMicros}, input: {intValue: n},
  },
});

let instance;
const base = '/v2/projects/atoll/instances/lab';
const full = backup => `${base}/clusters/${backup.replace('/', '/backups/')}`;

/** One REST call; resolves to {status, body}. */
async function rest(method, path, body) {
  const answer = await fetch(`http://127.0.0.1:${instance.httpPort}${path}`, {
    method, body: body && JSON.stringify(body), headers: {'content-type': 'application/json'}});
  return {status: answer.status, body: await answer.json()};
}

/** The same, again while the cluster that must do it is down. */
function served(method, path, body) {
  return eventually(`${method} ${path}`, async () => {
    const result = await rest(method, path, body);
    return result.status !== 503 && result;
  });
}

async function must(method, path, body) {
  const {status, body: answer} = await served(method, path, body);
  assert.equal(status, 200, `${method} ${path}: ${JSON.stringify(answer)}`);
  return answer;
}

const expireTime = () => new Date(Date.now() + 24 * HOUR_MS).toISOString();

/** "lab-c1/b1"; resolves to the operation. */
function create(backup, table = 'fleet') {
  const [cluster, id] = backup.split('/');
  return must('POST', `${base}/clusters/${cluster}/backups?backupId=${id}`,
    {sourceTable: `${base.slice(4)}/tables/${table}`, expireTime: expireTime()});
}

function copy(source, backup) {
  const [cluster, backupId] = backup.split('/');
  return must('POST', `${base}/clusters/${cluster}/backups:copy`,
    {sourceBackup: full(source).slice(4), backupId, expireTime: expireTime()});
}

function restore(backup, tableId) {
  return must('POST', `${base}/tables:restore`, {backup: full(backup).slice(4), tableId});
}

/** The operation once it is done. */
function ended({name}) {
  return eventually(`${name} is done`, async () => {
    const {status, body} = await rest('GET', `/v2/${name}`);
    return status === 200 && body.done && body;
  });
}

async function succeeded(operation) {
  const {error, response, metadata} = await ended(operation);
  assert.equal(error, undefined, JSON.stringify(error));
  return {response, metadata};
}

async function restart(cluster) {
  await instance.kill(cluster);
  await instance.startCluster(cluster);
}

async function files(cluster) {
  return (await readdir(join(instance.dir, 'data', cluster, 'backups'))).sort();
}

/** Rows as key to {a, b, sum}; throws when a row is torn. */
async function contents(raw, table) {
  const {rows} = await raw.read(table, {filter: {cellsPerColumnLimitFilter: 1}});
  return new Map(rows.map(row => {
    const cell = family => row.cells.find(c => c.family === family)?.value;
    const [a, b] = PAIR.map(family => cell(family)?.toString('latin1'));
    assert.equal(a, b, `${row.key} is torn`);
    return [row.key, `${a?.slice(0, 20)} ${cell('sum')?.readBigInt64BE() ?? ''}`];
  }));
}

async function fill(raw) {
  for (let i = 0; i < ROWS; i += BATCH) {
    const entries = Array.from({length: BATCH}, (_, k) =>
      [key(i + k), ...pair(`first.${i + k}.${FILLER}`), add(1000, 3), add(1000, 4)]);
    const {codes} = await raw.mutateMany('fleet', entries);
    assert.ok(codes.every(code => code === 0));
  }
}

/** Overwrites rows, both cells at once, until it is stopped. */
class Overwriter {
  #stopped = false;
  writes = 0;
  errors = [];

  constructor(raw, dice) {
    Object.assign(this, {raw, dice});
    this.running = this.#run();
  }

  async stop() {
    this.#stopped = true;
    await this.running;
  }

  async #run() {
    while (!this.#stopped) {
      const value = `later.${this.writes++}.${FILLER}`;
      await this.raw.mutate('fleet', key(this.dice.between(0, ROWS - 1)), ...pair(value))
        .catch(err => this.errors.push(err));
      await sleep(2);
    }
  }
}

async function sameEverywhere(table, expected) {
  await replicated(instance);
  await instance.digest(table); // throws when the clusters differ
  for (const {id} of (await instance.status()).clusters)
    assert.deepEqual(await contents(await instance.direct(id), table), expected, id);
}

test('backups, copies and restores under load and kill -9', async t => {
  const seed = newSeed();
  const dice = new Dice(seed);
  t.diagnostic(`SEED=${seed}`);
  instance = await Instance.start();
  t.after(() => instance.stop());
  const raw = instance.raw('multi');
  await must('POST', `${base}/tables`, {tableId: 'fleet', table: {columnFamilies: {
    a: {gcRule: {maxNumVersions: 3}}, b: {},
    sum: {valueType: {aggregateType: {inputType: {int64Type: {encoding: {bigEndianBytes: {}}}}, sum: {}}}},
  }}});
  await fill(raw);

  // --- under load
  const writer = new Overwriter(instance.raw('multi'), dice);
  let start = performance.now();
  const {response: backup} = await succeeded(await create('lab-c1/b1'));
  t.diagnostic(`backup of ${(backup.sizeBytes / 1e6).toFixed(1)} MB: ${elapsed(start)}`);
  assert.equal(backup.state, 'READY');
  await writer.stop();
  assert.deepEqual(writer.errors, []);
  start = performance.now();
  const {response: table, metadata} = await succeeded(await restore('lab-c1/b1', 'back1'));
  t.diagnostic(`restored: ${elapsed(start)}; ${writer.writes} writes went on meanwhile`);
  assert.deepEqual(table.columnFamilies.a.gcRule, {maxNumVersions: 3});
  assert.equal(metadata.progress.progressPercent, 100);
  const expected = await contents(await instance.direct('lab-c1'), 'back1');
  assert.equal(expected.size, ROWS);
  assert.ok([...expected.values()].every(value => value.endsWith(' 7')), 'adds count once');
  await sameEverywhere('back1', expected);

  // --- killed while one is made: the whole, or nothing
  const making = await create('lab-c1/b2');
  await sleep(dice.between(20, 120));
  await restart('lab-c1');
  const made = await ended(making);
  t.diagnostic(`killed while it was made: ${made.error ? made.error.message : 'was ready'}`);
  const {status} = await served('GET', full('lab-c1/b2'));
  assert.equal(status, made.error ? 404 : 200);
  await eventually('no remains', async () =>
    (await files('lab-c1')).length === (made.error ? 1 : 2) && !(await files('lab-c1')).some(f => f.endsWith('.tmp')));
  if (made.error) await succeeded(await create('lab-c1/b2'));

  // --- killed while it is copied: the destination, then the source
  for (const [id, victim] of [['x1', 'lab-c2'], ['x2', 'lab-c1']]) {
    const copying = await copy('lab-c1/b1', `lab-c2/${id}`);
    await sleep(dice.between(10, 80));
    await restart(victim);
    const {response} = await succeeded(copying);
    assert.equal(response.sourceBackup, full('lab-c1/b1').slice(4));
    assert.equal(response.sizeBytes, backup.sizeBytes);
  }
  await must('GET', `${base}/clusters/lab-c3/backups`);
  const {status: again} = await served('POST', `${base}/clusters/lab-c3/backups:copy`,
    {sourceBackup: full('lab-c2/x1').slice(4), backupId: 'x3', expireTime: expireTime()});
  assert.equal(again, 400, 'a copy is not copied');

  // --- killed while a table is restored, from the copy: it is begun anew, and nothing counts twice
  const restoring = await restore('lab-c2/x1', 'back2');
  await sleep(dice.between(50, 300));
  await restart('lab-c2');
  await sleep(dice.between(50, 300));
  await restart('lab-c2');
  await succeeded(restoring);
  await sameEverywhere('back2', expected);

  // --- deleted with their files; the source table is not needed
  await must('DELETE', `${base}/tables/fleet`);
  const {backups} = await must('GET', `${base}/clusters/-/backups?orderBy=name`);
  assert.deepEqual(backups.map(b => b.name.split('/').pop()), ['b1', 'b2', 'x1', 'x2']);
  for (const name of ['lab-c1/b1', 'lab-c1/b2', 'lab-c2/x1', 'lab-c2/x2']) await must('DELETE', full(name));
  for (const cluster of ['lab-c1', 'lab-c2'])
    await eventually('their files go', async () => (await files(cluster)).length === 0);
});

function elapsed(since) {
  return `${((performance.now() - since) / 1000).toFixed(2)} s`;
}
