// Clusters come and go under load: a third one is filled online while 5,000 rows/s are written,
// with kills of donor and newcomer in between; then one leaves. Nothing acknowledged is missing
// anywhere, and no client of a multi-cluster profile sees an error.
//
// ROUNDS is the number of kills in the middle of a fill (20 for a long run), PRELOAD the rows there
// are before.

import assert from 'node:assert/strict';
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'node:test';
import {Api, unpack} from '../conformance/api.mjs';
import {BulkWriter, checkEverywhere, Dice, FAMILY, Ledger, newSeed, readAll, sleep} from '../support/drill.mjs';
import {eventually, Instance, replicated} from '../support/instance.mjs';

const ROUNDS = Number(process.env.ROUNDS ?? 2);
const PRELOAD = Number(process.env.PRELOAD ?? 40000);
const RATE = Number(process.env.RATE ?? 5000);
const VALUE_BYTES = 400;
const PARENT = 'projects/atoll/instances/lab';

/** Two clusters; copies at no more than so many MiB/s, so that a fill lasts. */
const file = mibPerS => `project: atoll
instance: lab
durability: async
clusters:
  - id: lab-c1
    zone: us-central1-b
  - id: lab-c2
    zone: us-east1-c
storage:
  copy_mib_per_s: ${mibPerS}
profiles:
  - id: multi
    routing: any
`;

async function begin(t, mibPerS) {
  const folder = await mkdtemp(join(tmpdir(), 'atoll-test-'));
  await writeFile(join(folder, 'two-zones.yaml'), file(mibPerS));
  const instance = await Instance.start({config: join(folder, 'two-zones.yaml')});
  const api = new Api(instance.endpoint);
  const writers = [];
  t.after(async () => {
    await Promise.all(writers.map(writer => writer.stop()));
    api.close();
    await instance.stop();
    await rm(folder, {recursive: true, force: true});
  });
  await instance.raw('multi').createTable('fleet', [FAMILY]);
  const ledger = new Ledger();
  const write = (count, rowsPerSecond, names = 'w') => {
    const made = Array.from({length: count}, (_, i) => new BulkWriter({
      raw: instance.raw('multi'), table: 'fleet', name: `${names}${i}`, ledger,
      rowsPerSecond: rowsPerSecond / count, valueBytes: VALUE_BYTES}));
    writers.push(...made);
    return made;
  };
  const preload = write(4, 1e6, 'pre');
  await eventually('preloaded', () => ledger.writes >= PRELOAD);
  await Promise.all(preload.map(writer => writer.stop()));
  return {instance, api, ledger, write};
}

async function createCluster(api, id, zone) {
  const {code, message, messages: [operation]} = await api.call('CreateCluster', {
    parent: PARENT, cluster_id: id,
    cluster: {location: `projects/atoll/locations/${zone}`, serve_nodes: 1},
  });
  assert.equal(code, 'OK', message);
  return operation.name;
}

/** One look at the operation: {done, error, copied, total} by the metadata's tables. */
async function progress(api, name) {
  const {code, message, messages} = await api.call('GetOperation', {name});
  assert.equal(code, 'OK', message);
  const [operation] = messages;
  const metadata = unpack(operation.metadata);
  const tables = Object.values(metadata.tables ?? {});
  const sum = field => tables.reduce((all, table) => all + Number(table[field]), 0);
  return {done: operation.done, error: operation.error, tables,
    copied: sum('estimated_copied_bytes'), total: sum('estimated_size_bytes')};
}

test(`a third cluster is filled while ${RATE} rows/s are written`, async t => {
  const {instance, api, ledger, write} = await begin(t, 64);
  const writers = write(5, RATE);
  await sleep(500);
  const name = await createCluster(api, 'lab-c3', 'europe-west1-b');
  const start = performance.now();
  const seen = [];
  await eventually('the third cluster is filled', async () => {
    seen.push(await progress(api, name));
    return seen.at(-1).done;
  }, 300000);
  const tookS = (performance.now() - start) / 1000;
  const last = seen.at(-1);
  assert.ok(!last.error, last.error?.message);
  assert.ok(last.total > 0 && last.copied >= last.total, `${last.copied} of ${last.total} bytes`);
  assert.ok(last.tables.every(({state}) => state === 'COMPLETED'));
  seen.reduce((before, now) => {
    assert.ok(now.copied >= before.copied, 'progress goes back');
    return now;
  });
  t.diagnostic(`filled in ${tookS.toFixed(1)} s; ${seen.length} looks at the progress; ` +
    `${(last.copied / 1e6 / tookS).toFixed(1)} MB/s over all`);
  await sleep(500);
  await Promise.all(writers.map(writer => writer.stop()));
  t.diagnostic(`${ledger.writes} rows written, ${ledger.errors.length} errors`);
  assert.deepEqual(ledger.errors, []);
  await replicated(instance);
  assert.equal((await instance.status()).clusters.length, 3);
  await checkEverywhere(instance, 'fleet', ledger);
  t.diagnostic((await instance.digest()).trim());

  // One leaves under load: what it had and nobody else yet is handed over first.
  const more = write(5, RATE, 'late');
  await sleep(500);
  const {code, message} = await api.call('DeleteCluster', {name: `${PARENT}/clusters/lab-c1`});
  assert.equal(code, 'OK', message);
  await sleep(500);
  await Promise.all(more.map(writer => writer.stop()));
  assert.deepEqual(ledger.errors, []);
  assert.deepEqual((await instance.status()).clusters.map(c => c.id), ['lab-c2', 'lab-c3']);
  await replicated(instance);
  await checkEverywhere(instance, 'fleet', ledger);
});

test(`${ROUNDS} fills are killed half way and complete after a restart`, async t => {
  const seed = newSeed();
  const dice = new Dice(seed);
  t.diagnostic(`SEED=${seed}`);
  const {instance, api, ledger, write} = await begin(t, 8);
  const writers = write(2, 500);
  for (let round = 0; round < ROUNDS; round++) {
    const name = await createCluster(api, 'lab-c3', 'europe-west1-b');
    await eventually('the fill has begun', async () => (await progress(api, name)).copied > 0);
    await sleep(dice.between(0, 1500));
    const victim = dice.chance(0.5) ? 'lab-c3' : ['lab-c1', 'lab-c2'][dice.between(0, 1)];
    const before = await progress(api, name);
    await instance.kill(victim);
    await sleep(dice.between(100, 500));
    await instance.startCluster(victim);
    await eventually(`the fill completes after ${victim} was killed`,
      async () => (await progress(api, name).catch(() => ({done: false}))).done, 300000);
    t.diagnostic(`round ${round + 1}: ${victim} killed at ${before.copied} of ${before.total} bytes` +
      `${before.done ? ', after its end' : ''}`);
    if (round === ROUNDS - 1) break;
    const {code, message} = await api.call('DeleteCluster', {name: `${PARENT}/clusters/lab-c3`});
    assert.equal(code, 'OK', message);
  }
  await Promise.all(writers.map(writer => writer.stop()));
  await replicated(instance);
  await checkEverywhere(instance, 'fleet', ledger);
  assert.deepEqual(ledger.errors, []);
  assert.equal(ledger.check(await readAll(await instance.direct('lab-c3'), 'fleet')).length, 0);
});
