// a-admin.mjs: tables, families, row ranges, consistency tokens, app profiles, health.

import assert from 'node:assert/strict';
import {METHODS, unpack} from '../api.mjs';
import {
  act, append, call, checkAndMutate, createTable, dropRows, getTable, modify, modifyFamilies, mutate,
  read, readKeys, sample, set,
} from '../steps.mjs';
import {bytes} from '../notation.mjs';
import {eventually} from '../../support/instance.mjs';

const DAY = 86400;
const NO_TRANSACTIONS = /Single-row transactions are not allowed by this app profile/;
const MICROS = 2; // has no name in the public proto of this version

const profileId = table => `ap-${table}`;
const profileName = (target, table) => `${target.instanceName}/appProfiles/${profileId(table)}`;
const createProfile = (routing, ignore_warnings = false) => call('CreateAppProfile', (target, table) => ({
  parent: target.instanceName, app_profile_id: profileId(table), app_profile: routing, ignore_warnings,
}));
const getProfile = () => call('GetAppProfile', (target, table) => ({name: profileName(target, table)}));
const deleteProfile = ignore_warnings => call('DeleteAppProfile', (target, table) =>
  ({name: profileName(target, table), ignore_warnings}));
const updateProfile = (change, paths) => call('UpdateAppProfile', (target, table) => ({
  app_profile: {name: profileName(target, table), ...change}, update_mask: {paths}, ignore_warnings: true,
}));
const through = (step, id) => Object.assign(step, {
  request: withField(step.request, (target, table) =>
    ({app_profile_id: typeof id === 'function' ? id(table) : id})),
});
const withField = (request, extra) => (target, table) => ({
  ...(typeof request === 'function' ? request(target, table) : request), ...extra(target, table),
});
const otherTable = (id, rest = {}) => call('CreateTable', {table_id: id, table: {}, ...rest}, 'parent');
const seconds = value => ({seconds: String(value)});
const family = gc_rule => ({create: {gc_rule}});

/** What nothing of Atoll serves yet; it must say so by the method's name. */
const UNSERVED = /(Logical|Materialized|Authorized)View|SchemaBundle|Snapshot|Query|ChangeStream/;
/** What the router does for all instances: by target, what that refuses by its name. */
const REFUSED = {direct: /^(Create|Delete)(Instance|Cluster)$/, emulator: /^(Create|Delete)Cluster$/};
/** Newer than the protos of this version, but clients may ask for them. */
const NEWER = ['GetClientConfiguration', 'OpenTable', 'OpenAuthorizedView', 'OpenMaterializedView'];

