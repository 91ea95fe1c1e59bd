// d-filters.mjs: row filters.

import {bytes} from '../notation.mjs';
import {filtered, range, read, readKeys} from '../steps.mjs';

const PASS = {pass_all_filter: true};
const BLOCK = {block_all_filter: true};
const STRIP = {strip_value_transformer: true};
const SINK = {sink: true};
const chain = (...filters) => ({chain: {filters}});
const interleave = (...filters) => ({interleave: {filters}});
const qualifier = regex => ({column_qualifier_regex_filter: Buffer.from(regex)});
const value = regex => ({value_regex_filter: Buffer.from(regex)});
const family = family_name_regex_filter => ({family_name_regex_filter});
const label = apply_label_transformer => ({apply_label_transformer});
const columns = (family_name, bounds) => ({column_range_filter: {family_name, ...range(bounds)}});
const values = bounds => ({value_range_filter: range(bounds)});
const times = (start_timestamp_micros, end_timestamp_micros) =>
  ({timestamp_range_filter: {start_timestamp_micros, end_timestamp_micros}});

/** ReadRowsRequest.filter with fields that the protos of this version do not have. */
const BITMASK_1 = bytes('\\x1a\\x06\\xa2\\x01\\x03\\x0a\\x01\\x01');
const FILTER_99 = bytes('\\x1a\\x03\\x98\\x06\\x01');

const FIVE = ['r f:a@2000=2', 'r f:a@1000=1', 'r f:b@1000=3', 'r g:a@1000=4', 'r g:c@3000=5'];
const without = (...missing) => FIVE.filter((_, i) => !missing.includes(i));

