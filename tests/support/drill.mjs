// drill.mjs: what drills share: seeded randomness, writers that keep a ledger of what was
// acknowledged, and the comparison of that ledger with what a cluster holds.

import {open} from 'node:fs/promises';
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import {deleteRow, setCell} from './raw.mjs';

export {sleep};

export const FAMILY = 'f';
const QUALIFIER = 'v';
const PROBE_MS = 50;

/** SEED in the environment repeats the choices of a run (not its timing). */
export function newSeed() {
  return Number(process.env.SEED ?? Date.now() % 1e9);
}

/** Random numbers from a seed (mulberry32). */
export class Dice {
  constructor(seed) {
    this.state = seed >>> 0;
  }

  /** In [0, 1). */
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let z = this.state;
    z = Math.imul(z ^ (z >>> 15), z | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32;
  }

  between(low, high) {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  chance(probability) {
    return this.next() < probability;
  }
}

/**
 * What must be there at the end. Every key has one writer, which waits for each answer, so a key has
 * one last acknowledged value (null: the row was deleted) and, if the last request failed, one value
 * in doubt: both are right then. A key in doubt is not written again.
 */
export class Ledger {
  acknowledged = new Map();
  doubtful = new Map();
  writes = 0;
  deletes = 0;
  errors = [];

  acknowledge(key, value) {
    this.acknowledged.set(key, value);
    if (value === null) this.deletes++;
    else this.writes++;
  }

  doubt(key, value, error) {
    this.doubtful.set(key, value);
    this.errors.push(error);
  }

  get total() {
    return this.writes + this.deletes;
  }

  /** Compares with the rows of one cluster; returns what is wrong, as lines. */
  check(rows) {
    const wrong = [];
    for (const [key, value] of this.acknowledged) {
      const found = rows.get(key) ?? null;
      if (found === value || (this.doubtful.has(key) && found === this.doubtful.get(key))) continue;
      if (value === null) wrong.push(`${key}: was deleted, is ${found}`);
      else wrong.push(`${key}: ${value} was acknowledged, is ${found ?? 'not there'}`);
    }
    for (const [key, value] of rows) {
      if (!this.acknowledged.has(key) && this.doubtful.get(key) !== value)
        wrong.push(`${key}: is ${value}, which nobody wrote`);
    }
    return wrong;
  }
}

/**
 * A writer with one connection and one request at a time, until it is stopped. It writes new rows,
 * and with the given chances overwrites and deletes rows that it wrote before.
 */
export class Writer {
  served = null; // by whom the last request was answered
  longestMs = 0; // of a request since `rest()`
  #stopped = false;

  constructor({raw, table, name, ledger, dice, overwrite = 0.1, erase = 0, pauseMs = 2}) {
    Object.assign(this, {raw, table, name, ledger, dice, overwrite, erase, pauseMs});
    this.keys = [];
    this.count = 0;
    this.running = this.#run();
  }

  async stop() {
    this.#stopped = true;
    await this.running;
  }

  rest() {
    const longest = this.longestMs;
    this.longestMs = 0;
    return longest;
  }

  async #run() {
    await this.raw.connected();
    while (!this.#stopped) {
      await this.#step();
      await sleep(this.pauseMs);
    }
  }

  async #step() {
    const {key, value} = this.#choose();
    const mutation = value === null ? deleteRow : setCell(FAMILY, QUALIFIER, value);
    const start = performance.now();
    try {
      const {served} = await this.raw.mutate(this.table, key, mutation);
      this.served = served?.cluster ?? null;
      this.ledger.acknowledge(key, value);
    } catch (err) {
      const tookMs = Math.round(performance.now() - start);
      this.ledger.doubt(key, value, `${this.name}: ${err.message} after ${tookMs} ms`);
      this.keys = this.keys.filter(k => k !== key);
      await sleep(20);
    }
    this.longestMs = Math.max(this.longestMs, performance.now() - start);
  }

  #choose() {
    const roll = this.dice.next();
    const value = `${this.name}.${this.count++}`;
    if (roll < this.overwrite + this.erase && this.keys.length > 0) {
      const key = this.keys[this.dice.between(0, this.keys.length - 1)];
      return {key, value: roll < this.erase ? null : value};
    }
    const key = `${this.name}#${String(this.count).padStart(7, '0')}`;
    this.keys.push(key);
    return {key, value};
  }
}

