// s-storage.mjs: what a storage encoding may get wrong.

import assert from 'node:assert/strict';
import {act, call, deleteColumn, dropRows, getTable, mutate, read, readKeys, set} from '../steps.mjs';
import {bytes} from '../notation.mjs';

const CELLS = 20000;

export default [
  {
    id: 'S3',
    what: 'Row "a/b" with qualifier "q" and row "a" with qualifier "b/q" are two cells; newest first',
    steps: [
      mutate('a/b', set('f:q=1')).succeeds(),
      mutate('a', [set('f:b/q=2'), set('f:\\x00=3'), set('f:=4')]).succeeds(),
      mutate('a\\x00', set('f:\\x00=5')).succeeds(),
      mutate('t', [set('f:q@1000=old'), set('f:q@999000=mid'), set('f:q@1000000=new')]).succeeds(),
      read().gives(['a f:@0=4', 'a f:\\x00@0=3', 'a f:b/q@0=2', 'a\\x00 f:\\x00@0=5', 'a/b f:q@0=1',
        't f:q@1000000=new', 't f:q@999000=mid', 't f:q@1000=old']),
      mutate('a', deleteColumn('f:')).succeeds(),
      mutate('a\\x00', {delete_from_row: {}}).succeeds(),
      readKeys().gives(['a', 'a/b', 't']),
    ],
  },
  {
    id: 'S4',
    what: 'Tables whose names are prefixes of each other do not mix, nor do families',
    table: null,
    steps: [
      act('three tables with the same rows', async (target, table) => {
        const names = [table, `${table}x`, `${table}.x`];
        for (const name of names) {
          await call('CreateTable', {
            table_id: name, table: {column_families: {f: {}, ff: {}, 'f.': {}}},
          }, 'parent').run(target, name);
          await mutate('r', [set(`f:q=${names.indexOf(name)}`), set('ff:q=x')]).run(target, name);
          await mutate('rr', set('f.:q=y')).run(target, name);
        }
        await dropRows({row_key_prefix: bytes('rr')}).run(target, names[0]);
        await call('DeleteTable', {}, 'table').run(target, names[1]);
        const seen = [];
        for (const name of names) {
          const {code, value} = await read().run(target, name);
          seen.push(value?.sort().join() ?? code);
        }
        return seen;
      }).gives([
        'r f:q@0=0,r ff:q@0=x', 'NOT_FOUND', 'r f:q@0=2,r ff:q@0=x,rr f.:q@0=y',
      ]),
    ],
  },
  {
    id: 'S5',
    what: `A row of ${CELLS} cells: adding one does not cost as much as writing all`,
    steps: [
      act('the fastest of three writes of one cell, beside those to a row of few', async (target, table) => {
        const timed = async (row, mutations) => {
          const start = performance.now();
          assert.equal((await mutate(row, mutations).run(target, table)).code, 'OK');
          return performance.now() - start;
        };
        const all = await timed('wide', Array.from({length: CELLS}, (_, i) => set(`f:q${i}=v`)));
        const wide = [];
        const narrow = [];
        for (const i of [1, 2, 3]) {
          wide.push(await timed('wide', set(`f:new${i}=v`)));
          narrow.push(await timed('narrow', set(`f:new${i}=v`)));
        }
        // A busy machine or a slow disk is slow in all of them.
        return Math.min(...wide) < Math.max(50, all / 3, 3 * Math.min(...narrow));
      }).gives(true),
      read('wide').picking(({messages}) => messages.reduce((n, m) => n + m.chunks.length, 0)).gives(CELLS + 3),
      getTable('SCHEMA_VIEW', table => Object.keys(table.column_families).sort()).gives(['f', 'g']),
    ],
  },
];
