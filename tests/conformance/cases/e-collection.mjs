// e-collection.mjs: garbage collection and durability.

import assert from 'node:assert/strict';
import {Api} from '../api.mjs';
import {
  act, createTable, getTable, modifyFamilies, mutate, mutateRows, read, readKeys, set,
} from '../steps.mjs';
import {eventually} from '../../support/instance.mjs';

const ONE_VERSION = {gc_rule: {max_num_versions: 1}};
const SECOND = {gc_rule: {max_age: {seconds: '1'}}};
const HOUR = {max_age: {seconds: '3600'}};
const THREE = ['1000', '2000', '3000'].map(ts => set(`f:q@${ts}=v`));
const ALL_THREE = ['r f:q@3000=v', 'r f:q@2000=v', 'r f:q@1000=v'];

export default [
  {
    id: 'E1',
    what: 'GC rules given at creation are applied like those given later',
    table: {column_families: {f: ONE_VERSION, g: {gc_rule: HOUR}, h: {}}},
    steps: [
      mutate('r', [...THREE, set('g:q@1000=old'), set('g:q@-1=new'), set('h:q@1000=kept')]).succeeds(),
      mutate('s', set('g:q@1000=old')).succeeds(),
      collected(),
      read().gives(['r f:q@3000=v', 'r g:q@now=new', 'r h:q@1000=kept']),
      modifyFamilies({id: 'h', update: {gc_rule: HOUR}}).succeeds(),
      collected(),
      read().gives(['r f:q@3000=v', 'r g:q@now=new']),
    ],
  },
  {
    id: 'E2',
    what: 'A union condemns what any of its rules does, an intersection what all do; also nested',
    table: {
      column_families: {
        any: {gc_rule: {union: {rules: [{max_num_versions: 2}, HOUR]}}},
        all: {gc_rule: {intersection: {rules: [{max_num_versions: 1}, HOUR]}}},
        both: {gc_rule: {union: {rules: [
          {intersection: {rules: [{max_num_versions: 1}, HOUR]}}, {max_num_versions: 3}]}}},
      },
    },
    steps: [
      act('four versions in each family: three of now, one of 1970', async (target, table) => {
        const now = Date.now();
        const cells = ['any', 'all', 'both'].flatMap(family => [
          ...[3, 2, 1].map(age => set(`${family}:q@${now - age}000=${age}`)), set(`${family}:q@1000=old`)]);
        return (await mutate('r', cells).run(target, table)).code;
      }).gives('OK'),
      collected(),
      read().gives([
        ...['1', '2', '3'].map(age => `r all:q@now=${age}`),
        ...['1', '2'].map(age => `r any:q@now=${age}`),
        ...['1', '2', '3'].map(age => `r both:q@now=${age}`),
      ]),
    ],
  },
  {
    id: 'E3',
    what: 'Cells that are eligible for collection may still be read, as in production',
    table: null,
    steps: [
      createTable({f: ONE_VERSION}).succeeds(),
      mutate('r', THREE).succeeds(),
      read('r').gives(ALL_THREE),
      read('r', {filter: {cells_per_column_limit_filter: 1}}).gives(ALL_THREE.slice(0, 1)),
    ],
  },
  {
    id: 'E4',
    what: 'Timestamps 1000 and 2000 are two cells, whatever clients truncate',
    table: {column_families: {f: {gc_rule: {max_num_versions: 3}}}},
    steps: [
      mutate('r', [set('f:q@1000=a'), set('f:q@2000=b')]).succeeds(),
      read('r').gives(['r f:q@2000=b', 'r f:q@1000=a']),
    ],
  },
  {
    id: 'E5',
    what: 'A cell that is overwritten 1,000 times under maxversions=1 is one cell after collection',
    table: {column_families: {f: ONE_VERSION}},
    steps: [
      act('10 x MutateRow of 100 versions', async (target, table) => {
        for (let i = 0; i < 10; i++)
          await mutate('r', Array.from({length: 100}, (_, k) => set(`f:q@${i * 100 + k + 1}000=${i}`)))
            .run(target, table);
      }).succeeds(),
      collected(),
      read('r').gives(['r f:q@1000000=9']),
    ],
  },
  {
    id: 'E7',
    what: 'Acknowledged writes and the schema are there after kill -9',
    instance: true,
    steps: [
      mutateRows(Array.from({length: 500}, (_, i) => [`r${i}`, set('f:q=v')])).succeeds(),
      modifyFamilies({id: 'h', create: ONE_VERSION}).gives(['f', 'g', 'h']),
      restarted(),
      readKeys().picking(({messages}) => messages.flatMap(m => m.chunks).length).gives(500),
      mutate('r', set('h:q=v')).succeeds(),
    ],
  },
  {
    id: 'E8',
    what: 'Changes of families and GC rules are there after kill -9, and are obeyed',
    instance: true,
    steps: [
      modifyFamilies({id: 'f', update: ONE_VERSION}, {ignore_warnings: true}).gives(['f', 'g']),
      modifyFamilies([{id: 'h', create: ONE_VERSION}, {id: 'g', drop: true}]).gives(['f', 'h']),
      restarted(),
      getTable('FULL', ({column_families: families}) =>
        Object.keys(families).sort().map(id => `${id} ${families[id].gc_rule?.max_num_versions}`))
        .gives(['f 1', 'h 1']),
      mutate('r', [...THREE, set('h:q@1000=old'), set('h:q@2000=new')]).succeeds(),
      mutate('r', set('g:q=v')).fails('NOT_FOUND', /Requested column family not found/),
      collected(),
      read('r').gives(['r f:q@3000=v', 'r h:q@2000=new']),
    ],
  },
  {
    id: 'E9',
    what: 'Relaxing a rule by age alone on a replicated table needs ignore_warnings',
    instance: true,
    table: {column_families: {f: SECOND}},
    steps: [
      ...[{max_age: {seconds: '10'}}, {}].map(gc_rule =>
        modifyFamilies({id: 'f', update: {gc_rule}}).fails('FAILED_PRECONDITION',
          /Cannot relax pure age-based GC for a replicated family \(f\)/)),
      modifyFamilies({id: 'f', update: {gc_rule: {max_age: {nanos: 5e8}}}}).succeeds(),
      modifyFamilies({id: 'f', update: {gc_rule: {}}}, {ignore_warnings: true}).succeeds(),
    ],
  },
];

/** Collects the garbage of the table on the clusters; gives an emulator the time to do it. */
function collected() {
  return act('garbage collection', async (target, table) => {
    if (!target.instance) return await new Promise(done => setTimeout(done, 6000));
    const {clusters} = await target.instance.status();
    for (const {grpc} of clusters) {
      const api = new Api(`127.0.0.1:${grpc}`);
      const {code, message} = await api.call('Collect', {table_name: target.tableName(table)});
      api.close();
      assert.equal(code, 'OK', message);
    }
  });
}

function restarted() {
  return act('kill -9 of lab-c1, start', async target => {
    await target.instance.kill('lab-c1');
    await target.instance.startCluster('lab-c1');
    await serving(target);
  }).succeeds();
}

/** Waits until both the target and the router serve the profile again. */
async function serving(target) {
  const router = new Api(target.instance.endpoint);
  const request = {name: target.instanceName, app_profile_id: target.profile};
  const answers = async api => (await api.call('PingAndWarm', request)).code === 'OK';
  try {
    await eventually('the cluster serves again', async () =>
      await answers(target.api) && await answers(router));
  } finally {
    router.close();
  }
}
