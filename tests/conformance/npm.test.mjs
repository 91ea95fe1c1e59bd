// Google's own Node client, unmodified, through the router.

import assert from 'node:assert/strict';
import test from 'node:test';
import {setTimeout as sleep} from 'node:timers/promises';
import {open} from '../support/client.mjs';
import {Emulator} from '../support/emulator.mjs';
import {Instance} from '../support/instance.mjs';

const MB = 1e6;
const NOT_FOUND = 5;
const INVALID_ARGUMENT = 3;
const FAILED_PRECONDITION = 9;

let instance; // of Atoll
let lab; // the client's view of it, through the transactional profile
let multi; // through the multi-cluster profile

const checks = new Map();
const check = (name, run) => checks.set(name, run);
const onlyLab = new Set(); // checks of the clusters and app profiles of the lab
const checkLab = (name, run) => onlyLab.add(name) && check(name, run);

async function newTable(name, families = ['f', 'g'], through = lab) {
  const [table] = await through.createTable(name, {families});
  return table;
}

/** Inserts {row: {'f:q': value or [value, micros]}}. */
async function fill(table, rows) {
  await table.insert(Object.entries(rows).map(([key, columns]) => {
    const data = {};
    for (const [column, cell] of Object.entries(columns)) {
      const [family, qualifier] = column.split(':');
      const [value, timestamp] = Array.isArray(cell) ? cell : [cell, 1000];
      (data[family] ??= {})[qualifier] = {value, timestamp};
    }
    return {key, data};
  }));
}

/** Rows as lines: "row f:q=value f:q=value [label]". */
function lines(rows) {
  return rows.map(({id, data}) => {
    const cells = Object.entries(data).flatMap(([family, columns]) =>
      Object.entries(columns).flatMap(([qualifier, versions]) => versions.map(({value, labels}) =>
        `${family}:${qualifier}=${value}` + (labels.length > 0 ? ` [${labels}]` : ''))));
    return [id, ...cells].join(' ');
  });
}

const get = async (table, options) => lines((await table.getRows(options))[0]);
const keys = async (table, options) => (await table.getRows(options))[0].map(row => row.id);

async function collect(stream) {
  const rows = [];
  for await (const row of stream) rows.push(row);
  return rows;
}

const key = i => `device#${String(i).padStart(5, '0')}`;

check('10,000 rows by bulk mutate, read as a stream, by ranges, by prefix, by limit', async () => {
  const table = await newTable('fleet', ['f'], multi);
  const bulk = Array.from({length: 10000}, (_, i) =>
    ({key: key(i), data: {f: {v: {value: `${i}`, timestamp: 1000}}}}));
  for (let at = 0; at < bulk.length; at += 2500) await table.insert(bulk.slice(at, at + 2500));

  const rows = await collect(table.createReadStream());
  assert.equal(rows.length, 10000);
  rows.forEach((row, i) => {
    assert.equal(row.id, key(i));
    assert.equal(row.data.f.v[0].value, `${i}`);
  });
  assert.deepEqual(await keys(table, {start: key(10), end: key(12)}), [key(10), key(11), key(12)]);
  assert.deepEqual(await keys(table, {
    ranges: [{start: key(1), end: {value: key(3), inclusive: false}}, {start: key(9998)}],
  }), [key(1), key(2), key(9998), key(9999)]);
  assert.deepEqual(await keys(table, {keys: [key(5), key(3), 'nosuch']}), [key(3), key(5)]);
  assert.equal((await keys(table, {prefix: 'device#012'})).length, 100);
  assert.equal((await keys(table, {prefixes: ['device#0000', 'device#0999']})).length, 20);
  assert.deepEqual(await keys(table, {prefix: 'device#', limit: 2}), [key(0), key(1)]);
  assert.deepEqual(await keys(table, {prefix: 'nosuch'}), []);
});

check('50,000 rows to a reader that pauses', async () => {
  const table = await newTable('slow', ['f'], multi);
  for (let at = 0; at < 50000; at += 5000)
    await table.insert(Array.from({length: 5000}, (_, i) =>
      ({key: key(at + i), data: {f: {v: {value: 'x'.repeat(40), timestamp: 1000}}}})));
  const stream = table.createReadStream();
  let count = 0;
  let last = '';
  for await (const {id} of stream) {
    assert.ok(id > last);
    last = id;
    if (++count % 5000 === 0) await sleep(100); // nothing is taken from the stream meanwhile
  }
  assert.equal(count, 50000);
});

