// c-reads.mjs: ReadRows, SampleRowKeys, and what stands on the wire.

import assert from 'node:assert/strict';
import {
  act, append, call, checkAndMutate, dropRows, filtered, getTable, modify, mutate, mutateRows, range,
  ranges, read, readKeys, REVERSE, sample, set,
} from '../steps.mjs';
import {bytes, text} from '../notation.mjs';

const ABCD = ['a f:q=1', 'b f:q=2', 'c f:q=3', 'd f:q=4'];
const regex = row_key_regex_filter => ({row_key_regex_filter: Buffer.from(row_key_regex_filter)});
const qualifier = pattern => ({column_qualifier_regex_filter: Buffer.from(pattern)});
const ODD_KEYS = ['\\x00', '\\x00\\x00', '\\x00\\x01', '\\x01', '\\x01\\x00', '#', '#a', '[', ']', 'a',
  'a\\x00', 'a\\x00b', 'a\\x01', 'a#', 'a#b', 'a|b', 'aa', 'a\\xff', 'b', '|', '\\xfe', '\\xff',
  '\\xff\\x00', '\\xff\\xff'];

export default [
  {
    id: 'C1',
    what: 'Reversed reads need the feature flag (padded or not); rows descend, the limit takes the last',
    given: ABCD,
    steps: [
      readKeys({}, {reversed: true}).fails('UNIMPLEMENTED', /Client doesn't support reverse scans yet/),
      readKeys({}, {reversed: true, rows_limit: 3}).with(REVERSE).gives(['d', 'c', 'b']),
      readKeys({}, {reversed: true}).with({'bigtable-features': 'CAE'}).gives(['d', 'c', 'b', 'a']),
      readKeys({row_keys: [bytes('a')], ...ranges({start_key_open: 'a', end_key_closed: 'd'})},
        {reversed: true}).with(REVERSE).gives(['d', 'c', 'b', 'a']),
      mutate('d', [set('f:a@1000=1'), set('f:a@2000=2')]).succeeds(),
      read('d', {reversed: true}).with(REVERSE)
        .gives(['d f:a@2000=2', 'd f:a@1000=1', 'd f:q@0=4']),
    ],
  },
  {
    id: 'C3',
    what: 'A range that ends before it starts: INVALID_ARGUMENT in production\'s words',
    given: ABCD,
    steps: [
      read(ranges({start_key_closed: 'c', end_key_open: 'a'}))
        .fails('INVALID_ARGUMENT', /start_key must be less than end_key/),
      read(ranges({start_key_closed: 'c', end_key_open: 'c'})).fails('INVALID_ARGUMENT'),
      read(ranges({start_key_open: 'c', end_key_closed: 'c'})).fails('INVALID_ARGUMENT'),
      readKeys(ranges({start_key_closed: 'c', end_key_closed: 'c'})).gives(['c']),
    ],
  },
  {
    id: 'C4',
    what: 'The range [b, b] gives b and nothing else while its neighbours are written',
    given: ABCD,
    steps: [
      act('40 reads among writes', async (target, table) => {
        const seen = new Set();
        for (let i = 0; i < 40; i++) {
          const [{value}] = await Promise.all([
            readKeys(ranges({start_key_closed: 'b', end_key_closed: 'b'})).run(target, table),
            mutate(`a${i}`, set('f:q=v')).run(target, table),
            mutate(`b${i}`, set('f:q=v')).run(target, table),
          ]);
          seen.add(value.join());
        }
        return [...seen];
      }).gives(['b']),
    ],
  },
  {
    id: 'C5',
    what: 'An empty row set, or one range with nothing set, is the whole table',
    given: ABCD,
    steps: [
      readKeys({}).gives(['a', 'b', 'c', 'd']),
      readKeys({row_ranges: [{}]}).gives(['a', 'b', 'c', 'd']),
      call('ReadRows', {}, 'data').picking(({messages}) => messages.flatMap(m => m.chunks).length).gives(4),
    ],
  },
  {
    id: 'C6',
    what: 'Keys and ranges of one request are a union: every row once, in order; a negative limit is refused',
    decided: 'the answer to a negative limit is not published',
    given: ABCD,
    steps: [
      readKeys({
        row_keys: ['d', 'b', 'b', 'nosuch'].map(bytes),
        ...ranges({start_key_closed: 'a', end_key_open: 'c'}, {start_key_open: 'a', end_key_closed: 'b'}),
      }).gives(['a', 'b', 'd']),
      readKeys(ranges({start_key_open: 'b'}), {rows_limit: 1}).gives(['c']),
      readKeys({}, {rows_limit: -1}).fails('INVALID_ARGUMENT', /rows_limit/),
    ],
  },
  {
    id: 'C7',
    what: 'Bounds that are set and empty: an end is unbounded, open or closed; a start is the beginning',
    decided: 'unverified in production; "" as an end can\'t be meant as a key, because no key is empty',
    given: ABCD,
    steps: [
      readKeys(ranges({start_key_closed: 'c', end_key_open: ''})).gives(['c', 'd']),
      readKeys(ranges({start_key_closed: 'c', end_key_closed: ''})).gives(['c', 'd']),
      readKeys(ranges({start_key_open: ''})).gives(['a', 'b', 'c', 'd']),
      readKeys(ranges({start_key_closed: '', end_key_open: 'b'})).gives(['a']),
    ],
  },
  {
    id: 'C8',
    what: 'An empty row key in a read: INVALID_ARGUMENT',
    decided: 'as in a write',
    steps: [read({row_keys: [bytes('')]}).fails('INVALID_ARGUMENT', /Row keys must be non-empty/)],
  },
  {
    id: 'C9',
    what: 'Rows in unsigned byte order, whatever bytes their keys have',
    table: {column_families: {f: {}}},
    steps: [
      mutateRows([...ODD_KEYS].reverse().map(key => [key, set('f:q=v')])).succeeds(),
      readKeys().gives(sortedBytes(ODD_KEYS)),
      readKeys({}, {reversed: true}).with(REVERSE).gives(sortedBytes(ODD_KEYS).reverse()),
      ...['a', 'a\\x00', '\\xff', '\\x00'].map(key =>
        readKeys(ranges({start_key_closed: key})).gives(sortedBytes(ODD_KEYS).filter(k =>
          Buffer.compare(bytes(k), bytes(key)) >= 0))),
    ],
  },
  {
    id: 'C10',
    what: 'Deleted rows and rows that a filter empties do not count for the limit',
    given: ['r1 f:q=1', 'r2 f:q=1', 'r3 f:q=1', 'r4 f:x=1', 'r5 f:q=1'],
    steps: [
      mutate('r1', {delete_from_row: {}}).succeeds(),
      readKeys(ranges({start_key_closed: 'r'}), {rows_limit: 2}).gives(['r2', 'r3']),
      readKeys(ranges({start_key_closed: 'r3'}), {rows_limit: 2, filter: qualifier('q')}).gives(['r3', 'r5']),
    ],
  },
  {
    id: 'C13',
    what: 'A chunk leaves out what equals the chunk before: key, family, qualifier',
    given: ['r f:a@2000=1', 'r f:a@1000=2', 'r f:b@1000=3', 'r g:b@1000=4', 's g:b@1000=5'],
    steps: [
      read().picking(({messages}) => messages.flatMap(m => m.chunks).map(printChunk)).gives([
        'r f a 2000 1', '- - - 1000 2', '- - b 1000 3', '- g b 1000 4 commit', 's g b 1000 5 commit',
      ]),
    ],
  },
  {
    id: 'C14',
    what: 'A cell of 5 MB is split into messages of less than 4 MiB; its parts say the total size, the last one 0',
    steps: [
      mutate('r', {set_cell: {family_name: 'f', column_qualifier: bytes('q'), value: Buffer.alloc(5e6, 'x')}})
        .succeeds(),
      read('r').picking(({messages}) => {
        const chunks = messages.flatMap(m => m.chunks);
        assert.ok(messages.every(m => m.chunks.reduce((n, c) => n + c.value.length, 0) < 4 << 20),
          'a message is larger than clients take by default');
        const sizes = new Set(chunks.slice(0, -1).map(c => c.value_size));
        assert.deepEqual([[...sizes], chunks.at(-1).value_size], [[5000000], 0]);
        return Buffer.concat(chunks.map(c => c.value)).length;
      }).gives(5e6),
    ],
  },
  {
    id: 'C15',
    what: 'A slow reader gets every row: 5,000 rows with pauses',
    steps: [
      act('10 x MutateRows', async (target, table) => {
        for (let i = 0; i < 10; i++)
          await mutateRows(Array.from({length: 500}, (_, k) =>
            [`r${String(i * 500 + k).padStart(5, '0')}`, set('f:q=0123456789')])).run(target, table);
      }).succeeds(),
      act('ReadRows, paused every 500 rows', slowRead).gives(5000),
    ],
  },
  {
    id: 'C16',
    what: 'Every answer says which cluster and zone served it (x-goog-ext-425905942-bin)',
    instance: true,
    given: ['r f:q=v'],
    steps: [
      ...[read('r'), mutate('r', set('f:q=w')), sample()].map(step => step
        .picking(({metadata}) => text(metadata.get('x-goog-ext-425905942-bin')[0]))
        .gives('\\x0a\\x0dus-central1-b\\x12\\x06lab-c1')),
      read('r').picking(({metadata}) => /^gfet4t7; dur=\d+$/.test(metadata.get('server-timing')[0]))
        .gives(true),
    ],
  },
  {
    id: 'C17',
    what: 'A family filter that is the plain name of no family of the table: NOT_FOUND',
    given: ['r f:q=v'],
    steps: [
      filtered({family_name_regex_filter: 'nosuchfam'})
        .fails('NOT_FOUND', /Requested column family not found/),
      filtered({family_name_regex_filter: 'nosuch.*'}).gives([]),
      read({}, {filter: {column_range_filter: {family_name: 'nosuchfam'}}}).fails('NOT_FOUND'),
    ],
  },
  {
    id: 'C18',
    what: 'Reads through views: UNIMPLEMENTED with a reason',
    later: 'views are not offered yet',
    given: ['r f:q=v'],
    steps: [
      read('r', {authorized_view_name: 'v'}).fails('UNIMPLEMENTED', /authorized views/),
      read('r', {materialized_view_name: 'v'}).fails('UNIMPLEMENTED', /materialized views/),
      mutate('r', set('f:q=w'), {authorized_view_name: 'v'}).fails('UNIMPLEMENTED', /authorized views/),
      read('r').gives(['r f:q@0=v']),
    ],
  },
  {
    id: 'C20',
    what: 'SampleRowKeys of a small table: ascending keys, offsets that grow, the empty key last',
    given: ABCD,
    steps: [
      sample().gives(function ascendingAndEmptyAtTheEnd(keys) {
        return keys.at(-1) === '' && keys.slice(1, -1).every((key, i) => key > keys[i]);
      }),
      sample().picking(({messages}) => {
        const offsets = messages.map(m => Number(m.offset_bytes));
        return offsets.every((offset, i) => offset > 0 && (i === 0 || offset >= offsets[i - 1]));
      }).gives(true),
    ],
  },
  {
    id: 'C21',
    what: 'SampleRowKeys, GetTable and DropRowRange among writes: every call is answered',
    steps: [
      act('a second of calls', async (target, table) => {
        const codes = new Set();
        const end = Date.now() + 1000;
        const loop = async make => {
          for (let i = 0; Date.now() < end; i++) codes.add((await make(i).run(target, table)).code);
        };
        await Promise.all([
          loop(i => mutate(`r${i}`, set('f:q=v'))), loop(i => mutate(`s${i}`, set('g:q=v'))),
          loop(() => sample()), loop(() => getTable('FULL', () => 0)),
          loop(() => dropRows({row_key_prefix: bytes('s')})), loop(() => readKeys()),
        ]);
        return [...codes];
      }).gives(['OK']),
    ],
  },
  {
    id: 'C22',
    what: 'The cells in the answer of ReadModifyWriteRow stand in the order of ReadRows',
    steps: [
      modify('r', [append('g:b', '1'), append('f:z', '2'), append('f:a', '3')])
        .gives(['r f:a@now=3', 'r f:z@now=2', 'r g:b@now=1']),
    ],
  },
  {
    id: 'C23',
    what: 'Four columns over two families are all there',
    repeat: 3,
    steps: [
      mutate('r', [set('g:d=4'), set('f:a=1'), set('g:c=3'), set('f:b=2')]).succeeds(),
      read('r').gives(['r f:a@0=1', 'r f:b@0=2', 'r g:c@0=3', 'r g:d@0=4']),
    ],
  },
  {
    id: 'C25',
    what: 'row_key_regex is a full match over the whole table',
    given: ['row1 f:q=1', 'row2 f:q=2', 'row3 f:q=3'],
    steps: [readKeys({}, {filter: regex('.+3')}).gives(['row3']), readKeys({}, {filter: regex('3')}).gives([])],
  },
  {
    id: 'C26',
    what: 'last_scanned_row_key comes only to clients that announce it, and not for every row',
    steps: [
      act('8 x MutateRows', async (target, table) => {
        const cell = set(`f:q=${'v'.repeat(200)}`);
        for (let i = 0; i < 8; i++)
          await mutateRows(Array.from({length: 1000}, (_, k) => [`r${i * 1000 + k}`, cell]))
            .run(target, table);
      }).succeeds(),
      filtered(qualifier('none')).picking(markers).gives(0),
      filtered(qualifier('none')).with({'bigtable-features': 'IAE='}).picking(markers)
        .gives(function between1And100(count) {
          return count >= 1 && count <= 100;
        }),
    ],
  },
  {
    id: 'C27',
    what: 'A row whose two families are rewritten together is never read half',
    steps: [
      act('3 readers, 1 writer, 300 rewrites', async (target, table) => {
        let torn = 0;
        let writing = true;
        const reader = async () => {
          while (writing) {
            const {value} = await read('r').run(target, table);
            if (value.length > 0 && value[0].split('=')[1] !== value[1].split('=')[1]) torn++;
          }
        };
        const readers = [reader(), reader(), reader()];
        for (let i = 0; i < 300; i++)
          await mutate('r', [set(`f:a=${i}`), set(`g:b=${i}`)]).run(target, table);
        writing = false;
        await Promise.all(readers);
        return torn;
      }).gives(0),
    ],
  },
  {
    id: 'C30',
    what: 'request_stats FULL: in the last message, also when nothing is read',
    given: ABCD,
    steps: [
      read({}, {request_stats_view: 'REQUEST_STATS_FULL'}).picking(rowsReturned).gives('4'),
      read('nosuch', {request_stats_view: 'REQUEST_STATS_FULL'}).picking(rowsReturned).gives('0'),
      read().picking(({messages}) => messages.filter(m => m.request_stats).length).gives(0),
    ],
  },
  {
    id: 'C31',
    what: 'Unknown table: NOT_FOUND on every data call',
    steps: [
      ...['ReadRows', 'SampleRowKeys'].map(method => elsewhere(method, {})),
      elsewhere('MutateRows', {entries: [{row_key: bytes('r'), mutations: [set('f:q=v')]}]}),
      elsewhere('CheckAndMutateRow', {row_key: bytes('r'), true_mutations: [set('f:q=v')]}),
      elsewhere('ReadModifyWriteRow', {row_key: bytes('r'), rules: [append('f:q', 'v')]}),
      checkAndMutate('r', {true_mutations: [set('f:q=v')]}).gives(false),
    ],
  },
];

function elsewhere(method, request) {
  return call(method, target => ({
    table_name: target.tableName('nosuch'), app_profile_id: target.profile, ...request,
  })).fails('NOT_FOUND', /nosuch/);
}

function sortedBytes(keys) {
  return [...keys].sort((a, b) => Buffer.compare(bytes(a), bytes(b)));
}

function printChunk(chunk) {
  const parts = [
    chunk.row_key.length > 0 ? text(chunk.row_key) : '-',
    chunk.family_name?.value ?? '-',
    chunk.qualifier ? text(chunk.qualifier.value) : '-',
    chunk.timestamp_micros,
    text(chunk.value),
  ];
  return parts.join(' ') + (chunk.commit_row ? ' commit' : '');
}

function markers({messages}) {
  return messages.filter(m => m.last_scanned_row_key.length > 0).length;
}

function rowsReturned({messages}) {
  const stats = messages.at(-1).request_stats;
  return stats?.full_read_stats_view.read_iteration_stats.rows_returned_count;
}

function slowRead(target, table) {
  return new Promise((done, fail) => {
    const stream = target.api.stream('ReadRows', {
      table_name: target.tableName(table), app_profile_id: target.profile,
    });
    let rows = 0;
    stream.on('data', ({chunks}) => {
      const before = Math.floor(rows / 500);
      rows += chunks.filter(c => c.commit_row).length;
      if (Math.floor(rows / 500) === before) return;
      stream.pause();
      setTimeout(() => stream.resume(), 30);
    });
    stream.on('error', fail);
    stream.on('end', () => done(rows));
  });
}
