// A cluster that is stopped for a while (SIGSTOP: a hung disk, a long pause) and goes on as if nothing
// had happened must not do then what was done elsewhere meanwhile.

import assert from 'node:assert/strict';
import test from 'node:test';
import {FAMILY, sleep} from '../support/drill.mjs';
import {eventually, Instance, replicated} from '../support/instance.mjs';
import {deleteRow, setCell} from '../support/raw.mjs';

const ROUNDS = 3;
const WRITES = 8;
const DEADLINE_MS = 8000; // half of it is waited for the one that is paused
const PAUSED = 'lab-c1';

test('rows deleted while the nearest cluster was paused stay deleted', async t => {
  const instance = await Instance.start();
  t.after(() => instance.stop());
  const router = instance.raw('multi', {deadlineMs: DEADLINE_MS});
  const other = await instance.direct('lab-c2');
  await instance.raw('multi').createTable('fleet', [FAMILY]);
  const write = key => router.mutate('fleet', key, setCell(FAMILY, 'v', '1'));
  const nearest = async () => (await write('who')).served.cluster;

  for (let round = 0; round < ROUNDS; round++) {
    await eventually(`${PAUSED} serves`, async () => (await nearest()) === PAUSED);
    const keys = Array.from({length: WRITES}, (_, i) => `row${round}.${i}`);
    const {pid} = (await instance.status()).clusters.find(c => c.id === PAUSED);
    process.kill(pid, 'SIGSTOP');
    try {
      const start = performance.now();
      const answers = await Promise.all(keys.map(write));
      const tookMs = Math.round(performance.now() - start);
      t.diagnostic(`${answers[0].served.cluster} answered instead, after ${tookMs} ms`);
      await Promise.all(keys.map(key => router.mutate('fleet', key, deleteRow)));
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await sleep(300); // whatever it goes on with is done by then
    await replicated(instance);
    for (const key of keys) assert.equal((await other.readRow('fleet', key)).row, null, key);
  }
  await instance.digest();
});