check('every filter of the client', async t => {
  const table = await newTable('filters');
  await fill(table, {
    r: {'f:a': ['2', 2000], 'f:b': '3', 'g:a': '4', 'g:c': ['5', 3000]},
    s: {'f:a': 'x'},
  });
  await table.insert({key: 'r', data: {f: {a: {value: '1', timestamp: 1000}}}});
  const R = 'r f:a=2 f:a=1 f:b=3 g:a=4 g:c=5';
  const cases = [
    ['all', [{all: true}], [R, 's f:a=x']],
    ['none', [{all: false}], []],
    ['family', [{family: 'g'}], ['r g:a=4 g:c=5']],
    ['family expression', [{family: /[fg]/}], [R, 's f:a=x']],
    ['column expression', [{column: /[bc]/}], ['r f:b=3 g:c=5']],
    ['column range', [{column: {family: 'f', start: 'a', end: {value: 'b', inclusive: false}}}],
      ['r f:a=2 f:a=1', 's f:a=x']],
    ['cells per column', [{column: {cellLimit: 1}}], ['r f:a=2 f:b=3 g:a=4 g:c=5', 's f:a=x']],
    ['row expression', [{row: /^s/}], ['s f:a=x']],
    ['cells per row', [{row: {cellLimit: 2}}], ['r f:a=2 f:a=1', 's f:a=x']],
    ['cells per row, offset', [{row: {cellOffset: 3}}], ['r g:a=4 g:c=5']],
    ['value expression', [{value: /[23]/}], ['r f:a=2 f:b=3']],
    ['value range', [{value: {start: '3', end: '4'}}], ['r f:b=3 g:a=4']],
    ['strip', [{family: 'g'}, {value: {strip: true}}], ['r g:a= g:c=']],
    ['time', [{time: {start: new Date(2), end: new Date(3)}}], ['r f:a=2']],
    ['label', [{family: 'g'}, {label: 'mark'}], ['r g:a=4 [mark] g:c=5 [mark]']],
    ['chain', [{family: 'f'}, {column: 'a'}, {column: {cellLimit: 1}}], ['r f:a=2', 's f:a=x']],
    ['interleave', [{interleave: [[{value: '2'}], [{value: '5'}]]}], ['r f:a=2 g:c=5']],
    ['condition', [{condition: {test: [{family: 'g'}], pass: [{column: 'c'}], fail: [{all: true}]}}],
      ['r g:c=5', 's f:a=x']],
    ['sink', [{family: 'g'}, {interleave: [[{label: 'out'}, {sink: true}], [{all: true}]]}, {column: 'c'}],
      ['r g:a=4 [out] g:c=5 [out] g:c=5']],
  ];
  for (const [name, filter, expected] of cases)
    await t.test(name, async () => {
      const sorted = list => list.map(line => line.split(/ (?=\w:)/).sort().join(' '));
      assert.deepEqual(sorted(await get(table, {filter})), sorted(expected));
    });
  await t.test('sample', async () => {
    const all = await keys(await sampled(), {filter: [{row: {sample: 0.5}}]});
    assert.ok(all.length > 20 && all.length < 180, `${all.length} of 200`);
  });
});

async function sampled() {
  const table = await newTable('sampled');
  await fill(table, Object.fromEntries(Array.from({length: 200}, (_, i) => [key(i), {'f:v': '1'}])));
  return table;
}

checkLab('increment, rules and check-and-mutate through a transactional profile, not through others', async () => {
  const table = await newTable('rmw');
  const row = table.row('r');
  assert.equal((await row.increment('f:n', 5))[0], 5);
  assert.equal((await row.increment('f:n'))[0], 6);
  await row.createRules([{column: 'f:text', append: 'ab'}, {column: 'f:text', append: 'c'}]);
  assert.deepEqual(lines([(await row.get(['f:text']))[0]].map(data => ({id: 'r', data: data.data ?? data}))),
    ['r f:text=abc']);
  const change = {onMatch: [{method: 'insert', data: {f: {seen: {value: 'yes', timestamp: 1000}}}}],
    onNoMatch: [{method: 'insert', data: {f: {seen: {value: 'no', timestamp: 1000}}}}]};
  assert.equal((await row.filter([{column: 'text'}, {value: 'abc'}], change))[0], true);
  assert.equal((await row.filter([{column: 'nosuch'}], {onNoMatch: change.onNoMatch}))[0], false);
  assert.deepEqual(await get(table, {filter: [{column: 'seen'}]}), ['r f:seen=no']);

  const elsewhere = multi.table('rmw').row('r');
  for (const attempt of [() => elsewhere.increment('f:n'), () => elsewhere.filter([{all: true}], change)])
    await assert.rejects(attempt, {
      code: FAILED_PRECONDITION, message: /Single-row transactions are not allowed by this app profile/,
    });
  assert.equal((await row.increment('f:n'))[0], 7);
  await assert.rejects(() => row.increment('f:text'), {
    code: FAILED_PRECONDITION, message: /Cannot increment value 'abc'/,
  });
});

