// Counters that all clusters add to: an aggregate family, each request under a token, sent to its
// cluster until that acknowledges it. Meanwhile clusters are killed and stopped for a while, and links
// are cut. In the end every add counts exactly once, on every cluster.

import assert from 'node:assert/strict';
import {randomBytes} from 'node:crypto';
import test from 'node:test';
import {Dice, newSeed, sleep} from '../support/drill.mjs';
import {Instance, replicated} from '../support/instance.mjs';

const TABLE = 'counters';
const CLUSTERS = ['lab-c1', 'lab-c2', 'lab-c3'];
const CLIENTS = 8;
const ADDS = Number(process.env.ADDS ?? 1000);

test('8 clients x 1,000 adds through three clusters count exactly 8,000', async t => {
  const seed = newSeed();
  const dice = new Dice(seed);
  t.diagnostic(`SEED=${seed}`);
  const instance = await Instance.start();
  t.after(() => instance.stop());
  await instance.cbt('createtable', TABLE, 'families=s:never:intsum');
  await replicated(instance);

  const direct = await Promise.all(CLUSTERS.map(id => instance.direct(id)));
  let retries = 0;
  let running = CLIENTS;
  const clients = Array.from({length: CLIENTS}, async (_, n) => {
    for (let i = 0; i < ADDS; i++) {
      const token = randomBytes(16);
      while (!(await add(direct[n % 3], token))) {
        retries++;
        await sleep(20);
      }
    }
  }).map(client => client.finally(() => running--));

  let kills = 0;
  let pauses = 0;
  let cuts = 0;
  while (running > 0) {
    const id = CLUSTERS[dice.between(0, 2)];
    await sleep(dice.between(50, 400));
    if (dice.chance(0.5)) {
      const other = CLUSTERS[(CLUSTERS.indexOf(id) + dice.between(1, 2)) % 3];
      await instance.atoll('cut', id, other, ...(dice.chance(0.3) ? ['--one-way'] : []));
      cuts++;
    }
    if (kills === 0 || dice.chance(0.5)) { // once at least
      await instance.kill(id);
      await sleep(dice.between(50, 400));
      await instance.startCluster(id);
      kills++;
    } else {
      const {pid} = (await instance.status()).clusters.find(c => c.id === id);
      process.kill(pid, 'SIGSTOP');
      await sleep(dice.between(50, 1000));
      process.kill(pid, 'SIGCONT');
      pauses++;
    }
    if (dice.chance(0.5)) await instance.atoll('heal');
  }
  await Promise.all(clients);
  await instance.atoll('heal');
  t.diagnostic(`${kills} kills, ${pauses} pauses, ${cuts} cuts, ${retries} adds were sent again`);
  assert.ok(retries > 0, 'something must have gone wrong meanwhile');

  await replicated(instance);
  for (const [i, id] of CLUSTERS.entries()) {
    const {row} = await direct[i].readRow(TABLE, 'all');
    assert.equal(row?.cells[0].value.readBigInt64BE(), BigInt(CLIENTS * ADDS), id);
  }
});

/** Adds 1; false when the cluster did not say that it has it. */
function add(client, token) {
  const request = {
    tableName: client.tableName(TABLE),
    rowKey: Buffer.from('all'),
    mutations: [{
      addToCell: {
        familyName: 's',
        columnQualifier: {rawValue: Buffer.from('n')},
        timestamp: {rawTimestampMicros: 1000},
        input: {intValue: 1},
      },
    }],
    idempotency: {token},
  };
  return new Promise(done => {
    client.data.mutateRow(request, {deadline: Date.now() + 2000}, err => done(!err));
  });
}
