// run.mjs: runs cases against a target.
//
// A case is {id, what, steps, ...}:
//   table     of CreateTable (default: families f and g); null: the case makes its own
//   given     cells in notation that are there before the first step
//   decided   where no public source tells the right outcome: what was chosen, and why
//   later     why the right outcome is not offered yet; the steps hold what happens instead
//   routed    true: it is the router's own work, and not asked of a cluster
//   instance  true: needs an instance of several clusters, so it says nothing about an emulator
//   repeat    how often the steps are run, each time on a table of its own

import {isDeepStrictEqual} from 'node:util';
import {Api} from './api.mjs';
import {bytes, parseCell} from './notation.mjs';

export class Target {
  /** `instance` is null unless the target belongs to one that the test has started. */
  constructor(name, endpoint, {project = 'atoll', id = 'lab', profile = '', instance = null} = {}) {
    this.name = name;
    this.api = new Api(endpoint);
    this.projectName = `projects/${project}`;
    this.instanceName = `${this.projectName}/instances/${id}`;
    this.profile = profile;
    this.instance = instance;
  }

  tableName(table) {
    return `${this.instanceName}/tables/${table}`;
  }

  close() {
    this.api.close();
  }
}

const FAMILIES = {column_families: {f: {}, g: {}}};
let tables = 0;

/** Resolves to {ok, what}: what happened, or what differs, in one line. */
export async function runCase(target, test) {
  let outcome = '';
  for (let round = 0; round < (test.repeat ?? 1); round++) {
    const table = `${test.id.toLowerCase()}-${target.name}-${++tables}`;
    if (test.table !== null) await prepare(target, table, test);
    for (const [index, step] of test.steps.entries()) {
      const actual = await step.run(target, table);
      outcome = show(actual);
      if (!agrees(step.expected, actual))
        return {ok: false, what: `step ${index + 1}, ${step.method}: ${outcome}; ` +
          `expected: ${show(step.expected)}`, outcome: `${step.method}: ${outcome}`};
    }
  }
  return {ok: true, what: outcome, outcome};
}

async function prepare(target, table, {table: config = FAMILIES, splits = [], given = []}) {
  await must(target, 'CreateTable', {
    parent: target.instanceName, table_id: table, table: config,
    initial_splits: splits.map(key => ({key: Buffer.from(key)})),
  });
  const rows = new Map();
  for (const cell of given.map(parseCell)) {
    const mutation = {
      set_cell: {
        family_name: cell.family, column_qualifier: cell.qualifier,
        timestamp_micros: cell.timestamp, value: cell.value,
      },
    };
    rows.set(cell.row, [...(rows.get(cell.row) ?? []), mutation]);
  }
  for (const [row, mutations] of rows)
    await must(target, 'MutateRow', {
      table_name: target.tableName(table), app_profile_id: target.profile,
      row_key: bytes(row), mutations,
    });
}

async function must(target, method, request) {
  const {code, message} = await target.api.call(method, request);
  if (code !== 'OK') throw new Error(`${method}: ${code} ${message}`);
}

function agrees(expected, actual) {
  if (expected.code !== actual.code) return false;
  if (expected.pattern && !expected.pattern.test(actual.message)) return false;
  if (!('value' in expected)) return true;
  if (typeof expected.value === 'function') return expected.value(actual.value);
  return isDeepStrictEqual(expected.value, actual.value);
}

const SHOWN_MAX = 160;

function print(value) {
  if (Array.isArray(value)) return `[${value.map(print).join(', ')}]`;
  return typeof value === 'string' && value !== '' ? value : JSON.stringify(value);
}

function show({code, message, pattern, value}) {
  const parts = [code];
  if (message || pattern) parts.push(`"${message ?? pattern}"`);
  if (typeof value === 'function') parts.push(`what ${value.name || value} accepts`);
  else if (value !== undefined) parts.push(print(value));
  const line = parts.join(' ');
  return line.length > SHOWN_MAX ? `${line.slice(0, SHOWN_MAX)}...` : line;
}