export default [
  {
    id: 'A1',
    what: 'CreateInstance of two clusters is an operation that completes; the instance is READY and is listed',
    routed: true,
    table: null,
    steps: [
      made('CreateInstance', (target, table) => ({
        parent: target.projectName, instance_id: table, instance: {display_name: 'Second'}, clusters: {
          c1: {location: `${target.projectName}/locations/us-east1-b`, serve_nodes: 1},
          c2: {location: `${target.projectName}/locations/us-west1-a`, serve_nodes: 1},
        },
      }), instance => instance.state).gives('READY'),
      call('GetInstance', newInstance).picking(({messages: [{display_name, state}]}) => [display_name, state])
        .gives(['Second', 'READY']),
      call('ListInstances', target => ({parent: target.projectName}))
        .picking(({messages: [{instances}]}, target, table) => instances.map(idOf).includes(table)).gives(true),
      call('ListClusters', clustersOf)
        .picking(({messages: [{clusters}]}) => clusters.map(c => [idOf(c), c.state, idOf({name: c.location})]))
        .gives([['c1', 'READY', 'us-east1-b'], ['c2', 'READY', 'us-west1-a']]),
      call('CreateInstance', (target, table) => ({
        parent: target.projectName, instance_id: table, instance: {display_name: 'Again'},
        clusters: {c1: {location: `${target.projectName}/locations/us-east1-b`, serve_nodes: 1}},
      })).fails('ALREADY_EXISTS', /already exists/),
      call('CreateTable', (target, table) => ({...clustersOf(target, table), table_id: 't', table: {}})).succeeds(),
      call('GetInstance', newInstance).picking(({messages: [{create_time}]}) => Number(create_time.seconds) > 0)
        .gives(true),
      call('CreateInstance', (target, table) => ({
        parent: target.projectName, instance_id: `${table}-b`, instance: {display_name: 'Scaled'}, clusters: {
          c1: {location: `${target.projectName}/locations/us-east1-b`, cluster_config: {cluster_autoscaling_config: {
            autoscaling_limits: {min_serve_nodes: 3, max_serve_nodes: 2},
            autoscaling_targets: {cpu_utilization_percent: 50}}}},
        },
      })).fails('INVALID_ARGUMENT', /autoscaling_limits/),
      call('CreateInstance', (target, table) => ({
        parent: target.projectName, instance_id: `${table}-b`, instance: {display_name: 'L', labels: {'A b': 'c'}},
        clusters: {c1: {location: `${target.projectName}/locations/us-east1-b`, serve_nodes: 1}},
      })).fails('INVALID_ARGUMENT', /labels/),
      call('DeleteInstance', newInstance).succeeds(),
      call('GetInstance', newInstance).fails('NOT_FOUND'),
    ],
  },
  {
    id: 'A1c',
    what: 'CreateCluster: READY when its operation is done; refused in the zone of another one; then it goes',
    routed: true,
    instance: true,
    given: ['r f:q=v'],
    steps: [
      call('CreateCluster', newCluster('us-east1-c'), 'parent')
        .fails('FAILED_PRECONDITION', /Cannot create multiple clusters in the same zone/),
      call('CreateCluster', {cluster_id: 'Bad', cluster: {location: 'projects/atoll/locations/asia-east1-a'}},
        'parent').fails('INVALID_ARGUMENT', /cluster id/),
      made('CreateCluster', (target, table) =>
        ({parent: target.instanceName, ...newCluster('asia-east1-a')(target, table)}),
      cluster => [cluster.state, cluster.serve_nodes]).gives(['READY', 1]),
      call('CreateCluster', newCluster('asia-east1-b'), 'parent').fails('ALREADY_EXISTS'),
      createProfile({single_cluster_routing: {cluster_id: 'lab-c4'}}).succeeds(),
      through(read(), profileId).gives(['r f:q@0=v']),
      call('DeleteCluster', target => ({name: `${target.instanceName}/clusters/lab-c4`}))
        .fails('FAILED_PRECONDITION', /profile/),
      deleteProfile(true).succeeds(),
      call('DeleteCluster', target => ({name: `${target.instanceName}/clusters/lab-c4`})).succeeds(),
      call('ListClusters', {}, 'parent').picking(({messages: [{clusters}]}) => clusters.map(idOf))
        .gives(['lab-c1', 'lab-c2', 'lab-c3']),
    ],
  },
  {
    id: 'A2',
    what: 'App profiles: create, get, list, update with mask and etag, delete',
    steps: [
      createProfile({description: 'd', multi_cluster_routing_use_any: {}}).succeeds(),
      createProfile({multi_cluster_routing_use_any: {}}).fails('ALREADY_EXISTS'),
      getProfile().picking(({messages: [p]}) => [p.description, p.routing_policy, p.standard_isolation.priority])
        .gives(['d', 'multi_cluster_routing_use_any', 'PRIORITY_HIGH']),
      call('ListAppProfiles', {}, 'parent').picking(({messages: [{app_profiles}]}, target, table) => {
        const ids = app_profiles.map(p => p.name.split('/').pop());
        return ids.includes('default') && ids.includes(profileId(table));
      }).gives(true),
      updateProfile({description: 'e'}, ['description'])
        .picking(({messages: [{done, result}]}) => [done, result]).gives([true, 'response']),
      getProfile().picking(({messages: [p]}) => [p.description, p.routing_policy])
        .gives(['e', 'multi_cluster_routing_use_any']),
      updateProfile({etag: 'stale', description: 'f'}, ['description']).fails('ABORTED'),
      updateProfile({}, ['nosuch_field']).fails('INVALID_ARGUMENT', /update_mask/),
      deleteProfile(false).fails('FAILED_PRECONDITION',
        /Deleting an app profile will cause all requests using it to fail\./),
      deleteProfile(true).succeeds(),
      getProfile().fails('NOT_FOUND'),
      createProfile({}).fails('INVALID_ARGUMENT', /routing_policy/),
      createProfile({single_cluster_routing: {cluster_id: 'nosuch'}}).fails('NOT_FOUND', /nosuch/),
    ],
  },
  {
    id: 'A2m',
    what: 'Masks of app profiles: sub-fields change in place, the other branch takes over, none replaces all',
    instance: true,
    steps: [
      createProfile({description: 'd', single_cluster_routing: {cluster_id: 'lab-c1', allow_transactional_writes: true},
        priority: 'PRIORITY_LOW'}).succeeds(),
      getProfile().picking(routingOf).gives(['d', 'lab-c1', true, undefined, 'PRIORITY_LOW']),
      updateProfile({single_cluster_routing: {cluster_id: 'lab-c2'}}, ['single_cluster_routing.cluster_id']).succeeds(),
      getProfile().picking(routingOf).gives(['d', 'lab-c2', true, undefined, 'PRIORITY_LOW']),
      updateProfile({single_cluster_routing: {cluster_id: 'lab-c3'}}, ['singleClusterRouting.clusterId']).succeeds(),
      getProfile().picking(routingOf).gives(['d', 'lab-c3', true, undefined, 'PRIORITY_LOW']),
      updateProfile({standard_isolation: {priority: 'PRIORITY_MEDIUM'}}, ['standardIsolation.priority']).succeeds(),
      updateProfile({multi_cluster_routing_use_any: {cluster_ids: ['lab-c2', 'lab-c1']}},
        ['multiClusterRoutingUseAny.clusterIds']).succeeds(),
      getProfile().picking(routingOf).gives(['d', undefined, undefined, 'lab-c1 lab-c2', 'PRIORITY_MEDIUM']),
      updateProfile({multi_cluster_routing_use_any: {cluster_ids: ['nosuch']}},
        ['multi_cluster_routing_use_any.cluster_ids']).fails('NOT_FOUND', /nosuch/),
      updateProfile({multi_cluster_routing_use_any: {}}, []).succeeds(),
      getProfile().picking(routingOf).gives(['', undefined, undefined, '', 'PRIORITY_HIGH']),
      updateProfile({single_cluster_routing: {cluster_id: 'lab-c1'},
        data_boost_isolation_read_only: {compute_billing_owner: 'HOST_PAYS'}},
      ['single_cluster_routing', 'data_boost_isolation_read_only']).succeeds(),
      getProfile().picking(({messages: [p]}) => [p.isolation, p.data_boost_isolation_read_only.compute_billing_owner])
        .gives(['data_boost_isolation_read_only', 'HOST_PAYS']),
      act('the etag that is current', async (target, table) => {
        const {value: etag} = await getProfile().picking(({messages: [p]}) => p.etag).run(target, table);
        const step = updateProfile({etag, description: 'new'}, ['description']);
        return [etag.length > 0, (await step.run(target, table)).code, (await step.run(target, table)).code];
      }).gives([true, 'OK', 'ABORTED']),
      deleteProfile(true).succeeds(),
    ],
  },
  {
    id: 'A2w',
    what: 'Transactions to two clusters: a warning with its PreconditionFailure, until ignore_warnings is set',
    instance: true,
    steps: [
      createProfile({single_cluster_routing: {cluster_id: 'lab-c2', allow_transactional_writes: true}})
        .fails('FAILED_PRECONDITION', /unsafe/),
      act('the violation', async (target, table) => {
        const {metadata} = await target.api.call('CreateAppProfile', {
          parent: target.instanceName, app_profile_id: profileId(table),
          app_profile: {single_cluster_routing: {cluster_id: 'lab-c2', allow_transactional_writes: true}},
        });
        const [details] = metadata.get('grpc-status-details-bin');
        return [/PreconditionFailure/, /CLOUD_BIGTABLE_APP_PROFILE_WARNING/].map(p => p.test(String(details)));
      }).gives([true, true]),
      getProfile().fails('NOT_FOUND'),
      createProfile({single_cluster_routing: {cluster_id: 'lab-c2', allow_transactional_writes: true}}, true).succeeds(),
      deleteProfile(true).succeeds(),
    ],
  },
  {
    id: 'A3',
    what: 'Data calls through a profile that does not exist: NOT_FOUND, nothing is read or written',
    given: ['r f:q=v'],
    steps: [
      through(read(), 'nosuch').fails('NOT_FOUND', /[Pp]rofile.*nosuch/),
      through(mutate('s', set('f:q=v')), 'nosuch').fails('NOT_FOUND', /[Pp]rofile.*nosuch/),
      readKeys().gives(['r']),
    ],
  },
  {
    id: 'A4',
    what: 'ReadModifyWriteRow and CheckAndMutateRow are refused through profiles that do not allow transactions',
    instance: true,
    given: ['r f:q=v'],
    steps: [
      createProfile({single_cluster_routing: {cluster_id: 'lab-c1'}}).succeeds(),
      ...['multi', '', profileId].flatMap(id => [
        through(modify('r', append('f:q', 'x')), id).fails('FAILED_PRECONDITION', NO_TRANSACTIONS),
        through(checkAndMutate('r', {true_mutations: [set('f:q=w')]}), id)
          .fails('FAILED_PRECONDITION', NO_TRANSACTIONS),
      ]),
      read('r').gives(['r f:q@0=v']),
      updateProfile({single_cluster_routing: {cluster_id: 'lab-c1', allow_transactional_writes: true}},
        ['single_cluster_routing']).succeeds(),
      through(modify('r', append('f:q', 'x')), profileId).gives(['r f:q@now=vx']),
      deleteProfile(true).succeeds(),
    ],
  },
  {
    id: 'A5',
    what: 'CheckConsistency is false while a cluster lacks a write that the token covers; bad tokens are refused',
    instance: true,
    steps: [
      act('token with a cluster down', async (target, table) => {
        await target.instance.kill('lab-c2');
        try {
          assert.equal((await mutate('r', set('f:q=v')).run(target, table)).code, 'OK');
          const token = await newToken(target, table);
          const down = await isConsistent(target, table, token);
          await target.instance.startCluster('lab-c2');
          await eventually('all clusters have what the token covers',
            () => isConsistent(target, table, token));
          return down;
        } finally {
          await target.instance.startCluster('lab-c2').catch(() => {}); // it may run by now
        }
      }).gives(false),
    ],
  },
  {
    id: 'A5t',
    what: 'A made-up token and the token of another table: INVALID_ARGUMENT; unknown table: NOT_FOUND',
    steps: [
      call('CheckConsistency', {consistency_token: 'made-up'}, 'table').fails('INVALID_ARGUMENT', /not valid/),
      act('token of another table', async (target, table) => {
        await otherTable(`${table}-b`).run(target, table);
        const token = await newToken(target, `${table}-b`);
        const step = call('CheckConsistency', {consistency_token: token}, 'table');
        return (await step.run(target, table)).code;
      }).gives('INVALID_ARGUMENT'),
      call('GenerateConsistencyToken', target => ({name: target.tableName('nosuch')})).fails('NOT_FOUND'),
    ],
  },
  {
    id: 'A6',
    what: 'Every method of the public protos with an empty request: an answer each, and the data is still there',
    given: ['r f:q=v'],
    steps: [
      act('every method', async target => {
        const wrong = [];
        for (const method of [...METHODS, ...NEWER.map(newer)]) {
          const {code, message} = await target.api.call(method, {});
          const served = !UNSERVED.test(method.name) && !NEWER.includes(method.name) &&
            !method.path.startsWith('/google.iam.') && !REFUSED[target.name]?.test(method.name);
          const right = served
            ? !['UNIMPLEMENTED', 'UNKNOWN', 'INTERNAL', 'UNAVAILABLE'].includes(code)
            : code === 'UNIMPLEMENTED' && message.includes(method.name);
          if (!right) wrong.push(`${method.path}: ${code} ${message}`);
        }
        return wrong;
      }).gives([]),
      read('r').gives(['r f:q@0=v']),
    ],
  },
  {
    id: 'A8',
    what: 'UpdateTable keeps deletion protection and the change stream configuration; GetTable shows them',
    steps: [
      updateTable({deletion_protection: true, change_stream_config: {retention_period: seconds(DAY)}},
        ['deletion_protection', 'change_stream_config.retention_period']).succeeds(),
      getTable('FULL', t => [t.deletion_protection, t.change_stream_config?.retention_period.seconds])
        .gives([true, String(DAY)]),
      call('DeleteTable', {}, 'table').fails('FAILED_PRECONDITION', /protected/),
      updateTable({deletion_protection: false}, ['deletion_protection', 'change_stream_config']).succeeds(),
      call('DeleteTable', {}, 'table').succeeds(),
      updateTable({}, ['deletion_protection']).fails('NOT_FOUND'),
    ],
  },
  {
    id: 'A9',
    what: 'A table of microsecond granularity keeps it and takes timestamp 1001',
    table: null,
    steps: [
      createTable({f: {}}, {table: {granularity: MICROS}}).succeeds(),
      getTable('FULL', t => t.granularity).gives(MICROS),
      mutate('r', set('f:q@1001=v')).succeeds(),
      read('r').gives(['r f:q@1001=v']),
    ],
  },
  {
    id: 'A10',
    what: 'GetTable views: NAME_ONLY only the name, REPLICATION_VIEW the clusters, FULL both',
    instance: true,
    steps: [
      getTable('NAME_ONLY', viewed).gives([0, 0]),
      getTable('SCHEMA_VIEW', viewed).gives([2, 0]),
      getTable('REPLICATION_VIEW', viewed).gives([0, 3]),
      getTable('FULL', viewed).gives([2, 3]),
      getTable('FULL', t => [...new Set(Object.values(t.cluster_states).map(s => s.replication_state))])
        .gives(['READY']),
      getTable('FULL', t => t.granularity).gives('MILLIS'),
      getTable(undefined, viewed).gives([2, 0]),
      call('GetTable', target => ({name: target.tableName('nosuch')})).fails('NOT_FOUND', /nosuch/),
    ],
  },
  {
    id: 'A12',
    what: 'Names that production does not allow: INVALID_ARGUMENT; an unknown instance: NOT_FOUND',
    steps: [
      otherTable('').fails('INVALID_ARGUMENT'),
      otherTable('a b/c').fails('INVALID_ARGUMENT', /Table id/),
      otherTable('-a').fails('INVALID_ARGUMENT', /Table id/),
      otherTable('x'.repeat(60)).fails('INVALID_ARGUMENT', /Table id/),
      otherTable('ok', {table: {column_families: {'a b:c': {}}}}).fails('INVALID_ARGUMENT', /Family name/),
      otherTable('ok', {table: {column_families: {['y'.repeat(65)]: {}}}}).fails('INVALID_ARGUMENT'),
      otherTable('ok', {parent: 'projects/atoll/instances/nosuch'}).fails('NOT_FOUND', /nosuch/),
      modifyFamilies({id: 'bad name!', create: {}}).fails('INVALID_ARGUMENT', /Family name/),
      call('ListTables', {page_token: 'garbage'}, 'parent').fails('INVALID_ARGUMENT', /page_token/),
      createTable({f: {}}).fails('ALREADY_EXISTS', /already exists/),
      getTable('FULL', t => Object.keys(t.column_families).sort()).gives(['f', 'g']),
    ],
  },
  {
    id: 'A13',
    what: 'Splits at creation are the sample keys of the empty table; the empty key ends them',
    decided: 'production\'s exact answer for an empty table is unverified',
    table: null,
    steps: [
      createTable({f: {}}, {initial_splits: [{key: bytes('m')}, {key: bytes('t')}]}).succeeds(),
      sample().gives(['m', 't', '']),
    ],
  },
  {
    id: 'A15',
    what: 'Families that are not there can\'t be changed or dropped: NOT_FOUND; all modifications or none',
    decided: 'the code of production is unverified',
    steps: [
      modifyFamilies({id: 'zz', drop: true}).fails('NOT_FOUND', /zz/),
      modifyFamilies({id: 'zz', update: {}}).fails('NOT_FOUND', /zz/),
      modifyFamilies({id: 'f', create: {}}).fails('ALREADY_EXISTS', /already exists/),
      modifyFamilies([{id: 'h', create: {}}, {id: 'zz', drop: true}]).fails('NOT_FOUND'),
      getTable('FULL', t => Object.keys(t.column_families).sort()).gives(['f', 'g']),
      modifyFamilies([{id: 'h', create: {}}, {id: 'g', drop: true}]).gives(['f', 'h']),
    ],
  },
  {
    id: 'A16',
    what: 'GC rules that keep nothing or say nothing: INVALID_ARGUMENT; right ones are shown as they were given',
    decided: 'production\'s answer is unverified',
    steps: [
      modifyFamilies({id: 'h', ...family({max_num_versions: 0})}).fails('INVALID_ARGUMENT', /max_num_versions/),
      modifyFamilies({id: 'h', ...family({max_num_versions: -1})}).fails('INVALID_ARGUMENT'),
      modifyFamilies({id: 'h', ...family({max_age: seconds(-5)})}).fails('INVALID_ARGUMENT', /max_age/),
      modifyFamilies({id: 'h', ...family({max_age: {nanos: 1000}})}).fails('INVALID_ARGUMENT', /max_age/),
      modifyFamilies({id: 'h', ...family({union: {}})}).fails('INVALID_ARGUMENT'),
      modifyFamilies({id: 'h', ...family({intersection: {rules: [
        {max_num_versions: 3}, {max_age: seconds(7 * DAY)}]}})}).gives(['f', 'g', 'h']),
      getTable('FULL', t => t.column_families.h.gc_rule.intersection.rules.map(r =>
        r.max_num_versions ?? r.max_age.seconds)).gives([3, String(7 * DAY)]),
    ],
  },
  {
    id: 'A17',
    what: 'DropRowRange: by prefix, all; an empty prefix and no target are refused or do nothing',
    given: ['a f:q=v', 'ab f:q=v', 'b f:q=v', '\\xff f:q=v', '\\xffa f:q=v'],
    steps: [
      dropRows({row_key_prefix: bytes('')}).fails('INVALID_ARGUMENT', /row_key_prefix/),
      readKeys().gives(['a', 'ab', 'b', '\\xff', '\\xffa']),
      dropRows({row_key_prefix: bytes('a')}).succeeds(),
      readKeys().gives(['b', '\\xff', '\\xffa']),
      dropRows({row_key_prefix: bytes('\\xff')}).succeeds(),
      readKeys().gives(['b']),
      dropRows({delete_all_data_from_table: true}).succeeds(),
      readKeys().gives([]),
      call('DropRowRange', target => ({name: target.tableName('nosuch'), delete_all_data_from_table: true}))
        .fails('NOT_FOUND'),
    ],
  },
  {
    id: 'A19',
    what: 'Rows written again after DropRowRange, with the same timestamps, are there',
    given: [0, 1, 2, 3, 4].map(i => `row${i} f:q=v`),
    steps: [
      dropRows({delete_all_data_from_table: true}).succeeds(),
      readKeys().gives([]),
      ...[0, 1, 2, 3, 4].map(i => mutate(`row${i}`, set('f:q=v')).succeeds()),
      readKeys().gives(['row0', 'row1', 'row2', 'row3', 'row4']),
    ],
  },
  {
    id: 'A20',
    what: 'A family or table that is dropped and made again has no old cells',
    given: ['r f:q=old', 'r g:q=kept'],
    steps: [
      modifyFamilies({id: 'f', drop: true}).gives(['g']),
      read('r').gives(['r g:q@0=kept']),
      modifyFamilies({id: 'f', create: {}}).gives(['f', 'g']),
      read('r').gives(['r g:q@0=kept']),
      call('DeleteTable', {}, 'table').succeeds(),
      read('r').fails('NOT_FOUND'),
      createTable({f: {}, g: {}}).gives(['f', 'g']),
      read('r').gives([]),
    ],
  },
  {
    id: 'A21',
    what: 'Operations have names of their own, and GetOperation knows them',
    steps: [
      act('two updates', async (target, table) => {
        const names = [];
        for (const deletion_protection of [true, false]) {
          const step = updateTable({deletion_protection}, ['deletion_protection'])
            .picking(({messages: [{name}]}) => name);
          names.push((await step.run(target, table)).value);
        }
        const {messages, code} = await target.api.call('GetOperation', {name: names[1]});
        return [names[0] !== names[1], code, messages[0]?.done];
      }).gives([true, 'OK', true]),
      call('GetOperation', {name: 'operations/nosuch'}).fails('NOT_FOUND'),
    ],
  },
  {
    id: 'A22',
    what: 'CreateTable with table.name set: INVALID_ARGUMENT; a family without a GC rule is made',
    table: null,
    steps: [
      createTable({f: {}}, {table: {name: 'x'}}).fails('INVALID_ARGUMENT', /table\.name/),
      createTable({f: {}, g: {gc_rule: {max_num_versions: 1}}}).gives(['f', 'g']),
    ],
  },
  {
    id: 'A23',
    what: 'Latency and errors are injected by method',
    later: 'knobs for that come with the console; calls are answered as usual',
    given: ['r f:q=v'],
    steps: [read().gives(['r f:q@0=v'])],
  },
  {
    id: 'A24',
    what: 'grpc.health.v1 says SERVING for the server and for each service',
    table: null,
    steps: [
      ...['', 'google.bigtable.v2.Bigtable', 'google.bigtable.admin.v2.BigtableTableAdmin'].map(service =>
        call('Check', {service}).picking(({messages}) => messages[0].status).gives('SERVING')),
      call('Check', {service: 'nosuch'}).fails('NOT_FOUND'),
    ],
  },
];

