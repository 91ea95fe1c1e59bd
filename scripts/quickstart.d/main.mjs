// main.mjs: the steps of scripts/quickstart.

import {join} from 'node:path';
import {open} from '../../tests/support/client.mjs';
import {
  Dice, FAMILY as LIVE_FAMILY, Ledger, newSeed, readAll, sleep, Writer,
} from '../../tests/support/drill.mjs';
import {eventually, Instance} from '../../tests/support/instance.mjs';
import {CODE} from '../../tests/support/raw.mjs';
import {between, latest, noteState, readState} from './fleet.mjs';
import {FAMILY, loadFlights, millisOf, writeCsv} from './flights.mjs';
import {check, failed, say, seconds, step} from './report.mjs';

const CONNECTIONS = 8;
const DEADLINE_MS = 2000;
const AIRPORT = 'ATL';

const instance = await startZones();
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => instance.stop().finally(() => process.exit(1)));
try {
  const flights = await loadFlights();
  await importFlights(flights);
  await askLatest(flights);
  await askWindow(flights);
  await keepState(flights);
  const drill = await killNearest(flights);
  const lost = await compareClusters(flights, drill.ledger);
  await tryTransactions();
  summarize(drill, lost);
} finally {
  await instance.stop();
}
console.log(failed() ? `${failed()} checks FAILED` : 'All of it held. Nothing is left running.');
process.exitCode = failed() ? 1 : 0;

async function startZones() {
  step('Start three clusters in three zones, and a router');
  const start = performance.now();
  const started = await Instance.start({config: 'configs/three-zones.yaml'});
  for (const {id, zone, grpc, state} of (await started.status()).clusters)
    say(`${id}  ${zone.padEnd(15)} 127.0.0.1:${grpc}  ${state}`);
  say(`router  BIGTABLE_EMULATOR_HOST=${started.endpoint}, all serving after ${seconds(start)}`);
  return started;
}

async function importFlights(flights) {
  step('Import 20,000 real flights through the multi-cluster profile "multi"');
  const csv = join(instance.dir, 'flights.csv');
  await writeCsv(flights, csv);
  say(`first row: ${flights[0].key}`);
  await instance.cbt('createtable', 'flights', `families=${FAMILY}`);
  const start = performance.now();
  await instance.cbt('import', 'flights', csv, 'app-profile=multi');
  say(`atoll cbt import took ${seconds(start)}`);
  const count = Number(await instance.cbt('count', 'flights'));
  check(`${count} rows are there`, count === flights.length);
}

async function askLatest(flights) {
  step(`The latest 5 flights from ${AIRPORT}: a prefix, limited`);
  const rows = await latest(flightsTable(), AIRPORT, 5);
  for (const {key, date, destination} of rows) say(`${key}  ${date} to ${destination}`);
  const expected = ofAirport(flights).slice(0, 5).map(flight => flight.key);
  check('they are the newest, newest first', sameTexts(rows.map(row => row.key), expected));
}

async function askWindow(flights) {
  step(`Flights from ${AIRPORT} on 14 February 2001: a range of keys`);
  const [from, to] = ['2001/02/14 00:00', '2001/02/15 00:00'].map(millisOf);
  const rows = await between(flightsTable(), AIRPORT, from, to);
  const expected = ofAirport(flights).filter(flight => flight.ms >= from && flight.ms < to);
  check(`${rows.length} flights, exactly those of the day`,
    sameTexts(rows.map(row => row.key), expected.map(flight => flight.key)));
}

async function keepState(flights) {
  step('One row of current state, by check-and-mutate through the transactional profile "tx"');
  await instance.cbt('createtable', 'airports', 'families=state');
  const table = open(instance, 'tx').table('airports');
  const arriving = ofAirport(flights).slice(0, 200);
  shuffle(arriving);
  await Promise.all(arriving.map(flight => noteState(table, flight)));
  const shown = await readState(table, AIRPORT);
  const newest = Math.max(...arriving.map(flight => flight.ms));
  check(`200 flights noted at once and out of order: the row shows the latest`, shown === newest);
}

