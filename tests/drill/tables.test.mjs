// Many tables: made in seconds, and there again on every cluster after a restart of all processes.

import assert from 'node:assert/strict';
import test from 'node:test';
import {Instance} from '../support/instance.mjs';

const TABLES = 200;
const FAMILIES = ['alerts', 'pos', 'state'];

test('200 tables with three families each survive a restart of the instance', async t => {
  const instance = await Instance.start();
  t.after(() => instance.stop());
  const names = Array.from({length: TABLES}, (_, i) => `table-${String(i).padStart(3, '0')}`);

  const making = performance.now();
  const router = instance.raw();
  for (const name of names) await router.createTable(name, FAMILIES);
  t.diagnostic(`made ${TABLES} tables, one after the other, in ${elapsed(making)}`);
  await allThere(instance, names);

  await instance.down();
  const starting = performance.now();
  await instance.up();
  t.diagnostic(`all processes served again after ${elapsed(starting)}`);
  await allThere(instance, names);
});

async function allThere(instance, names) {
  for (const {id} of (await instance.status()).clusters) {
    const cluster = await instance.direct(id);
    assert.deepEqual((await cluster.listTables()).sort(), names, id);
    for (const name of names) assert.deepEqual(await cluster.families(name), FAMILIES, `${id} ${name}`);
  }
}

function elapsed(since) {
  return `${((performance.now() - since) / 1000).toFixed(2)} s`;
}
