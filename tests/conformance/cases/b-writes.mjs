// b-writes.mjs: mutations, read-modify-write and check-and-mutate.

import {
  act, add, append, call, checkAndMutate, deleteColumn, deleteFamily, filtered, increment, modify,
  mutate, mutateRows, read, set,
} from '../steps.mjs';
import {bytes, int64} from '../notation.mjs';

const MIB = 1 << 20;
const NO_FAMILY = /Requested column family not found/;
const bytesOf = count => Buffer.alloc(count, 'x');
const aggregate = (kind, input_type = {int64_type: {encoding: {big_endian_bytes: {}}}}) => ({
  value_type: {aggregate_type: {input_type, [kind]: {}}},
});
const AGGREGATES = {
  column_families: {
    f: {}, sum: aggregate('sum'), max: aggregate('max'), min: aggregate('min'),
    hll: aggregate('hllpp_unique_count'),
  },
};
const predicate = (predicate_filter, mutations = [set('f:x=1')]) =>
  checkAndMutate('r', {predicate_filter, true_mutations: mutations});
const token = (text, seconds = 0) => ({
  idempotency: {
    token: Buffer.from(text),
    start_time: {seconds: `${Math.floor(Date.now() / 1000) + seconds}`},
  },
});
const PASS = {pass_all_filter: true};
const BLOCK = {block_all_filter: true};

