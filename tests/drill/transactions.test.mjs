// Single-row transactions: exact through a single-cluster profile that allows them, refused through
// every other, and never counted twice when their cluster is killed.

import assert from 'node:assert/strict';
import test from 'node:test';
import {Dice, FAMILY, newSeed, readAll, sleep} from '../support/drill.mjs';
import {eventually, Instance, replicated} from '../support/instance.mjs';
import {CODE, setCell} from '../support/raw.mjs';

const CLIENTS = 8;
const INCREMENTS = 1000;

let instance;
test.before(async () => {
  instance = await Instance.start();
  await instance.raw().createTable('counters', [FAMILY]);
  await makeProfile('single', 'route-to=lab-c1');
});
test.after(() => instance?.stop());

test('8 clients x 1,000 increments count exactly 8,000', async () => {
  await inParallel(async client => {
    for (let i = 0; i < INCREMENTS; i++) await client.increment('counters', 'exact', FAMILY, 'n');
  });
  await countsEverywhere('exact', value => assert.equal(value, CLIENTS * INCREMENTS));
});

test('8 clients that check and then set: exactly one wins each of 200 rows', async () => {
  const wins = new Map();
  await inParallel(async (client, number) => {
    for (let i = 0; i < 200; i++) {
      const {matched} = await client.checkAndMutate('counters', `race${i}`, {
        predicateFilter: {passAllFilter: true},
        falseMutations: [setCell(FAMILY, 'winner', `${number}`)],
      });
      if (!matched) wins.set(`race${i}`, [...(wins.get(`race${i}`) ?? []), `${number}`]);
    }
  });
  await replicated(instance);
  for (const {id} of (await instance.status()).clusters) {
    const rows = await readAll(await instance.direct(id), 'counters');
    for (let i = 0; i < 200; i++) assert.deepEqual(wins.get(`race${i}`), [rows.get(`race${i}`)]);
  }
});

for (const profile of ['', 'multi', 'single']) {
  test(`through profile "${profile}" they are refused and change nothing`, async () => {
    const client = instance.raw(profile);
    const refused = {code: CODE.FAILED_PRECONDITION};
    await client.mutate('counters', 'kept', setCell(FAMILY, 'n', 'untouched'));
    await assert.rejects(client.increment('counters', 'kept', FAMILY, 'n'), refused);
    await assert.rejects(client.increment('counters', 'absent', FAMILY, 'n'), refused);
    for (const key of ['kept', 'absent']) {
      const sets = [setCell(FAMILY, 'n', 'changed')];
      const cases = {trueMutations: sets, falseMutations: sets};
      await assert.rejects(client.checkAndMutate('counters', key, cases), refused);
    }
    await replicated(instance);
    for (const {id} of (await instance.status()).clusters) {
      const rows = await readAll(await instance.direct(id), 'counters');
      assert.equal(rows.get('kept'), 'untouched');
      assert.ok(!rows.has('absent'));
    }
  });
}

test('killing their cluster loses no acknowledged increment and repeats none', async t => {
  const seed = newSeed();
  const dice = new Dice(seed);
  t.diagnostic(`SEED=${seed}`);
  let attempted = 0;
  let acknowledged = 0;
  let stopped = false;
  const codes = new Set();
  const load = inParallel(async client => {
    while (!stopped) {
      attempted++;
      try {
        await client.increment('counters', 'killed', FAMILY, 'n');
        acknowledged++;
      } catch (err) {
        codes.add(CODE[err.code]);
        await sleep(20);
      }
    }
  });
  for (let round = 0; round < 5; round++) {
    const before = acknowledged;
    await eventually('increments are acknowledged', () => acknowledged > before + 50);
    await sleep(dice.between(0, 300));
    await instance.kill('lab-c1');
    await sleep(dice.between(100, 500));
    await instance.startCluster('lab-c1');
  }
  const before = acknowledged;
  await eventually('increments are acknowledged', () => acknowledged > before + 50);
  stopped = true;
  await load;
  t.diagnostic(`${attempted} attempted, ${acknowledged} acknowledged; errors: ${[...codes]}`);
  assert.ok(acknowledged < attempted);
  assert.deepEqual([...codes], ['UNAVAILABLE']);
  await countsEverywhere('killed', value => {
    t.diagnostic(`counted ${value}`);
    assert.ok(acknowledged <= value && value <= attempted, `${acknowledged} <= ${value} <= ${attempted}`);
  });
});

/** Runs `work(client, number)` for 8 clients with a connection each. */
async function inParallel(work) {
  const clients = Array.from({length: CLIENTS}, () => instance.raw('tx'));
  await Promise.all(clients.map(work));
}

async function countsEverywhere(key, check) {
  await replicated(instance);
  for (const {id} of (await instance.status()).clusters) {
    const {row} = await (await instance.direct(id)).readRow('counters', key);
    check(Number(row.cells[0].value.readBigInt64BE()));
  }
}

async function makeProfile(id, route) {
  await instance.cbt('createappprofile', 'lab', id, 'a test', route);
}
