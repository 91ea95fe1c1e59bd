// Clusters that were gone for longer than the log is kept: the others go on as before and keep no more
// than the cap; who returns knows that it lacks something, gets a copy, and is equal then. No token
// that was made meanwhile is true before.

import assert from 'node:assert/strict';
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'node:test';
import {BulkWriter, checkEverywhere, FAMILY, Ledger} from '../support/drill.mjs';
import {eventually, Instance, replicated} from '../support/instance.mjs';
import {folderBytes} from '../support/measure.mjs';
import {setCell} from '../support/raw.mjs';

const TABLE = 'fleet';
const CAP_MIB = 16;
const COPY_MIB_PER_S = 32; // so that a copy takes long enough to be seen
const VALUE_BYTES = 1000;
const ROWS = 2000; // of each writer; they are overwritten
const ZONES = ['us-central1-b', 'us-east1-c', 'europe-west1-b', 'us-west1-a'];

/** Every write is synced: what others have is then known at once, and the log is cut off for it. */
async function begin(t, count) {
  const folder = await mkdtemp(join(tmpdir(), 'atoll-test-'));
  const clusters = ZONES.slice(0, count).map((zone, i) => `  - id: lab-c${i + 1}\n    zone: ${zone}\n`).join('');
  await writeFile(join(folder, 'capped.yaml'), `project: atoll\ninstance: lab\ndurability: sync\nclusters:\n` +
    `${clusters}storage:\n  log_cap_mib: ${CAP_MIB}\n  copy_mib_per_s: ${COPY_MIB_PER_S}\nprofiles:\n  - id: multi\n    routing: any\n`);
  const instance = await Instance.start({config: join(folder, 'capped.yaml')});
  t.after(async () => {
    await instance.stop();
    await rm(folder, {recursive: true, force: true});
  });
  await instance.raw('multi').createTable(TABLE, [FAMILY]);
  await replicated(instance);
  return instance;
}

/**
 * Writes through `raws` until their log is `mib` longer, in values alone. Of `pair` one gets what the
 * other takes, and no more is sent than it keeps up with: what nobody else has yet is kept, and in
 * the end writes are refused for it.
 */
async function writePast(instance, raws, ledger, mib, {pair, names = 'w'}) {
  const target = ledger.writes + (mib * 2 ** 20) / VALUE_BYTES;
  const partRows = (CAP_MIB / 4) * 2 ** 20 / VALUE_BYTES;
  let enough = ledger.writes + partRows;
  let waiting = null;
  const both = async () => {
    const {clusters} = await instance.status();
    return clusters.filter(c => pair.includes(c.id)).every(({id, lag}) =>
      lag[pair.find(other => other !== id)].entries === 0);
  };
  const gate = async () => {
    if (ledger.writes < enough) return;
    waiting ??= eventually(`${pair} have the same`, both).then(() => {
      enough = ledger.writes + partRows;
      waiting = null;
    });
    await waiting;
  };
  const writers = raws.map((raw, i) => new BulkWriter({raw, table: TABLE, name: `${names}${i}`, ledger, batch: 400,
    rows: ROWS, rowsPerSecond: 1e9, valueBytes: VALUE_BYTES, gate}));
  await eventually('so much is written', () => ledger.writes >= target || ledger.errors.length > 0);
  await Promise.all(writers.map(writer => writer.stop()));
}

/** Waits until it is READY without lag; returns the states and link states on the way. */
async function returns(instance, id) {
  const seen = new Set();
  await eventually(`${id} is READY again`, async () => {
    const {state, lag} = (await instance.status()).clusters.find(c => c.id === id);
    seen.add(state);
    Object.values(lag).forEach(one => seen.add(one.link));
    return state === 'READY' && Object.values(lag).every(one => one.entries === 0);
  });
  return seen;
}

