// A MutateRow is one unit: three writers rewrite both columns of a row in two families, with one
// request each time, while three readers look. Whoever reads sees both columns of one write.
//
// TORN_S is the time of each test in seconds; 60 for a thorough run.

import assert from 'node:assert/strict';
import test from 'node:test';
import {Dice, newSeed} from '../support/drill.mjs';
import {eventually, Instance} from '../support/instance.mjs';
import {deleteRow, setCell} from '../support/raw.mjs';

const SECONDS = Number(process.env.TORN_S ?? 6);
const TABLE = 'pairs';
const ROWS = ['row1', 'row2'];
const TIMESTAMP = 1000; // always the same one, so that each write takes the place of the one before
const LONG_VALUE_BYTES = 200000;
const CLUSTERS = ['lab-c1', 'lab-c2', 'lab-c3'];

test('no read is torn through the router', async t => {
  await drill(t, instance => Array.from({length: 6}, () => instance.raw('multi')));
});

test('no read is torn at a cluster', async t => {
  await drill(t, instance => Promise.all(Array.from({length: 6}, () => instance.direct('lab-c1'))));
});

test('no read is torn where the writes of three clusters meet', async t => {
  await drill(t, instance =>
    Promise.all([...CLUSTERS, ...CLUSTERS].map(id => instance.direct(id))));
});

/** `connect` resolves to the clients of three writers and three readers. */
async function drill(t, connect) {
  const dice = new Dice(newSeed());
  const instance = await Instance.start();
  t.after(() => instance.stop());
  await instance.raw('multi').createTable(TABLE, ['f', 'g']);
  const clients = await connect(instance);
  await Promise.all(clients.map(client => client.connected()));
  const seen = {writes: 0, reads: 0, torn: []};

  for (const row of ROWS) await write(clients[0], row, 'the first');
  for (const client of clients.slice(3))
    await eventually('all rows are there', async () => (await scan(client)).length === ROWS.length);

  const end = Date.now() + SECONDS * 1000;
  await Promise.all([
    ...clients.slice(0, 3).map((client, i) => writer(client, `w${i}`, {dice, end, seen})),
    ...[point, scan, newest].map((look, i) => reader(clients[3 + i], look, {dice, end, seen})),
  ]);
  t.diagnostic(`${seen.writes} writes, ${seen.reads} rows read in ${SECONDS} s`);
  assert.deepEqual(seen.torn.slice(0, 10), []);
  assert.ok(seen.writes > 0 && seen.reads > 0);
}

async function writer(client, name, {dice, end, seen}) {
  for (let i = 0; Date.now() < end; i++) {
    const value = `${name}.${i}`;
    const long = dice.chance(0.05) ? value.padEnd(LONG_VALUE_BYTES, '.') : value;
    const before = dice.chance(0.2) ? [deleteRow] : [];
    await write(client, ROWS[dice.between(0, ROWS.length - 1)], long, before);
    seen.writes++;
  }
}

async function write(client, row, value, before = []) {
  const cells = ['f', 'g'].map(family => setCell(family, 'v', value, TIMESTAMP));
  await client.mutate(TABLE, row, ...before, ...cells);
}

async function reader(client, look, {dice, end, seen}) {
  while (Date.now() < end) {
    const rows = await look(client, ROWS[dice.between(0, ROWS.length - 1)]);
    if (rows.length === 0) seen.torn.push('a row that is never deleted alone was not there');
    for (const {key, cells} of rows) {
      const shown = cells.map(({family, value}) => `${family}=${value.toString('latin1', 0, 12)}`);
      const whole = cells.length === 2 && cells[0].value.equals(cells[1].value);
      if (!whole) seen.torn.push(`${look.name} ${key}: ${shown.join(' ')}`);
      seen.reads++;
    }
  }
}

async function point(client, key) {
  const {row} = await client.readRow(TABLE, key);
  return row ? [row] : [];
}

async function scan(client) {
  return (await client.read(TABLE)).rows;
}

/** Through a filter that has to put two streams of cells together again. */
async function newest(client, key) {
  const limited = family => ({chain: {filters: [
    {familyNameRegexFilter: family}, {cellsPerColumnLimitFilter: 1}]}});
  const filter = {interleave: {filters: [limited('f'), limited('g')]}};
  return (await client.read(TABLE, {rows: {rowKeys: [Buffer.from(key)]}, filter})).rows;
}
