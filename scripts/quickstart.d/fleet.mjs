// fleet.mjs: the three questions of a fleet, asked with Google's own client.

import {FAMILY, reversed} from './flights.mjs';

const STATE = 'state';

/** The latest `count` flights from an airport: the head of its prefix. */
export async function latest(table, airport, count) {
  const [rows] = await table.getRows({prefix: `${airport}#`, limit: count});
  return rows.map(flightOf);
}

/** The flights from an airport in [fromMs, toMs): one range of keys, because time is in them. */
export async function between(table, airport, fromMs, toMs) {
  const start = `${airport}#${reversed(toMs - 1)}`;
  const end = {value: `${airport}#${reversed(fromMs - 1)}`, inclusive: false};
  const [rows] = await table.getRows({ranges: [{start, end}]});
  return rows.map(flightOf);
}

/**
 * Keeps one row per airport that shows its latest flight, in whatever order flights arrive: set the
 * row unless it shows a flight as late or later. Needs a profile with single-row transactions.
 */
export async function noteState(table, flight) {
  const asLate = [
    {family: STATE},
    {column: 'ms'},
    {column: {cellLimit: 1}},
    {value: {start: digits(flight.ms)}},
  ];
  const set = {
    method: 'insert',
    data: {[STATE]: {ms: digits(flight.ms), destination: flight.destination}},
  };
  await table.row(`${flight.origin}#state`).filter(asLate, {onNoMatch: [set]});
}

export async function readState(table, airport) {
  const [row] = await table.row(`${airport}#state`).get();
  const [ms] = row.data[STATE].ms;
  return Number(ms.value);
}

/** Digits of one width sort like the numbers. */
function digits(ms) {
  return String(ms).padStart(13, '0');
}

function flightOf(row) {
  const text = column => String(row.data[FAMILY][column][0].value);
  return {key: row.id, date: text('date'), destination: text('destination')};
}