test('one that was down past the cap returns by a copy', async t => {
  const instance = await begin(t, 3);
  const ledger = new Ledger();
  await instance.kill('lab-c3');
  const router = instance.raw('multi');
  const token = await router.token(TABLE);
  await writePast(instance, [router, instance.raw('multi')], ledger, 3 * CAP_MIB, {pair: ['lab-c1', 'lab-c2']});
  assert.deepEqual(ledger.errors, []);
  for (const id of ['lab-c1', 'lab-c2']) {
    const {log_bytes: logBytes} = (await instance.status()).clusters.find(c => c.id === id);
    const mib = (await folderBytes(join(instance.dir, 'data', id))) / 2 ** 20;
    t.diagnostic(`${id}: ${mib.toFixed(0)} MiB on disk, log ${(logBytes / 2 ** 20).toFixed(0)} MiB`);
  }
  assert.equal(await router.consistent(TABLE, token), false);
  const returning = returns(instance, 'lab-c3');
  await instance.startCluster('lab-c3');
  const seen = await returning;
  t.diagnostic([...seen].join(', '));
  assert.ok(seen.has('NEEDS_COPY') || seen.has('INITIALIZING') || seen.has('COPYING'), 'it was filled by a copy');
  assert.match(await instance.log('lab-c3'), /a copy is complete/);
  await eventually('the token is true', () => router.consistent(TABLE, token));
  await replicated(instance);
  await instance.atoll('verify', TABLE);
  await checkEverywhere(instance, TABLE, ledger);
});

test('two sides that both need what the other has get it', async t => {
  const instance = await begin(t, 4);
  const ledgers = [new Ledger(), new Ledger()];
  const sides = await Promise.all(['lab-c1', 'lab-c2'].map(id => instance.direct(id)));
  // On each side a second cluster has all of it, so that the log may be cut off.
  for (const one of ['lab-c1', 'lab-c3'])
    for (const other of ['lab-c2', 'lab-c4']) await instance.atoll('cut', one, other);
  const token = await sides[0].token(TABLE);
  await Promise.all(sides.map((side, i) => writePast(instance, [side], ledgers[i], 1.6 * CAP_MIB,
    {pair: [['lab-c1', 'lab-c3'], ['lab-c2', 'lab-c4']][i], names: `side${i + 1}.`})));
  for (const ledger of ledgers) assert.equal(ledger.errors[0], undefined);
  assert.equal(await sides[0].consistent(TABLE, token), false);
  await instance.atoll('heal');
  const seen = await Promise.all(['lab-c1', 'lab-c2', 'lab-c3', 'lab-c4'].map(id => returns(instance, id)));
  t.diagnostic(seen.map(states => [...states].join(' ')).join(' | '));
  for (const id of ['lab-c1', 'lab-c2']) assert.match(await instance.log(id), /a copy is complete/, id);
  await eventually('the token is true', () => sides[0].consistent(TABLE, token));
  await replicated(instance);
  await instance.atoll('verify', TABLE);
  const all = new Ledger();
  for (const ledger of ledgers) ledger.acknowledged.forEach((value, key) => all.acknowledge(key, value));
  await checkEverywhere(instance, TABLE, all);
});

test('what nobody else has is not given up for the cap: writes are refused', async t => {
  const instance = await begin(t, 2);
  const client = await instance.direct('lab-c1');
  const ledger = new Ledger();
  await instance.kill('lab-c2');
  const writer = new BulkWriter({raw: client, table: TABLE, name: 'w', ledger, batch: 400, rowsPerSecond: 1e9,
    valueBytes: VALUE_BYTES});
  await eventually('writes are refused', () => ledger.errors.length > 0);
  await writer.stop();
  t.diagnostic(`after ${ledger.writes} rows: ${ledger.errors[0]}`);
  assert.ok(ledger.writes * VALUE_BYTES > (CAP_MIB * 2 ** 20) / 2);
  await instance.startCluster('lab-c2');
  await replicated(instance);
  await eventually('writes are taken again',
    () => client.mutate(TABLE, 'after', setCell(FAMILY, 'v', 'after')).then(() => true, () => false));
  ledger.acknowledge('after', 'after');
  await replicated(instance);
  await checkEverywhere(instance, TABLE, ledger);
});
