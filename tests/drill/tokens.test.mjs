// Idempotency tokens: a request that is sent again under its token counts once, whether the cluster
// was killed in between or the repeat goes to another one that has the entry.

import assert from 'node:assert/strict';
import {randomBytes} from 'node:crypto';
import test from 'node:test';
import {Instance, replicated} from '../support/instance.mjs';
import {CODE} from '../support/raw.mjs';

const TABLE = 'sums';

let instance;
test.before(async () => {
  instance = await Instance.start();
  await instance.cbt('createtable', TABLE, 'families=s:never:intsum');
});
test.after(() => instance?.stop());

test('three times through the router counts once', async () => {
  const token = randomBytes(16);
  for (let i = 0; i < 3; i++) await add(instance.raw(), 'thrice', {token});
  await sumEverywhere('thrice', 5n);
});

test('what a cluster had before kill -9 it still knows after', async () => {
  const token = randomBytes(16);
  await add(await instance.direct('lab-c1'), 'killed', {token});
  await instance.kill('lab-c1');
  await instance.startCluster('lab-c1');
  await replicated(instance);
  await add(await instance.direct('lab-c1'), 'killed', {token});
  await sumEverywhere('killed', 5n);
});

test('the repeat goes to clusters that have the entry, while the first is dead', async () => {
  const token = randomBytes(16);
  await add(await instance.direct('lab-c2'), 'elsewhere', {token});
  await replicated(instance);
  await instance.kill('lab-c2');
  await add(await instance.direct('lab-c1'), 'elsewhere', {token});
  await add(await instance.direct('lab-c3'), 'elsewhere', {token});
  await instance.startCluster('lab-c2');
  await sumEverywhere('elsewhere', 5n);
});

test('without a token, or with another, each counts', async () => {
  await add(instance.raw(), 'each', {token: randomBytes(16)});
  await add(instance.raw(), 'each', {token: randomBytes(16)});
  await add(instance.raw(), 'each', null);
  await sumEverywhere('each', 15n);
});

test('short tokens and old requests are refused', async () => {
  const old = {seconds: Math.floor(Date.now() / 1000) - 16 * 60, nanos: 0};
  await assert.rejects(add(instance.raw(), 'refused', {token: randomBytes(7)}),
    {code: CODE.INVALID_ARGUMENT});
  await assert.rejects(add(instance.raw(), 'refused', {token: randomBytes(8), startTime: old}),
    {code: CODE.FAILED_PRECONDITION});
  const {row} = await instance.raw().readRow(TABLE, 'refused');
  assert.equal(row, null);
});

/** Adds 5 to the row's sum. */
function add(client, key, idempotency) {
  const request = {
    tableName: client.tableName(TABLE),
    rowKey: Buffer.from(key),
    mutations: [{
      addToCell: {
        familyName: 's',
        columnQualifier: {rawValue: Buffer.from('n')},
        timestamp: {rawTimestampMicros: 1000},
        input: {intValue: 5},
      },
    }],
    idempotency,
  };
  return new Promise((done, fail) => {
    client.data.mutateRow(request, {deadline: Date.now() + 60000}, err => (err ? fail(err) : done()));
  });
}

async function sumEverywhere(key, wanted) {
  await replicated(instance);
  for (const {id} of (await instance.status()).clusters) {
    const {row} = await (await instance.direct(id)).readRow(TABLE, key);
    assert.equal(row?.cells[0].value.readBigInt64BE(), wanted, `${key} on ${id}`);
  }
}
