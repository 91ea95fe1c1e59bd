#!/usr/bin/env node
// scale.mjs [ROWS]: does the size of a table, or of a neighbouring family, slow a read down? Loads a
// table of 1,000 rows and one of ROWS (default 1,000,000) into an instance of one zone, times the
// same reads on both in alternation, directly at the cluster, and prints Markdown. About 2 minutes.
//
// ATOLL names the program (default build/release/atoll).

import {once} from 'node:events';
import {createWriteStream} from 'node:fs';
import {readdir, readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import {Dice} from '../support/drill.mjs';
import {Instance} from '../support/instance.mjs';
import {setCell} from '../support/raw.mjs';

const SMALL_ROWS = 1000;
const LARGE_ROWS = Number(process.argv[2] ?? 1000000);
const FAMILIES = ['a', 'b', 'c'];
const DIGITS = 9;
const ROUNDS = 5;
const CALLS = 400;
const WIDE_ROWS = 2000;
const WIDE_VALUE_BYTES = 100000;
const SCANS = 101;
const STALL_MS = 3000; // the slow client does nothing at first, then pauses at each message
const PAUSE_MS = 10;
const BLOCK_CACHE_MIB = 256; // defaults of an instance
const MEMTABLE_MIB = 16;

const dice = new Dice(7);
console.log('Each cell: median time of a call as the client sees it, processor time of the cluster for it.');
const instance = await Instance.start({config: 'configs/bench-one-zone.yaml'});
try {
  const cluster = await instance.direct('lab-c1', {deadlineMs: 0});
  const [{pid}] = (await instance.status()).clusters;
  await compareSizes(cluster, pid);
  await compareFamilies(cluster, pid);
  await readSlowly(cluster, pid);
} finally {
  await instance.stop();
}

async function compareSizes(cluster, pid) {
  const tables = [{name: 'small', rows: SMALL_ROWS}, {name: 'large', rows: LARGE_ROWS}];
  for (const table of tables) await load(cluster, table);
  await idle(pid);
  // The same number of distinct keys in both; those of the large table are spread over all of it.
  for (const table of tables)
    table.few = Array.from({length: SMALL_ROWS}, (_, i) =>
      Math.floor((i * table.rows) / SMALL_ROWS + dice.next() * (table.rows / SMALL_ROWS)));
  const anyOf = numbers => numbers[dice.between(0, numbers.length - 1)];
  const reads = [
    ['first row (limit 1)', () => ({rowsLimit: 1})],
    ['one row, of 1,000', table => point(anyOf(table.few))],
    ['one row, of all', table => point(dice.between(0, table.rows - 1))],
    ['10 rows by prefix, of 1,000', table => prefix(anyOf(table.few))],
  ];
  console.log(`\n| read | ${SMALL_ROWS} rows | ${LARGE_ROWS} rows | ratio |`);
  console.log('| --- | ---: | ---: | ---: |');
  for (const [what, request] of reads) {
    for (const table of tables) // everything is read once before it counts
      for (const number of table.few)
        await call(cluster, table.name, what.includes('prefix') ? prefix(number) : point(number));
    await alternate(what, cluster, pid, tables, request, ROUNDS, CALLS);
  }
}

async function compareFamilies(cluster, pid) {
  const tables = [{name: 'narrow', families: ['small']}, {name: 'wide', families: ['small', 'big']}];
  for (const {name, families} of tables) {
    await cluster.createTable(name, families);
    await inParallel(8, WIDE_ROWS, async i => {
      const big = setCell('big', 'q', noise(WIDE_VALUE_BYTES));
      const cells = [setCell('small', 'q', '0123456789'), ...(families.length > 1 ? [big] : [])];
      await cluster.mutate(name, key(i), ...cells);
    });
  }
  await idle(pid);
  const request = () => ({filter: {familyNameRegexFilter: 'small'}});
  console.log(`\n| read | 10 bytes a row alone | beside ${WIDE_VALUE_BYTES} bytes a row | ratio |`);
  console.log('| --- | ---: | ---: | ---: |');
  for (const {name} of tables) await call(cluster, name, request());
  await alternate(`the small family of ${WIDE_ROWS} rows`, cluster, pid, tables, request, SCANS, 1);
}

async function readSlowly(cluster, pid) {
  const before = await residentMiB(pid);
  let most = before;
  let messages = 0;
  const sampler = setInterval(async () => {
    most = Math.max(most, await residentMiB(pid));
  }, 50);
  const start = performance.now();
  const stream = open(cluster, 'large', {});
  await sleep(STALL_MS);
  for await (const message of stream) {
    messages += message.length > 0;
    await sleep(PAUSE_MS);
  }
  clearInterval(sampler);
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  console.log(`\nMemory: a client that read all ${LARGE_ROWS} rows in ${seconds} s (${messages} messages, a pause of ` +
    `${PAUSE_MS} ms after each): the cluster process held ${before} MiB before and ${most} MiB at most; ` +
    `its block cache may hold ${BLOCK_CACHE_MIB} MiB, each of its memtables ${MEMTABLE_MIB}.`);
}

/* --- loading --- */

function key(i) {
  return `row${String(i).padStart(DIGITS, '0')}`;
}

function noise(bytes) {
  const out = Buffer.alloc(bytes);
  for (let at = 0; at + 4 <= bytes; at += 4) out.writeUInt32LE(Math.floor(dice.next() * 2 ** 32), at);
  return out;
}

async function load(cluster, {name, rows}) {
  const path = join(instance.dir, `${name}.csv`);
  const file = createWriteStream(path);
  const start = performance.now();
  file.write(`,${FAMILIES.join()}\n,${FAMILIES.map(() => 'q').join()}\n`);
  for (let i = 0; i < rows; i += 1000) {
    const lines = Array.from({length: Math.min(1000, rows - i)}, (_, at) =>
      [key(i + at), ...FAMILIES.map(f => `${f}${i + at}.${dice.next()}`)].join());
    if (!file.write(`${lines.join('\n')}\n`)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
  await cluster.createTable(name, FAMILIES);
  await instance.cbt('import', name, path, 'batch-size=1000', 'workers=4');
  console.error(`${rows} rows loaded in ${((performance.now() - start) / 1000).toFixed(1)} s`);
}

async function inParallel(width, count, work) {
  let next = 0;
  await Promise.all(Array.from({length: width}, async () => {
    while (next < count) await work(next++);
  }));
}

/* --- reading --- */

function point(number) {
  return {rows: {rowKeys: [Buffer.from(key(number))]}};
}

/** The ten rows that differ from this one in their last digit. */
function prefix(number) {
  const start = Buffer.from(key(number).slice(0, -1));
  const end = Buffer.from(start);
  end[end.length - 1]++;
  return {rows: {rowRanges: [{startKeyClosed: start, endKeyOpen: end}]}};
}

/** A ReadRows stream whose messages stay bytes: taking them apart here is not to be measured. */
function open(cluster, table, rest) {
  const {path, requestSerialize} = cluster.data.readRows;
  const request = {tableName: cluster.tableName(table), ...rest};
  return cluster.data.makeServerStreamRequest(path, requestSerialize, bytes => bytes, request);
}

async function call(cluster, table, rest) {
  let bytes = 0;
  for await (const message of open(cluster, table, rest)) bytes += message.length;
  if (bytes === 0) throw new Error(`nothing in ${table} for ${JSON.stringify(rest)}`);
}

/** Times `calls` calls on each of two tables in turn, for some rounds, and prints a row. */
async function alternate(what, cluster, pid, tables, request, rounds, calls) {
  const results = tables.map(() => ({ms: [], cpuUs: []}));
  for (let round = 0; round < rounds; round++) {
    for (const [i, table] of tables.entries()) {
      const before = await cpuNs(pid);
      for (let n = 0; n < calls; n++) {
        const start = performance.now();
        await call(cluster, table.name, request(table));
        results[i].ms.push(performance.now() - start);
      }
      results[i].cpuUs.push((await cpuNs(pid) - before) / 1000 / calls);
    }
  }
  const cells = results.map(r => ({ms: median(r.ms), cpuUs: median(r.cpuUs)}));
  const shown = cells.map(c => `${c.ms.toFixed(2)} ms, ${c.cpuUs.toFixed(0)} µs`);
  const ratio = field => (cells[1][field] / cells[0][field]).toFixed(2);
  console.log(`| ${what} | ${shown.join(' | ')} | ${ratio('ms')}, ${ratio('cpuUs')} |`);
}

function median(numbers) {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

/* --- the process --- */

/** Processor time of all its threads so far. */
async function cpuNs(pid) {
  const threads = await readdir(`/proc/${pid}/task`);
  const times = await Promise.all(threads.map(async thread => {
    const stat = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0');
    return Number(stat.split(' ')[0]);
  }));
  return times.reduce((sum, time) => sum + time, 0);
}

/** Waits until it has nothing to do any more in the background. */
async function idle(pid) {
  for (let tries = 0; tries < 60; tries++) {
    const before = await cpuNs(pid);
    await sleep(1000);
    if (await cpuNs(pid) - before < 20e6) return;
  }
}

async function residentMiB(pid) {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024);
}