export default [
  {
    id: 'D1',
    what: 'cells_per_row_limit 2 gives the first two cells of the row, 60 times out of 60',
    given: FIVE,
    steps: Array(60).fill(filtered({cells_per_row_limit_filter: 2}).gives(FIVE.slice(0, 2))),
  },
  {
    id: 'D2',
    what: 'Offsets and limits per row and per column, and which are refused',
    given: FIVE,
    steps: [
      filtered({cells_per_row_offset_filter: 3}).gives(FIVE.slice(3)),
      filtered({cells_per_row_offset_filter: 0}).gives(FIVE),
      filtered({cells_per_row_offset_filter: 9}).gives([]),
      filtered({cells_per_column_limit_filter: 1}).gives(without(1)),
      filtered({cells_per_row_limit_filter: 0}).fails('INVALID_ARGUMENT',
        /Error in field 'cells_per_row_limit_filter' : argument must be > 0/),
      filtered({cells_per_column_limit_filter: 0}).fails('INVALID_ARGUMENT',
        /Error in field 'cells_per_column_limit_filter' : argument must be > 0/),
      filtered({cells_per_column_limit_filter: -1}).fails('INVALID_ARGUMENT'),
    ],
  },
  {
    id: 'D3',
    what: 'cells_per_row_offset -1: INVALID_ARGUMENT, and the server lives',
    given: FIVE,
    steps: [
      filtered({cells_per_row_offset_filter: -1}).fails('INVALID_ARGUMENT', /cells_per_row_offset_filter/),
      read().gives(FIVE),
    ],
  },
  {
    id: 'D4',
    what: 'Family, qualifier and row-key expressions match as a whole; timestamp ranges are [start, end)',
    given: FIVE,
    steps: [
      filtered(family('g')).gives(FIVE.slice(3)),
      filtered(family('f|g')).gives(FIVE),
      filtered(qualifier('a')).gives(without(2, 4)),
      filtered(qualifier('[bc]')).gives(FIVE.filter((_, i) => i === 2 || i === 4)),
      filtered({row_key_regex_filter: Buffer.from('r.+')}).gives([]),
      filtered(times('1000', '2000')).gives(FIVE.slice(1, 4)),
      filtered(times('2000', '0')).gives([FIVE[0], FIVE[4]]),
      filtered(times('0', '0')).gives(FIVE),
      filtered({row_key_regex_filter: Buffer.from('(')}).fails('INVALID_ARGUMENT', /row_key_regex_filter/),
      filtered(qualifier('(')).fails('INVALID_ARGUMENT', /column_qualifier_regex_filter/),
      filtered(value('(')).fails('INVALID_ARGUMENT', /value_regex_filter/),
      filtered(family('(')).fails('INVALID_ARGUMENT', /family_name_regex_filter/),
    ],
  },
  {
    id: 'D5',
    what: 'sink sends cells past all later filters',
    given: FIVE,
    steps: [
      filtered(chain(family('f'), interleave(chain(qualifier('a'), label('out'), SINK),
        qualifier('b')), value('3')))
        .gives(['r f:a@2000=2 [out]', 'r f:a@1000=1 [out]', 'r f:b@1000=3']),
      filtered(chain(SINK, BLOCK)).gives(FIVE),
      filtered({condition: {predicate_filter: PASS, true_filter: SINK}}).fails('INVALID_ARGUMENT', /sink/),
    ],
  },
  {
    id: 'D6',
    what: 'value_bitmask 0x01 keeps values of one byte that have the bit',
    given: ['r f:q@1000=1', 'r f:q@2000=2', 'r f:q@3000=3', 'r f:q@4000=4', 'r f:q@5000=5', 'r f:q@6000=11'],
    steps: [
      read().ending(BITMASK_1).gives(['r f:q@5000=5', 'r f:q@3000=3', 'r f:q@1000=1']),
    ],
  },
  {
    id: 'D7',
    what: 'A filter that the server does not know is refused, not ignored',
    given: FIVE,
    steps: [
      filtered({}).gives(FIVE),
      read().ending(FILTER_99).fails('UNIMPLEMENTED', /field 99 of RowFilter is not supported/),
    ],
  },
  {
    id: 'D9',
    what: 'Labels: 1 to 15 characters of a-z, 0-9 and "-"; one for each chain',
    given: ['r f:q=v'],
    steps: [
      filtered(label('ok-label-1')).gives(['r f:q@0=v [ok-label-1]']),
      filtered(label('x'.repeat(15))).gives([`r f:q@0=v [${'x'.repeat(15)}]`]),
      filtered(label('x'.repeat(16))).fails('INVALID_ARGUMENT', /apply_label_transformer/),
      filtered(label('BAD LABEL')).fails('INVALID_ARGUMENT', /apply_label_transformer/),
      filtered(label('')).fails('INVALID_ARGUMENT', /apply_label_transformer/),
      filtered(chain(label('a'), label('b'))).fails('INVALID_ARGUMENT'),
      filtered(interleave(label('a'), label('b'))).gives(labels => labels.sort().join() ===
        'r f:q@0=v [a],r f:q@0=v [b]'),
    ],
  },
  {
    id: 'D10',
    what: 'strip_value_transformer and sink that are false: INVALID_ARGUMENT',
    decided: 'as pass_all and block_all; Google\'s C++ emulator refuses them as well',
    given: ['r f:q=v'],
    steps: [
      filtered({strip_value_transformer: false}).fails('INVALID_ARGUMENT', /must be true if set/),
      filtered({sink: false}).fails('INVALID_ARGUMENT', /must be true if set/),
    ],
  },
  {
    id: 'D11',
    what: 'A condition without a predicate: INVALID_ARGUMENT',
    given: ['r f:q=v'],
    steps: [filtered({condition: {true_filter: PASS}}).fails('INVALID_ARGUMENT', /predicate/)],
  },
  {
    id: 'D13',
    what: 'column_range without a family is refused; an explicitly empty end is unbounded',
    decided: 'the proto wants a family; an empty open end is taken as the row ranges take it',
    given: FIVE,
    steps: [
      filtered({column_range_filter: {start_qualifier_closed: bytes('a')}})
        .fails('INVALID_ARGUMENT', /column_range_filter/),
      filtered(columns('f', {start_qualifier_closed: 'a', end_qualifier_open: 'b'})).gives(FIVE.slice(0, 2)),
      filtered(columns('f', {start_qualifier_open: 'a', end_qualifier_closed: 'b'})).gives([FIVE[2]]),
      filtered(columns('f', {start_qualifier_closed: 'a', end_qualifier_open: ''})).gives(FIVE.slice(0, 3)),
      filtered(values({start_value_closed: '3', end_value_open: ''})).gives(FIVE.slice(2)),
      filtered(values({start_value_open: '1', end_value_closed: '3'})).gives([FIVE[0], FIVE[2]]),
    ],
  },
  {
    id: 'D14',
    what: 'interleave(all, all) gives every cell twice',
    given: ['r f:a=1', 'r f:b=2'],
    steps: [filtered(interleave(PASS, PASS)).gives(['r f:a@0=1', 'r f:a@0=1', 'r f:b@0=2', 'r f:b@0=2'])],
  },
  {
    id: 'D15',
    what: 'Copies count for limits: chain(interleave(all, all), limit)',
    given: ['r f:a=1', 'r f:b=2'],
    steps: [
      filtered(chain(interleave(PASS, PASS), {cells_per_column_limit_filter: 1}))
        .gives(['r f:a@0=1', 'r f:b@0=2']),
      filtered(chain(interleave(PASS, PASS), {cells_per_row_limit_filter: 3}))
        .gives(['r f:a@0=1', 'r f:a@0=1', 'r f:b@0=2']),
      filtered(chain(interleave(PASS, PASS), {cells_per_row_offset_filter: 3})).gives(['r f:b@0=2']),
    ],
  },
  {
    id: 'D19',
    what: 'Expressions see bytes: "caf.." matches 63 61 66 c3 a9, "caf." does not',
    decided: 'Latin-1, as the proto says "\\C for any byte"; so a dot is one byte',
    given: ['r f:q=caf\\xc3\\xa9'],
    steps: [
      filtered(value('caf..')).gives(['r f:q@0=caf\\xc3\\xa9']),
      filtered(value('caf.')).gives([]),
      filtered(value('caf\\C\\C')).gives(['r f:q@0=caf\\xc3\\xa9']),
    ],
  },
  {
    id: 'D20',
    what: 'value_regex is a full match: "2" does not match 123',
    given: ['r f:q=123'],
    steps: [filtered(value('2')).gives([]), filtered(value('.2.')).gives(['r f:q@0=123'])],
  },
  {
    id: 'D21',
    what: 'pass_all or block_all that is false, chains and interleaves of less than two: INVALID_ARGUMENT',
    steps: [
      filtered({pass_all_filter: false}).fails('INVALID_ARGUMENT', /pass_all_filter must be true if set/),
      filtered({block_all_filter: false}).fails('INVALID_ARGUMENT', /block_all_filter must be true if set/),
      filtered(chain()).fails('INVALID_ARGUMENT', /Chain must contain at least two RowFilters/),
      filtered(chain(PASS)).fails('INVALID_ARGUMENT', /Chain must contain at least two RowFilters/),
      filtered(interleave()).fails('INVALID_ARGUMENT', /Interleave must contain at least two RowFilters/),
      filtered(interleave(PASS)).fails('INVALID_ARGUMENT', /Interleave must contain at least two RowFilters/),
    ],
  },
  {
    id: 'D22',
    what: 'A condition whose predicate yields nothing takes the false branch; a missing branch is empty',
    given: ['r f:a=1', 'r f:b=2'],
    steps: [
      filtered({condition: {predicate_filter: chain(qualifier('a'), value('nope')), true_filter: PASS}})
        .gives([]),
      filtered({condition: {predicate_filter: qualifier('a'), true_filter: qualifier('b')}})
        .gives(['r f:b@0=2']),
      filtered({condition: {predicate_filter: BLOCK, true_filter: PASS, false_filter: STRIP}})
        .gives(['r f:a@0=', 'r f:b@0=']),
    ],
  },
  {
    id: 'D23',
    what: 'timestamp_range bounds need not be of the granularity',
    given: ['r f:q@1000=a', 'r f:q@2000=b'],
    steps: [
      filtered(times('1001', '1999')).gives([]),
      filtered(times('999', '1001')).gives(['r f:q@1000=a']),
    ],
  },
  {
    id: 'D24',
    what: 'row_sample 0.5 keeps about half of the rows',
    decided: '0 and 1 are refused, as Google\'s emulator does',
    given: Array.from({length: 200}, (_, i) => `r${i} f:q=v`),
    steps: [
      readKeys({}, {filter: {row_sample_filter: 0.5}}).gives(function from50to150(keys) {
        return keys.length >= 50 && keys.length <= 150;
      }),
      filtered({row_sample_filter: 0}).fails('INVALID_ARGUMENT', /row_sample_filter/),
      filtered({row_sample_filter: 1}).fails('INVALID_ARGUMENT', /row_sample_filter/),
    ],
  },
  {
    id: 'D25',
    what: 'Filters of more than 20,480 bytes, or nested deeper than 20: INVALID_ARGUMENT',
    steps: [
      filtered(value('x'.repeat(21000))).fails('INVALID_ARGUMENT', /20480 bytes/),
      filtered(nested(40)).fails('INVALID_ARGUMENT', /nested/),
      filtered(nested(15)).gives([]),
    ],
  },
  {
    id: 'D26',
    what: 'Filters after strip_value see empty values',
    given: ['r f:q=2'],
    steps: [
      filtered(chain(STRIP, value('2'))).gives([]),
      filtered(chain(STRIP, value(''))).gives(['r f:q@0=']),
    ],
  },
];

function nested(depth) {
  return depth === 0 ? PASS : chain(PASS, nested(depth - 1));
}
