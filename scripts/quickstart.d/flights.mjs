// flights.mjs: 20,000 flights of early 2001 (npm package vega-datasets) as rows of a fleet.
//
// A row key names the device first and then the time, counted down, so that the newest of a device
// comes first:  ORIGIN # 9999999999999 - milliseconds # DESTINATION

import {readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {ROOT} from '../../tests/support/instance.mjs';

const FILE = 'tests/node_modules/vega-datasets/data/flights-20k.json';
const LAST_MS = 9999999999999;

export const FAMILY = 'flight';
const COLUMNS = ['date', 'destination', 'delay', 'distance'];

/** Flights in order of time, each with `ms` and `key`. */
export async function loadFlights() {
  const flights = JSON.parse(await readFile(join(ROOT, FILE), 'utf8'));
  const taken = new Map();
  for (const flight of flights) {
    flight.ms = millisOf(flight.date);
    flight.key = `${flight.origin}#${reversed(flight.ms)}#${flight.destination}`;
    const nth = (taken.get(flight.key) ?? 0) + 1;
    taken.set(flight.key, nth);
    if (nth > 1) flight.key += `#${nth}`; // two at the same minute to the same place
  }
  return flights.sort((a, b) => a.ms - b.ms);
}

/** 13 digits that sort newest first. */
export function reversed(ms) {
  return String(LAST_MS - ms).padStart(13, '0');
}

/** "2001/01/31 23:59", taken as UTC. */
export function millisOf(date) {
  return Date.parse(`${date.replaceAll('/', '-').replace(' ', 'T')}:00Z`);
}

/** Writes the file that `cbt import` takes: families, then columns, then a row per line. */
export async function writeCsv(flights, path) {
  const lines = [
    ['', ...COLUMNS.map(() => FAMILY)],
    ['', ...COLUMNS],
    ...flights.map(flight => [flight.key, ...COLUMNS.map(column => flight[column])]),
  ];
  await writeFile(path, lines.map(line => `${line.join(',')}\n`).join(''));
}