check('deletes: cells, a family of a row, a row, a prefix, a table\'s rows', async () => {
  const table = await newTable('deletes');
  await fill(table, {
    a1: {'f:x': '1', 'f:y': '2', 'g:z': '3'}, a2: {'f:x': '4'}, b1: {'f:x': '5'}, b2: {'f:x': '6'},
  });
  await table.row('a1').deleteCells(['f:x']);
  assert.deepEqual(await get(table, {keys: ['a1']}), ['a1 f:y=2 g:z=3']);
  await table.row('a1').deleteCells(['f']);
  assert.deepEqual(await get(table, {keys: ['a1']}), ['a1 g:z=3']);
  await table.row('a1').delete();
  assert.deepEqual(await table.row('a1').exists(), [false]);
  assert.deepEqual(await table.row('a2').exists(), [true]);
  await table.deleteRows('b');
  assert.deepEqual(await keys(table), ['a2']);
  await fill(table, {b1: {'f:x': '7'}});
  assert.deepEqual(await get(table), ['a2 f:x=4', 'b1 f:x=7']);
  await table.truncate();
  assert.deepEqual(await keys(table), []);
});

check('tables, families, GC rules, sample keys, replication', async () => {
  const [table] = await lab.createTable('schema', {
    families: [{name: 'two', rule: {versions: 2}}, {name: 'both', rule: {versions: 3, age: {seconds: 60}}}],
    splits: [Buffer.from('m'), Buffer.from('t')],
  });
  assert.ok((await lab.getTables())[0].map(({id}) => id.split('/').pop()).includes('schema'));
  assert.deepEqual(await table.exists(), [true]);
  assert.deepEqual(await lab.table('nosuch').exists(), [false]);
  await table.createFamily('plain');
  const family = table.family('two');
  await family.setMetadata({rule: {versions: 5, age: {seconds: 1}, union: true}});
  const [families] = await table.getFamilies();
  assert.deepEqual(families.map(f => f.id).sort(), ['both', 'plain', 'two']);
  const {gcRule} = families.find(f => f.id === 'two').metadata;
  assert.deepEqual(gcRule.union.rules.map(r => r.maxNumVersions ?? Number(r.maxAge.seconds)).sort(), [1, 5]);
  await table.family('plain').delete();
  assert.deepEqual((await table.getFamilies())[0].map(f => f.id).sort(), ['both', 'two']);
  const [samples] = await table.sampleRowKeys();
  assert.deepEqual(samples.map(s => s.key.toString()), ['m', 't', '']);
  const [states] = await table.getReplicationStates();
  assert.deepEqual([...states.keys()].sort(), (await instance.status()).clusters.map(({id}) => id));
  assert.deepEqual(await table.waitForReplication(), [true]);
  await table.delete();
  await assert.rejects(() => table.getRows(), {code: NOT_FOUND});
});

check('errors say what is wrong, with the right code', async () => {
  const table = await newTable('errors');
  await assert.rejects(() => lab.table('nosuch').getRows(), {code: NOT_FOUND, message: /nosuch/});
  await assert.rejects(() => lab.table('nosuch').insert({key: 'r', data: {f: {q: 'v'}}}));
  await assert.rejects(() => lab.createTable('errors'), {code: 6, message: /already exists/});
  await assert.rejects(() => lab.createTable('a b'), {code: INVALID_ARGUMENT});
  await assert.rejects(() => table.family('nosuch').delete(), {code: NOT_FOUND});
  await assert.rejects(() => table.getRows({filter: [{row: {cellLimit: 0}}]}),
    {code: INVALID_ARGUMENT, message: /cells_per_row_limit_filter/});
  await assert.rejects(() => table.getRows({filter: [{column: '('}]}),
    {code: INVALID_ARGUMENT, message: /column_qualifier_regex_filter/});
  const err = await table.insert([
    {key: 'good', data: {f: {q: 'v'}}}, {key: 'bad', data: {nosuch: {q: 'v'}}},
  ]).catch(e => e);
  assert.equal(err.name, 'PartialFailureError');
  assert.equal(err.errors.length, 1);
  assert.equal(err.errors[0].code, NOT_FOUND);
  assert.match(err.errors[0].message, /Requested column family not found/);
  assert.deepEqual(await keys(table), ['good']);
  await assert.rejects(() => open(instance, 'nosuch').table('errors').getRows(),
    {code: NOT_FOUND, message: /nosuch/});
});

