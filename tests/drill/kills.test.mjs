// Every cluster is killed in turn, 50 times, while clients write to all of them: directly, and
// through the router. What was acknowledged is there at the end, on every cluster; what was deleted
// stays deleted; a consistency token is never true early.

import assert from 'node:assert/strict';
import test from 'node:test';
import {
  checkEverywhere, Dice, FAMILY, Ledger, newSeed, sleep, Writer,
} from '../support/drill.mjs';
import {eventually, Instance, replicated} from '../support/instance.mjs';
import {deleteRow, setCell} from '../support/raw.mjs';

const ROUNDS = Number(process.env.ROUNDS ?? 20);
const CLUSTERS = ['lab-c1', 'lab-c2', 'lab-c3'];

test('acknowledged writes and deletes survive kill -9 of every cluster in turn', async t => {
  const seed = newSeed();
  const dice = new Dice(seed);
  t.diagnostic(`SEED=${seed}`);
  const instance = await Instance.start();
  const clients = [];
  t.after(async () => {
    await Promise.all(clients.map(client => client.stop()));
    await instance.stop();
  });
  await instance.raw('multi').createTable('fleet', [FAMILY]);
  await instance.raw('multi').createTable('tokens', [FAMILY]);

  const direct = Object.fromEntries(
    await Promise.all(CLUSTERS.map(async id => [id, await instance.direct(id, {deadlineMs: 2000})])));
  const ledger = new Ledger();
  const mix = {table: 'fleet', ledger, dice, overwrite: 0.2, erase: 0.2};
  const routed = {...mix, ledger: new Ledger()};
  const writers = [
    ...CLUSTERS.map(id => new Writer({...mix, raw: direct[id], name: id})),
    ...CLUSTERS.map(id => new Writer({...mix, raw: direct[id], name: `${id}b`, pauseMs: 1})),
    ...[0, 1, 2, 3].map(i => new Writer({...routed, name: `multi${i}`,
      raw: instance.raw('multi')})),
  ];
  const tokens = new TokenChecker(instance.raw('multi'), Object.values(direct));
  clients.push(...writers, tokens);

  for (let round = 0; round < ROUNDS; round++) {
    const cluster = CLUSTERS[round % CLUSTERS.length];
    await sleep(dice.between(50, 300));
    await instance.kill(cluster);
    await sleep(dice.between(200, 600));
    await instance.startCluster(cluster);
  }
  await eventually('a token is true', () => tokens.proved > 0 || tokens.wrong.length > 0);
  await Promise.all(clients.map(client => client.stop()));
  t.diagnostic(`directly: ${ledger.writes} writes, ${ledger.deletes} deletes, ` +
    `${ledger.errors.length} requests failed with the cluster they were sent to`);
  t.diagnostic(`through the router: ${routed.ledger.writes} writes, ${routed.ledger.deletes} deletes, ` +
    `${routed.ledger.errors.length} failed`);
  t.diagnostic(`tokens: ${tokens.proved} became true, each checked on every cluster; ` +
    `${tokens.asked} checks`);

  await replicated(instance);
  const all = merged(ledger, routed.ledger);
  await checkEverywhere(instance, 'fleet', all);
  t.diagnostic((await instance.digest()).trim());
  assert.deepEqual(routed.ledger.errors, []);
  assert.deepEqual(tokens.wrong, []);
});

test('a delete elsewhere beats what a cluster accepted right after its restart', async t => {
  const instance = await Instance.start();
  t.after(() => instance.stop());
  await instance.raw('multi').createTable('fleet', [FAMILY]);
  const [first, second] = await Promise.all(['lab-c1', 'lab-c2'].map(id => instance.direct(id)));
  let unseen = 0;
  for (let i = 0; unseen < 3 && i < 30; i++) {
    await instance.kill('lab-c1');
    await instance.startCluster('lab-c1');
    const {pid} = (await instance.status()).clusters.find(c => c.id === 'lab-c1');
    const write = () => first.mutate('fleet', `row${i}`, setCell(FAMILY, 'v', '1'));
    await eventually('written', () => write().catch(() => null));
    process.kill(pid, 'SIGKILL');
    const {row} = await second.readRow('fleet', `row${i}`);
    unseen += row ? 0 : 1;
    await second.mutate('fleet', `row${i}`, deleteRow);
    await instance.kill('lab-c1').catch(() => {}); // returns when it is gone, if it is not yet
    await instance.startCluster('lab-c1');
    await replicated(instance);
    assert.equal((await second.readRow('fleet', `row${i}`)).row, null, `row${i}`);
  }
  assert.ok(unseen > 0, 'lab-c1 was killed before anybody had its write');
});

function merged(...ledgers) {
  const all = new Ledger();
  for (const {acknowledged, doubtful} of ledgers) {
    acknowledged.forEach((value, key) => all.acknowledged.set(key, value));
    doubtful.forEach((value, key) => all.doubtful.set(key, value));
  }
  return all;
}

/**
 * Writes a row, makes a token, and as soon as the token is true reads the row on every cluster
 * that runs: each must have it.
 */
class TokenChecker {
  proved = 0;
  asked = 0;
  wrong = [];
  #stopped = false;

  constructor(router, clusters) {
    Object.assign(this, {router, clusters});
    this.running = this.#run();
  }

  async stop() {
    this.#stopped = true;
    await this.running;
  }

  async #run() {
    for (let i = 0; !this.#stopped; i++) await this.#prove(`token${i}`);
  }

  async #prove(key) {
    try {
      await this.router.mutate('tokens', key, setCell(FAMILY, 'v', key));
      const token = await this.router.token('tokens');
      while (!(await this.#consistent(token))) {
        if (this.#stopped) return;
        await sleep(20);
      }
    } catch (err) {
      this.wrong.push(`${key}: ${err.method}: ${err.message}`);
      return;
    }
    this.proved++;
    for (const cluster of this.clusters) {
      const {row} = await cluster.readRow('tokens', key).catch(() => ({})); // undefined: it is down
      if (row === null) this.wrong.push(`${key} is not there, though its token is true`);
    }
  }

  async #consistent(token) {
    this.asked++;
    return await this.router.consistent('tokens', token);
  }
}
