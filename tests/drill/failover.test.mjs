// A cluster that serves is killed 20 times. Clients of a multi-cluster profile see no error, and no
// acknowledged write is lost: not on any cluster. ROUNDS is the number of kills.

import assert from 'node:assert/strict';
import test from 'node:test';
import {open} from '../support/client.mjs';
import {
  checkEverywhere, Dice, FAMILY, Ledger, newSeed, sleep, StallProbe, Writer,
} from '../support/drill.mjs';
import {eventually, Instance, replicated} from '../support/instance.mjs';

const ROUNDS = Number(process.env.ROUNDS ?? 8);
const CONNECTIONS = 8;
const DEADLINE_MS = 2000;
const DOWN_MS_MAX = 3000;
const STALL_MS = DEADLINE_MS / 4; // the machine is at fault then

test('killing the cluster that serves costs no client error and no acknowledged write', async t => {
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
  await instance.raw('multi').createTable('npm', [FAMILY]);

  const google = new GoogleWriter(open(instance, 'multi').table('npm'));
  clients.push(google);
  await eventually("Google's client has loaded and written", () => google.ledger.total > 0);
  const ledger = new Ledger();
  const writers = Array.from({length: CONNECTIONS}, (_, i) => new Writer({
    raw: instance.raw('multi', {deadlineMs: DEADLINE_MS}),
    table: 'fleet', name: `w${i}`, ledger, dice,
  }));
  const readers = [0, 1].map(
    () => new Reader(instance.raw('multi', {deadlineMs: DEADLINE_MS}), ledger, dice));
  const probe = new StallProbe(instance.dir);
  clients.push(...writers, ...readers, probe);
  const takeErrors = () => [ledger, google.ledger, ...readers].flatMap(({errors}) => errors.splice(0));
  const wrong = [];
  /** What failed since the last time, told; it counts unless the machine stood still. */
  const judge = () => {
    const errors = takeErrors();
    const stallMs = Math.round(probe.rest());
    if (stallMs < STALL_MS) wrong.push(...errors);
    else if (errors.length > 0) t.diagnostic(`the machine stood still for ${stallMs} ms: ${errors.join('; ')}`);
    return stallMs;
  };

  await eventually('every writer has written', () => writers.every(writer => writer.served));
  for (let round = 1; round <= ROUNDS; round++) {
    await sleep(dice.between(300, 2000));
    const before = writers[0].served;
    const acknowledged = ledger.total;
    writers.forEach(writer => writer.rest());
    await instance.kill(before);
    await sleep(dice.between(500, DOWN_MS_MAX));
    await eventually('others serve', () => writers.every(writer => writer.served !== before));
    const after = writers[0].served;
    const longestMs = Math.round(Math.max(...writers.map(writer => writer.rest())));
    t.diagnostic(`round ${round}: killed ${before}, ${after} served instead; ` +
      `${ledger.total - acknowledged} writes meanwhile, the slowest took ${longestMs} ms ` +
      `(the machine stood still for ${judge()} ms)`);
    if (wrong.length > 0) {
      t.diagnostic(await instance.log('router'));
      break;
    }
    await instance.startCluster(before);
  }
  await Promise.all(clients.map(client => client.stop()));
  t.diagnostic(`${ledger.total} writes and ${readers.reduce((n, r) => n + r.count, 0)} reads by gRPC, ` +
    `${google.ledger.total} writes by Google's client`);
  judge();
  assert.deepEqual(wrong, []);

  await replicated(instance);
  await checkEverywhere(instance, 'fleet', ledger);
  await checkEverywhere(instance, 'npm', google.ledger);
  t.diagnostic((await instance.digest()).trim());
});

/** Reads one acknowledged row after the other. It may come from a cluster that lacks it still. */
class Reader {
  count = 0;
  errors = [];
  #stopped = false;

  constructor(raw, ledger, dice) {
    Object.assign(this, {raw, ledger, dice});
    this.running = this.#run();
  }

  async stop() {
    this.#stopped = true;
    await this.running;
  }

  async #run() {
    await this.raw.connected();
    while (!this.#stopped) {
      const writer = this.dice.between(0, CONNECTIONS - 1);
      const key = `w${writer}#${String(this.dice.between(1, 1000)).padStart(7, '0')}`;
      await this.raw.readRow('fleet', key).catch(err => this.errors.push(`read: ${err.message}`));
      this.count++;
      await sleep(2);
    }
  }
}

/** Google's npm client, which retries by itself. */
class GoogleWriter {
  ledger = new Ledger();
  #stopped = false;

  constructor(table) {
    this.table = table;
    this.running = this.#run();
  }

  async stop() {
    this.#stopped = true;
    await this.running;
  }

  async #run() {
    for (let i = 0; !this.#stopped; i++) {
      const key = `npm#${String(i).padStart(7, '0')}`;
      try {
        await this.table.insert({key, data: {[FAMILY]: {v: `${i}`}}});
        this.ledger.acknowledge(key, `${i}`);
      } catch (err) {
        this.ledger.doubt(key, `${i}`, `npm: ${err.message}`);
      }
      await sleep(5);
    }
  }
}