function updateTable(change, paths) {
  return call('UpdateTable', (target, table) => ({
    table: {name: target.tableName(table), ...change}, update_mask: {paths},
  }));
}

const idOf = ({name}) => name.split('/').pop();

function newInstance(target, table) {
  return {name: `${target.projectName}/instances/${table}`};
}

function clustersOf(target, table) {
  return {parent: newInstance(target, table).name};
}

function newCluster(zone) {
  return target => ({
    cluster_id: 'lab-c4', cluster: {location: `${target.projectName}/locations/${zone}`, serve_nodes: 1},
  });
}

/** A call that begins an operation, and what came of that when it is done. */
function made(method, request, pick) {
  return act(method, async (target, table) => {
    let {code, message, messages: [operation]} = await target.api.call(method, request(target, table));
    assert.equal(code, 'OK', message);
    await eventually('the operation is done', async () => {
      const {name} = operation;
      ({code, message, messages: [operation]} = await target.api.call('GetOperation', {name}));
      assert.equal(code, 'OK', message);
      return operation.done;
    });
    assert.ok(operation.response, JSON.stringify(operation.error));
    return pick(unpack(operation.response));
  });
}

function routingOf({messages: [p]}) {
  return [p.description, p.single_cluster_routing?.cluster_id, p.single_cluster_routing?.allow_transactional_writes,
    p.multi_cluster_routing_use_any?.cluster_ids.toSorted().join(' '), p.standard_isolation.priority];
}

function newer(name) {
  const path = `/google.bigtable.v2.Bigtable/${name}`;
  return {name, path, requestSerialize: () => Buffer.alloc(0), responseDeserialize: buffer => buffer};
}

function viewed(table) {
  return [Object.keys(table.column_families).length, Object.keys(table.cluster_states).length];
}

async function newToken(target, table) {
  const {messages} = await target.api.call('GenerateConsistencyToken', {name: target.tableName(table)});
  return messages[0].consistency_token;
}

async function isConsistent(target, table, consistency_token) {
  const {code, message, messages} = await target.api.call('CheckConsistency',
    {name: target.tableName(table), consistency_token});
  assert.equal(code, 'OK', message);
  return messages[0].consistent;
}