export default [
  {
    id: 'B1',
    what: 'MutateRow with an unknown family among its mutations: error, nothing is written',
    steps: [
      mutate('r2', [set('f:q=v'), set('zz:q=v')]).fails('NOT_FOUND', NO_FAMILY),
      read('r2').gives([]),
    ],
  },
  {
    id: 'B2',
    what: 'CheckAndMutateRow with an unknown family: error, the row is unchanged',
    given: ['r f:a=1'],
    steps: [
      predicate(PASS, [set('f:x=1'), set('zz:q=1')]).fails('NOT_FOUND', NO_FAMILY),
      read('r').gives(['r f:a@0=1']),
    ],
  },
  {
    id: 'B5',
    what: 'MutateRows entry with an unknown family: NOT_FOUND (which clients do not retry) for that entry',
    decided: 'one report says that the service fails every entry of the batch; here each entry has its own status',
    steps: [
      mutateRows([['a', set('f:q=v')], ['b', set('zz:q=v')], ['c', set('f:q=v')]]).gives([0, 5, 0]),
      read().gives(['a f:q@0=v', 'c f:q@0=v']),
    ],
  },
  {
    id: 'B6',
    what: 'SetCell timestamps below -1 or not of the granularity: INVALID_ARGUMENT with the reason',
    steps: [
      mutate('r', set('f:q@-2=v')).fails('INVALID_ARGUMENT', /Timestamps must be >= -1, but got -2/),
      ...['1', '999', '1001', '9223372036854775807'].map(ts =>
        mutate('r', set(`f:q@${ts}=v`)).fails('INVALID_ARGUMENT',
          new RegExp('Timestamp granularity mismatch. Expected a multiple of 1000 ' +
            `\\(millisecond granularity\\), but got ${ts}`))),
      mutateRows([['a', set('f:q=v')], ['b', set('f:q@1=v')]])
        .fails('INVALID_ARGUMENT', /Timestamp granularity mismatch/),
      read().gives([]),
    ],
  },
  {
    id: 'B7',
    what: 'Timestamps of the far future are accepted and sort first',
    steps: [
      mutate('r', [set('f:q@1000=old'), set('f:q@253402300800001000=far'),
        set('f:q@9223372036854775000=last')]).succeeds(),
      read('r').gives(['r f:q@9223372036854775000=last', 'r f:q@253402300800001000=far',
        'r f:q@1000=old']),
    ],
  },
  {
    id: 'B9',
    what: 'Limits: key 4 KiB, qualifier 16 KiB, value 100 MiB; one more is INVALID_ARGUMENT',
    steps: [
      mutate(bytesOf(4096), set('f:q=v')).succeeds(),
      mutate(bytesOf(4097), set('f:q=v')).fails('INVALID_ARGUMENT', /[Rr]ow key/),
      mutate('r', {set_cell: {family_name: 'f', column_qualifier: bytesOf(16384)}}).succeeds(),
      mutate('r', {set_cell: {family_name: 'f', column_qualifier: bytesOf(16385)}})
        .fails('INVALID_ARGUMENT', /qualifier/),
      mutate('big', {set_cell: {family_name: 'f', value: bytesOf(100 * MIB + 1)}})
        .fails('INVALID_ARGUMENT', /value/i),
      read('big').gives([]),
    ],
  },
  {
    id: 'B10',
    what: '100,001 mutations in one MutateRow: INVALID_ARGUMENT at once',
    steps: [
      mutate('r', Array(100001).fill(set('f:q=v'))).fails('INVALID_ARGUMENT', /100000/),
      mutateRows([['a', Array(60000).fill(set('f:q=v'))], ['b', Array(60000).fill(set('f:q=v'))]])
        .fails('INVALID_ARGUMENT', /100000/),
      read().gives([]),
    ],
  },
  {
    id: 'B11',
    what: 'Requests without mutations: INVALID_ARGUMENT "No mutations provided", nothing is written',
    steps: [
      checkAndMutate('r', {predicate_filter: PASS}).fails('INVALID_ARGUMENT', /No mutations provided/),
      mutateRows([['a', set('f:q=v')], ['b', []]]).fails('INVALID_ARGUMENT', /No mutations provided/),
      mutateRows([]).fails('INVALID_ARGUMENT'),
      mutate('r', []).fails('INVALID_ARGUMENT', /No mutations provided/),
      read().gives([]),
    ],
  },
  {
    id: 'B12',
    what: 'ReadModifyWriteRow without rules, or with an empty rule: INVALID_ARGUMENT',
    steps: [
      modify('r', []).fails('INVALID_ARGUMENT', /No rules provided/),
      modify('r', {family_name: 'f', column_qualifier: Buffer.from('q')}).fails('INVALID_ARGUMENT'),
    ],
  },
  {
    id: 'B14',
    what: 'Increment and append on a missing cell begin at 0 and at nothing',
    steps: [
      modify('r', increment('f:n', 5)).gives([`r f:n@now=${int64(5)}`]),
      modify('r', append('f:a', 'xy')).gives(['r f:a@now=xy']),
      modify('r', append('f:e', '')).gives(['r f:e@now=']),
    ],
  },
  {
    id: 'B15',
    what: 'Increment of a cell with a future timestamp keeps that timestamp',
    given: [`r f:n@4102444800000000=${int64(1)}`],
    steps: [
      modify('r', increment('f:n', 1)).gives([`r f:n@4102444800000000=${int64(2)}`]),
      read('r').gives([`r f:n@4102444800000000=${int64(2)}`]),
    ],
  },
  {
    id: 'B16',
    what: 'Four concurrent server-stamped writes to one column: at least one cell, and readers agree',
    steps: [
      act('4 x MutateRow', (target, table) => Promise.all(['a', 'b', 'c', 'd'].map(value =>
        mutate('r', set(`f:q@-1=${value}`)).run(target, table)))).succeeds(),
      read('r').gives(function fromOneToFourCells(cells) {
        return cells.length >= 1 && cells.length <= 4;
      }),
      act('2 x ReadRows', async (target, table) => {
        const [one, two] = [await read('r').run(target, table), await read('r').run(target, table)];
        return one.value.join() === two.value.join();
      }).gives(true),
    ],
  },
  {
    id: 'B17',
    what: 'DeleteFromColumn: a range is [start, end), an open side is unbounded, an empty range is all',
    decided: 'INVALID_ARGUMENT for a range that ends before it starts; the code is not published',
    steps: [
      ...[
        [['2000', '4000'], ['r f:q@5000=v', 'r f:q@4000=v', 'r f:q@1000=v']],
        [['0', '5000'], ['r f:q@5000=v']],
        [['3000', '0'], ['r f:q@2000=v', 'r f:q@1000=v']],
        [['0', '0'], []],
        [undefined, []],
      ].flatMap(([range, left]) => [
        mutate('r', ['1000', '2000', '3000', '4000', '5000'].map(ts => set(`f:q@${ts}=v`))).succeeds(),
        mutate('r', deleteColumn('f:q', range)).succeeds(),
        read('r').gives(left),
      ]),
      mutate('r', deleteColumn('f:q', ['4000', '2000'])).fails('INVALID_ARGUMENT'),
    ],
  },
  {
    id: 'B19',
    what: 'Deletes that name an unknown family: NOT_FOUND, nothing is done',
    decided: 'as SetCell and DeleteFromColumn do; the service is said to be the same for DeleteFromFamily',
    given: ['r f:q=v'],
    steps: [
      mutate('r', [deleteColumn('f:q'), deleteFamily('zz')]).fails('NOT_FOUND', NO_FAMILY),
      mutate('r', [deleteColumn('f:q'), deleteColumn('zz:q')]).fails('NOT_FOUND', NO_FAMILY),
      read('r').gives(['r f:q@0=v']),
    ],
  },
  {
    id: 'B21',
    what: 'AddToCell: sum adds, max and min keep the extreme',
    table: AGGREGATES,
    steps: [
      mutate('r', [add('sum:q', 9), add('sum:q', 3), add('max:q', 9), add('max:q', 3),
        add('min:q', 3), add('min:q', 9)]).succeeds(),
      read('r').gives([`r max:q@0=${int64(9)}`, `r min:q@0=${int64(3)}`, `r sum:q@0=${int64(12)}`]),
      mutate('r', [add('sum:q', -20), add('max:q', 11), add('min:q', 2)]).succeeds(),
      read('r').gives([`r max:q@0=${int64(11)}`, `r min:q@0=${int64(2)}`, `r sum:q@0=${int64(-8)}`]),
    ],
  },
  {
    id: 'B21h',
    what: 'AddToCell 5, 6 and 5 to a HyperLogLog++ family: a sketch of two',
    decided: 'production does not publish the state; docs/AGGREGATES.md has ours: 6 bytes, and 4 for each value',
    table: AGGREGATES,
    steps: [
      mutate('r', [add('hll:q', 5), add('hll:q', 6), add('hll:q', 5)]).succeeds(),
      read('r').gives(function aSketchOfTwo([cell]) {
        return cell.startsWith('r hll:q@0=HLL\\x01\\x0e\\x01') && bytes(cell.split('=')[1]).length === 14;
      }),
    ],
  },
  {
    id: 'B22',
    what: 'SetCell into an aggregate family, AddToCell into a plain one: INVALID_ARGUMENT; no harm done',
    decided: 'the code is not published',
    table: AGGREGATES,
    steps: [
      mutate('r', set('sum:q=abc')).fails('INVALID_ARGUMENT', /aggregate/),
      mutate('r', add('f:q', 1)).fails('INVALID_ARGUMENT', /aggregate/),
      mutate('r', add('sum:q', 1)).succeeds(),
      read('r').gives([`r sum:q@0=${int64(1)}`]),
    ],
  },
  {
    id: 'B23',
    what: 'AddToCell without its input: INVALID_ARGUMENT',
    table: AGGREGATES,
    steps: [
      mutate('r', add('sum:q')).fails('INVALID_ARGUMENT'),
      read('r').gives([]),
    ],
  },
  {
    id: 'B25',
    what: 'AddToCell 5 three times with one idempotency token counts once; a token of less than 8 bytes or of an hour ago is refused',
    decided: 'the protos promise it for fifteen minutes; the codes of the refusals are not published',
    table: AGGREGATES,
    steps: [
      ...Array(3).fill(mutate('r', add('sum:q', 5), token('0123456789abcdef')).succeeds()),
      mutateRows([['r', add('sum:q', 5), token('0123456789abcdef')]]).gives([0]),
      read('r').gives([`r sum:q@0=${int64(5)}`]),
      mutate('r', add('sum:q', 5), token('another token')).succeeds(),
      mutate('r', add('sum:q', 5)).succeeds(),
      read('r').gives([`r sum:q@0=${int64(15)}`]),
      mutate('r', add('sum:q', 5), token('short')).fails('INVALID_ARGUMENT', /token/),
      mutate('r', add('sum:q', 5), token('of an hour ago', -3600)).fails('FAILED_PRECONDITION', /start_time/),
      read('r').gives([`r sum:q@0=${int64(15)}`]),
    ],
  },
  {
    id: 'B26',
    what: 'CheckAndMutateRow matches when the predicate yields any cell',
    given: ['r f:a=1'],
    steps: [
      predicate(undefined).gives(true),
      predicate(BLOCK).gives(false),
      predicate({chain: {filters: [PASS, BLOCK]}}).gives(false),
      predicate({interleave: {filters: [BLOCK, BLOCK]}}).gives(false),
      predicate({column_qualifier_regex_filter: Buffer.from('nope')}).gives(false),
      predicate({cells_per_row_offset_filter: 2}).gives(false),
      predicate({row_key_regex_filter: Buffer.from('nope')}).gives(false),
      predicate({condition: {predicate_filter: PASS, false_filter: PASS}}).gives(false),
      checkAndMutate('missing', {predicate_filter: PASS, true_mutations: [set('f:a=1')]}).gives(false),
      checkAndMutate('missing', {true_mutations: [set('f:a=1')], false_mutations: [set('f:b=1')]})
        .gives(false),
      read('missing').gives(['missing f:b@0=1']),
    ],
  },
  {
    id: 'B27',
    what: 'MutateRows with two entries for one row: both are applied, and every reader sees the same',
    steps: [
      mutateRows([['r', set('f:q@1000=a')], ['r', set('f:q@1000=b')]]).gives([0, 0]),
      read('r').gives(function oneCell(cells) {
        return cells.length === 1;
      }),
    ],
  },
  {
    id: 'B29',
    what: 'ReadModifyWriteRow on an aggregate family is refused, nothing is written',
    decided: 'FAILED_PRECONDITION; the code is not published',
    table: AGGREGATES,
    given: [],
    steps: [
      modify('r', [append('f:q', 'x'), increment('sum:q', 1)]).fails('FAILED_PRECONDITION', /aggregate/),
      read('r').gives([]),
    ],
  },
  {
    id: 'B30',
    what: 'Increment of a value that has not 8 bytes: FAILED_PRECONDITION in production\'s words',
    given: ['r f:q=1'],
    steps: [
      modify('r', [append('f:a', 'x'), increment('f:q', 1)]).fails('FAILED_PRECONDITION',
        /Cannot increment value '1' \(family=f, qualifier=q\)\. The increment operation can only be performed on 64-bit values/),
      read('r').gives(['r f:q@0=1']),
    ],
  },
  {
    id: 'B31',
    what: 'Later mutations of one request mask earlier ones: set, delete row, set leaves the last',
    given: ['r g:old=v'],
    steps: [
      mutate('r', [set('f:a=1'), {delete_from_row: {}}, set('f:b=2')]).succeeds(),
      read('r').gives(['r f:b@0=2']),
      mutate('r', [set('f:b=3'), deleteFamily('f')]).succeeds(),
      filtered(PASS, 'r').gives([]),
    ],
  },
  {
    id: 'B32',
    what: 'Unknown table, empty row key, mutation of no kind',
    steps: [
      call('MutateRow', target => ({
        table_name: target.tableName('nosuch'), row_key: Buffer.from('r'), mutations: [set('f:q=v')],
      })).fails('NOT_FOUND', /nosuch/),
      mutate('', set('f:q=v')).fails('INVALID_ARGUMENT', /Row keys must be non-empty/),
      mutate('r', [set('f:q=v'), {}]).fails('INVALID_ARGUMENT'),
      read().gives([]),
    ],
  },
];
