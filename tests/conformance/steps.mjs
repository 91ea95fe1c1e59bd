// steps.mjs: the words that cases are written in. A step is one call and what must come of it:
//
//   mutate('r', set('f:q@1000=v')).succeeds()
//   read('r').gives(['r f:q@1000=v'])
//   mutate('r', set('zz:q=v')).fails('NOT_FOUND', /Requested column family not found/)
//
// Table and app profile are filled in when the step runs; a request may name others.

import {bytes, cellsOf, parseCell, printCell, text} from './notation.mjs';

/** Of the default feature flags: reverse scans. */
export const REVERSE = {'bigtable-features': 'CAE='};

class Step {
  headers = {};
  expected = {code: 'OK'};

  /** `scope` says which names are filled in; `value` makes of the answer what is compared. */
  constructor(method, request, {scope = 'data', value = () => undefined} = {}) {
    Object.assign(this, {method, request, scope, value});
  }

  succeeds() {
    return this;
  }

  gives(value) {
    this.expected = {code: 'OK', value};
    return this;
  }

  fails(code, pattern = null) {
    this.expected = {code, pattern};
    return this;
  }

  with(headers) {
    Object.assign(this.headers, headers);
    return this;
  }

  /** Bytes behind those of the request. */
  ending(tail) {
    this.tail = tail;
    return this;
  }

  /** Compares something else of the answer: `pick(outcome, target)`. */
  picking(pick) {
    this.value = pick;
    return this;
  }

  async run(target, table) {
    const fill = FILL[this.scope];
    const own = typeof this.request === 'function' ? this.request(target, table) : this.request;
    const outcome = await target.api.call(this.method, {...fill(target, table), ...own},
      {headers: this.headers, tail: this.tail});
    const {code, message} = outcome;
    if (code !== 'OK') return {code, message};
    return {code, message, value: await this.value(outcome, target, table)};
  }
}

const FILL = {
  none: () => ({}),
  data: (target, table) => ({table_name: target.tableName(table), app_profile_id: target.profile}),
  table: (target, table) => ({name: target.tableName(table)}),
  parent: target => ({parent: target.instanceName}),
};

/** A step of JavaScript: resolves to a value, or throws. */
export function act(what, run) {
  return {
    method: what,
    expected: {code: 'OK'},
    gives(value) {
      this.expected = {code: 'OK', value};
      return this;
    },
    succeeds() {
      return this;
    },
    async run(target, table) {
      return {code: 'OK', message: '', value: await run(target, table)};
    },
  };
}

// --- mutations ---

export function set(cell) {
  const {family, qualifier, timestamp, value} = parseCell(cell);
  const timestamp_micros = timestamp;
  return {set_cell: {family_name: family, column_qualifier: qualifier, timestamp_micros, value}};
}

export function add(cell, input) {
  const {family, qualifier, timestamp} = parseCell(cell);
  return {
    add_to_cell: {
      family_name: family,
      column_qualifier: {raw_value: qualifier},
      timestamp: {raw_timestamp_micros: timestamp},
      ...(input === undefined ? {} : {input: {int_value: input}}),
    },
  };
}

export function deleteColumn(column, range) {
  const {family, qualifier} = parseCell(column);
  const time_range = range && {start_timestamp_micros: range[0], end_timestamp_micros: range[1]};
  return {delete_from_column: {family_name: family, column_qualifier: qualifier, time_range}};
}

export const deleteFamily = family_name => ({delete_from_family: {family_name}});
export const deleteRow = {delete_from_row: {}};

export function append(column, value) {
  const {family, qualifier} = parseCell(column);
  return {family_name: family, column_qualifier: qualifier, append_value: bytes(value)};
}

export function increment(column, amount) {
  const {family, qualifier} = parseCell(column);
  return {family_name: family, column_qualifier: qualifier, increment_amount: amount};
}

// --- data calls ---

const list = value => (Array.isArray(value) ? value : [value]);

export const mutate = (row, mutations, rest = {}) =>
  new Step('MutateRow', {row_key: bytes(row), mutations: list(mutations), ...rest});

/** `entries` are [row, mutations, further fields]; gives the codes by entry. */
export const mutateRows = (entries, rest = {}) =>
  new Step('MutateRows', {
    entries: entries.map(([row, mutations, fields]) =>
      ({row_key: bytes(row), mutations: list(mutations), ...fields})),
    ...rest,
  }, {value: entryCodes});

function entryCodes({messages}) {
  const codes = [];
  for (const {entries} of messages)
    for (const {index, status} of entries) codes[index] = status?.code ?? 0;
  return codes;
}

/** Gives cells in notation. `what` is a row key, a row set, or {} for everything. */
export const read = (what = {}, rest = {}) =>
  new Step('ReadRows', {rows: rowSet(what), ...rest}, {value: ({messages}) => printCells(messages)});

/** Gives the keys of the rows read. */
export const readKeys = (what = {}, rest = {}) =>
  read(what, rest).picking(({messages}) => [...new Set(cellsOf(messages).map(c => text(c.row)))]);

export const filtered = (filter, what = {}) => read(what, {filter});

function rowSet(what) {
  return typeof what === 'string' || Buffer.isBuffer(what) ? {row_keys: [bytes(what)]} : what;
}

export const printCells = messages => cellsOf(messages).map(printCell);

/** A range in the fields of RowRange, ValueRange or ColumnRange, whose values are notation. */
export function range(bounds) {
  return Object.fromEntries(Object.entries(bounds).map(([k, v]) => [k, bytes(v)]));
}

export const ranges = (...all) => ({row_ranges: all.map(range)});

/** Gives whether the predicate matched. */
export const checkAndMutate = (row, request) =>
  new Step('CheckAndMutateRow', {row_key: bytes(row), ...request},
    {value: ({messages}) => messages[0].predicate_matched});

/** Gives the cells of the answer. */
export const modify = (row, rules, rest = {}) =>
  new Step('ReadModifyWriteRow', {row_key: bytes(row), rules: list(rules), ...rest},
    {value: ({messages}) => printRow(messages[0].row)});

function printRow({key, families}) {
  return families.flatMap(({name, columns}) => columns.flatMap(column => column.cells.map(cell =>
    printCell({
      row: key, family: name, qualifier: column.qualifier,
      timestamp: cell.timestamp_micros, value: cell.value,
    }))));
}

/** Gives the keys of the samples. */
export const sample = (rest = {}) =>
  new Step('SampleRowKeys', rest, {value: ({messages}) => messages.map(m => text(m.row_key))});

// --- admin calls ---

/** `columnFamilies` as in the protos; the table is the case's own unless `table_id` is given. */
export const createTable = (columnFamilies, {table, ...rest} = {}) =>
  new Step('CreateTable', (target, own) => ({
    table_id: own, table: {column_families: columnFamilies, ...table}, ...rest,
  }), {scope: 'parent', value: ({messages}) => Object.keys(messages[0].column_families).sort()});

export const getTable = (view, pick) =>
  new Step('GetTable', {view}, {scope: 'table', value: ({messages}) => pick(messages[0])});

/** Gives the families that there are afterwards. */
export const modifyFamilies = (modifications, rest = {}) =>
  new Step('ModifyColumnFamilies', {modifications: list(modifications), ...rest},
    {scope: 'table', value: ({messages}) => Object.keys(messages[0].column_families).sort()});

export const dropRows = request => new Step('DropRowRange', request, {scope: 'table'});

/** Any call; `scope` is data, table, parent or none. */
export const call = (method, request, scope = 'none') => new Step(method, request, {scope});