/**
 * A writer of batches of rows, one MutateRows at a time, at a steady rate as far as answers come in
 * time, until it is stopped. After `rows` of them it begins again and overwrites; a row in doubt is
 * not written again. With `lanes` of them under way at a time, each on keys of its own, an answer
 * that is late does not keep the others back, and what was not sent in time is sent after it. `gate`
 * is awaited before each batch.
 */
export class BulkWriter {
  #stopped = false;

  constructor({raw, table, name, ledger, batch = 50, rowsPerSecond = 1000, valueBytes = 100, rows = Infinity, lanes = 1,
    gate = () => {}}) {
    Object.assign(this, {raw, table, name, ledger, batch, rowsPerSecond, rows, gate});
    this.filler = 'x'.repeat(valueBytes);
    this.offered = 0; // rows sent, by all lanes
    this.running = this.#run(lanes);
  }

  async stop() {
    this.#stopped = true;
    await this.running;
  }

  async #run(lanes) {
    await this.raw.connected();
    const start = performance.now();
    await Promise.all(Array.from({length: lanes}, (_, lane) =>
      this.#runLane(start, {name: lanes === 1 ? this.name : `${this.name}.${lane}`, count: 0})));
  }

  async #runLane(start, lane) {
    while (!this.#stopped) {
      const due = start + (this.offered / this.rowsPerSecond) * 1000;
      this.offered += this.batch;
      await sleep(Math.max(0, due - performance.now()));
      await this.gate();
      if (!this.#stopped) await this.#step(lane);
    }
  }

  async #step(lane) {
    const rows = Array.from({length: this.batch}, () => {
      const count = lane.count++;
      return [`${lane.name}#${String(this.rows === Infinity ? count : count % this.rows).padStart(8, '0')}`, `${count}.${this.filler}`];
    }).filter(([key]) => !this.ledger.doubtful.has(key));
    if (rows.length === 0) return;
    let codes = [];
    let why = null;
    try {
      ({codes} = await this.raw.mutateMany(this.table,
        rows.map(([key, value]) => [key, setCell(FAMILY, QUALIFIER, value)])));
    } catch (err) {
      why = `${this.name}: ${err.message}`;
      await sleep(20);
    }
    rows.forEach(([key, value], i) => {
      if (codes[i] === 0) this.ledger.acknowledge(key, value);
      else this.ledger.doubt(key, value, why ?? `${this.name}: ${key}: code ${codes[i]}`);
    });
  }
}

/**
 * For how long the machine stood still: no cluster answers a write faster than the disk takes it, or
 * while it gets no processor, so a slow request means something only when this is short.
 */
export class StallProbe {
  longestMs = 0;
  #stopped = false;

  constructor(folder) {
    this.running = this.#run(join(folder, 'probe'));
  }

  async stop() {
    this.#stopped = true;
    await this.running;
  }

  rest() {
    const longest = this.longestMs;
    this.longestMs = 0;
    return longest;
  }

  async #run(path) {
    const file = await open(path, 'w');
    while (!this.#stopped) {
      const start = performance.now();
      await file.write('x');
      await file.datasync();
      await sleep(PROBE_MS);
      this.longestMs = Math.max(this.longestMs, performance.now() - start - PROBE_MS);
    }
    await file.close();
  }
}

/** All rows of a table on the cluster behind `raw`, newest cell only: Map of key to value. */
export async function readAll(raw, table) {
  const filter = {cellsPerColumnLimitFilter: 1};
  const {rows} = await raw.read(table, {filter});
  return new Map(rows.map(({key, cells}) => [key, cells[0].value.toString('latin1')]));
}

/** Reads the table on every cluster directly and throws unless each agrees with the ledger. */
export async function checkEverywhere(instance, table, ledger) {
  for (const {id} of (await instance.status()).clusters) {
    const raw = await instance.direct(id);
    const wrong = ledger.check(await readAll(raw, table));
    if (wrong.length > 0) {
      const shown = wrong.slice(0, 10).join('\n  ');
      throw new Error(`${id}: ${wrong.length} rows are not as acknowledged:\n  ${shown}`);
    }
  }
}