check('keys with 00, 01, FF, #, | and ] in unsigned byte order', async () => {
  const table = await newTable('bytes');
  const odd = ['00', '0000', '0001', '01', '23', '5d', '61', '6100', '610062', '6101', '6123', '617c62',
    '61ff', '7c', 'fe', 'ff', 'ff00', 'ffff'];
  await table.insert([...odd].reverse().map(hex =>
    ({key: Buffer.from(hex, 'hex'), data: {f: {q: {value: hex, timestamp: 1000}}}})));
  const read = async options => (await table.getRows({decode: false, ...options}))[0]
    .map(row => Buffer.from(row.id).toString('hex'));
  assert.deepEqual(await read(), [...odd].sort());
  for (const hex of odd) {
    assert.deepEqual(await read({keys: [Buffer.from(hex, 'hex')]}), [hex]);
    assert.deepEqual(await read({start: Buffer.from(hex, 'hex')}), odd.filter(o => o >= hex));
  }
});

check('tables and rows that are prefixes of each other do not mix', async () => {
  const names = ['p', 'p1', 'p-1', 'p_1.x'];
  const tables = [];
  for (const name of names) tables.push(await newTable(name));
  for (const [i, table] of tables.entries())
    await fill(table, {r: {'f:q': `${i}`}, 'r|x': {'f:q': `${i}x`}, r1: {'g:q': `${i}y`}});
  for (const [i, table] of tables.entries())
    assert.deepEqual(await get(table), [`r f:q=${i}`, `r1 g:q=${i}y`, `r|x f:q=${i}x`]);
  await tables[0].row('r').delete();
  await tables[1].deleteRows('r1');
  await tables[2].delete();
  assert.deepEqual(await get(tables[0]), ['r1 g:q=0y', 'r|x f:q=0x']);
  assert.deepEqual(await get(tables[1]), ['r f:q=1', 'r|x f:q=1x']);
  assert.deepEqual(await get(tables[3]), ['r f:q=3', 'r1 g:q=3y', 'r|x f:q=3x']);
});

check('values of 5 MB and of 20 MB', async () => {
  const table = await newTable('large');
  for (const size of [5 * MB, 20 * MB]) {
    const value = Buffer.alloc(size);
    for (let i = 0; i < size; i += 4096) value.writeUInt32BE(i, i);
    await table.insert({key: `r${size}`, data: {f: {q: {value, timestamp: 1000}}}});
    const [row] = await table.row(`r${size}`).get({decode: false});
    assert.ok(value.equals(row.data.f.q[0].value), `${size} bytes come back as they were`);
  }
});

checkLab('app profiles through the admin client', async () => {
  const profile = lab.appProfile('npm');
  const cluster = lab.cluster('lab-c2');
  const options = {routing: cluster, allowTransactionalWrites: true, description: 'by npm'};
  await assert.rejects(() => profile.create(options), {
    code: FAILED_PRECONDITION, message: /Another app profile allows single-row transactions on cluster 'lab-c1'/,
  });
  await profile.create({...options, ignoreWarnings: true});
  const [metadata] = await profile.getMetadata();
  assert.equal(metadata.description, 'by npm');
  assert.deepEqual(metadata.singleClusterRouting, {clusterId: 'lab-c2', allowTransactionalWrites: true});
  const ids = (await lab.getAppProfiles())[0].map(({id}) => id);
  for (const id of ['default', 'multi', 'tx', 'npm']) assert.ok(ids.includes(id), id);

  const table = await newTable('profiles');
  const [there] = await open(instance, 'npm').table('profiles').row('r').increment('f:n', 2);
  assert.equal(there, 2);
  const [operation] = await profile.setMetadata({routing: 'any', ignoreWarnings: true});
  await operation.promise();
  assert.ok((await profile.getMetadata())[0].multiClusterRoutingUseAny);
  await assert.rejects(() => open(instance, 'npm').table('profiles').row('r').increment('f:n'),
    {code: FAILED_PRECONDITION});
  await profile.delete({ignoreWarnings: true});
  assert.deepEqual(await profile.exists(), [false]);
  await assert.rejects(() => open(instance, 'npm').table('profiles').getRows(), {code: NOT_FOUND});
  await table.delete();
});

checkLab('the instance and its clusters', async () => {
  assert.deepEqual(await lab.exists(), [true]);
  const [metadata] = await lab.getMetadata();
  assert.equal(metadata.state, 'READY');
  const [clusters] = await lab.getClusters();
  assert.deepEqual(clusters.map(({id}) => id).sort(), ['lab-c1', 'lab-c2', 'lab-c3']);
});

test('the client', async t => {
  instance = await Instance.start();
  t.after(() => instance.stop());
  lab = open(instance, 'tx');
  multi = open(instance, 'multi');
  for (const [name, run] of checks) await t.test(name, run);
});

test('the client, with an emulator of any project and instance', async t => {
  instance = await Emulator.start();
  t.after(() => instance.stop());
  lab = open(instance);
  await lab.createAppProfile('multi', {routing: 'any'});
  multi = open(instance, 'multi');
  for (const [name, run] of checks) await t.test(name, {skip: onlyLab.has(name)}, run);
});
