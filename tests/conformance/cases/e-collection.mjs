// e-collection.mjs: garbage collection and durability.

import {act, createTable, modifyFamilies, mutate, mutateRows, read, readKeys, set} from '../steps.mjs';

const ONE_VERSION = {gc_rule: {max_num_versions: 1}};
const SECOND = {gc_rule: {max_age: {seconds: '1'}}};
const THREE = ['1000', '2000', '3000'].map(ts => set(`f:q@${ts}=v`));
const ALL_THREE = ['r f:q@3000=v', 'r f:q@2000=v', 'r f:q@1000=v'];

export default [
  {
    id: 'E1',
    what: 'GC rules given at creation are applied like those given later',
    later: 'rules are kept and shown; nothing is collected yet',
    table: {column_families: {f: ONE_VERSION, g: SECOND}},
    steps: [
      mutate('r', [...THREE, set('g:q@1000=old')]).succeeds(),
      read('r').gives([...ALL_THREE, 'r g:q@1000=old']),
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
    id: 'E7',
    what: 'Acknowledged writes and the schema are there after kill -9',
    instance: true,
    steps: [
      mutateRows(Array.from({length: 500}, (_, i) => [`r${i}`, set('f:q=v')])).succeeds(),
      modifyFamilies({id: 'h', create: ONE_VERSION}).gives(['f', 'g', 'h']),
      act('kill -9 of lab-c1, start', async target => {
        await target.instance.kill('lab-c1');
        await target.instance.startCluster('lab-c1');
        await serving(target);
      }).succeeds(),
      readKeys().picking(({messages}) => messages.flatMap(m => m.chunks).length).gives(500),
      mutate('r', set('h:q=v')).succeeds(),
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

/** Waits until the profile of the target is served again. */
async function serving(target) {
  const end = Date.now() + 20000;
  const request = {name: target.instanceName, app_profile_id: target.profile};
  for (;;) {
    const {code} = await target.api.call('PingAndWarm', request);
    if (code === 'OK') return;
    if (Date.now() > end) throw new Error(`not served again: ${code}`);
    await new Promise(done => setTimeout(done, 100));
  }
}