/** Returns the ledger of what was acknowledged, and who served before and after the kill. */
async function killNearest(flights) {
  step('kill -9 the nearest zone while 8 connections write, 2 s deadline, no retries by the client');
  await instance.cbt('createtable', 'live', `families=${LIVE_FAMILY}`);
  const ledger = new Ledger();
  const dice = new Dice(newSeed());
  const writers = Array.from({length: CONNECTIONS}, (_, i) => new Writer({
    raw: instance.raw('multi', {deadlineMs: DEADLINE_MS}),
    table: 'live', name: `vehicle${i}`, ledger, dice,
  }));
  await eventually('every connection has written', () => writers.every(writer => writer.served));
  await sleep(1000);
  const before = writers[0].served;
  const writes = ledger.total;
  say(`${before} serves; ${writes} writes acknowledged so far`);
  writers.forEach(writer => writer.rest());
  await instance.kill(before);
  const rows = await latest(flightsTable(), AIRPORT, 5);
  await sleep(2500);
  const after = writers[0].served;
  const longestMs = Math.round(Math.max(...writers.map(writer => writer.rest())));
  say(`killed ${before}; ${after} serves`);
  check(`${ledger.total - writes} writes acknowledged without it, the slowest took ${longestMs} ms`,
    ledger.total > writes && after !== before);
  const expected = ofAirport(flights).slice(0, 5).map(flight => flight.key);
  check('reads go on', sameTexts(rows.map(row => row.key), expected));

  const start = performance.now();
  await instance.startCluster(before);
  await instance.cbt('waitforreplication', 'live');
  say(`${before} started again; it had caught up after ${seconds(start)}`);
  await sleep(1000);
  await Promise.all(writers.map(writer => writer.stop()));
  say(`${writers[0].served} serves at the end`);
  ledger.errors.slice(0, 5).forEach(say);
  check(`client errors: ${ledger.errors.length}`, ledger.errors.length === 0);
  return {ledger, before, after};
}

/** Returns how many acknowledged writes some cluster lacks. */
async function compareClusters(flights, ledger) {
  step('Compare the three clusters');
  for (const table of ['flights', 'live']) await instance.cbt('waitforreplication', table);
  let lost = 0;
  for (const {id} of (await instance.status()).clusters) {
    const cluster = await instance.direct(id);
    const wrong = ledger.check(await readAll(cluster, 'live'));
    const {size} = await readAll(cluster, 'flights');
    lost = Math.max(lost, wrong.length);
    check(`${id}: ${size} flights, acknowledged writes lost: ${wrong.length}`,
      size === flights.length && wrong.length === 0);
  }
  const digests = await instance.digest().catch(err => err.message);
  digests.trim().split('\n').forEach(say);
  check('the digests over all rows are equal', digests.trim().endsWith('\nequal'));
  return lost;
}

async function tryTransactions() {
  step('Increment a counter through both profiles');
  const code = await instance.raw('multi').increment('live', 'counter', LIVE_FAMILY, 'n')
    .then(() => CODE.OK, err => err.code);
  check(`multi: ${CODE[code]}`, code === CODE.FAILED_PRECONDITION);
  const single = instance.raw('tx');
  await single.increment('live', 'counter', LIVE_FAMILY, 'n');
  const {value, served} = await single.increment('live', 'counter', LIVE_FAMILY, 'n');
  check(`tx: counted to ${value} on ${served.cluster}`, value === 2);
}

function summarize({ledger, before, after}, lost) {
  console.log(`\n${ledger.total} writes acknowledged, lost: ${lost}, ` +
    `client errors: ${ledger.errors.length}. Served by ${before}, and by ${after} once it was killed.`);
}

function flightsTable() {
  return open(instance, 'multi').table('flights');
}

/** The airport's flights in the order of their keys: newest first. */
function ofAirport(flights) {
  return flights.filter(flight => flight.origin === AIRPORT)
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}

function shuffle(items) {
  const dice = new Dice(1);
  for (let i = items.length - 1; i > 0; i--) {
    const j = dice.between(0, i);
    [items[i], items[j]] = [items[j], items[i]];
  }
}

function sameTexts(a, b) {
  return a.length > 0 && a.join('\n') === b.join('\n');
}
