// CheckConsistency is true only when every cluster has what the token stands for.

import assert from 'node:assert/strict';
import test from 'node:test';
import {FAMILY, sleep} from '../support/drill.mjs';
import {eventually, Instance} from '../support/instance.mjs';
import {CODE, setCell} from '../support/raw.mjs';

let instance;
let router;
test.before(async () => {
  instance = await Instance.start();
  router = instance.raw('multi');
  await router.createTable('fleet', [FAMILY]);
  await router.createTable('other', [FAMILY]);
});
test.after(() => instance?.stop());

const INVALID = {code: CODE.INVALID_ARGUMENT};

test('a token becomes true with all clusters up', async () => {
  await router.mutate('fleet', 'up', setCell(FAMILY, 'v', '1'));
  const token = await router.token('fleet');
  await eventually('the token is true', () => router.consistent('fleet', token));
  await onEvery('up');
});

for (const down of ['lab-c1', 'lab-c2', 'lab-c3']) {
  test(`tokens are false while ${down} is down, and true once it has caught up`, async () => {
    const key = `without-${down}`;
    await router.mutate('fleet', `before-${down}`, setCell(FAMILY, 'v', '1'));
    const older = await router.token('fleet');
    await instance.kill(down);
    await router.mutate('fleet', key, setCell(FAMILY, 'v', '1'));
    const newer = await router.token('fleet');
    for (let i = 0; i < 3; i++) {
      const told = await Promise.all([newer, older].map(token => router.consistent('fleet', token)));
      assert.deepEqual(told, [false, false]);
    }
    await instance.startCluster(down);
    await eventually('the newer token is true', () => router.consistent('fleet', newer));
    await onEvery(key);
    await eventually('the older token is true', () => router.consistent('fleet', older));
  });
}

test('waitforreplication waits for a cluster that is down', async () => {
  await instance.kill('lab-c2');
  await router.mutate('fleet', 'waited', setCell(FAMILY, 'v', '1'));
  let returned = false;
  const waiting = instance.cbt('waitforreplication', 'fleet').then(() => {
    returned = true;
  });
  await sleep(1000);
  assert.equal(returned, false);
  await instance.startCluster('lab-c2');
  await waiting;
  await onEvery('waited');
});

test('a token that the instance did not make, or made for another table, is refused', async () => {
  const token = await router.token('other');
  await assert.rejects(router.consistent('fleet', token), INVALID);
  for (const wrong of ['', 'made-up', token.slice(1), token + 'A', 'A'.repeat(5000)])
    await assert.rejects(router.consistent('other', wrong), INVALID, wrong);
});

test('a token for a table that does not exist is refused', async () => {
  await assert.rejects(router.token('nowhere'), {code: CODE.NOT_FOUND});
});

/** Asserts that every cluster itself has the row, now. */
async function onEvery(key) {
  for (const {id} of (await instance.status()).clusters) {
    const {row} = await (await instance.direct(id)).readRow('fleet', key);
    assert.ok(row, `${id} lacks ${key}`);
  }
}
