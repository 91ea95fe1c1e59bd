// `atoll emulator` in place of Google's: its command line, any project and instance as a namespace,
// the cases of the conformance tables, and discovery by reflection.

import assert from 'node:assert/strict';
import {execFile} from 'node:child_process';
import {access, mkdtemp, readdir, rm, symlink} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'node:test';
import {promisify} from 'node:util';
import grpc from '@grpc/grpc-js';
import {Bigtable} from '@google-cloud/bigtable';
import GROUPS from './cases/index.mjs';
import {runCase, Target} from './run.mjs';
import {clientFor} from '../support/client.mjs';
import {Emulator} from '../support/emulator.mjs';
import {ATOLL, Instance} from '../support/instance.mjs';
import {ask, discover} from '../support/reflection.mjs';

const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
const INVALID_ARGUMENT = 3;
const FAILED_PRECONDITION = 9;
const HAS_UNKNOWN_INSTANCE = 'A12'; // there is none here
const run = promisify(execFile);

/** Exit code and outputs of the emulator with flags that it does not start with. */
async function refused(...flags) {
  try {
    const {stdout, stderr} = await run(ATOLL, ['emulator', ...flags], {timeout: 60000});
    return {code: 0, stdout, stderr};
  } catch ({code, stdout, stderr}) {
    return {code, stdout, stderr};
  }
}

async function folder(t) {
  const dir = await mkdtemp(join(tmpdir(), 'atoll-emulator-test-'));
  t.after(() => rm(dir, {recursive: true, force: true}));
  return dir;
}

test('its command line is that of the emulator of Google', async t => {
  await t.test('wrong flags are told as Go tells them', async () => {
    for (const [flags, code, text] of [
      [['-bogus'], 2, /^flag provided but not defined: -bogus\nUsage of /],
      [['-port', 'x'], 2, /^invalid value "x" for flag -port: parse error\nUsage of /],
      [['-port'], 2, /^flag needs an argument: -port\nUsage of /],
      [['-port', '70000'], 1, /failed to start emulator: .*invalid port/],
      [['-host', '203.0.113.1', '-port', '0'], 1, /203\.0\.113\.1/],
      [['-help'], 0, /-port int\n {4}\tthe port number to bind to on the local machine \(default 9000\)/],
    ]) {
      const {code: actual, stderr} = await refused(...flags);
      assert.equal(actual, code, flags.join(' '));
      assert.match(stderr, text);
    }
  });

  for (const [name, flags, address] of [
    ['two dashes', ['--host', 'localhost', '--port', '0'], /^127\.0\.0\.1:\d+$/],
    ['equals signs', ['-host=127.0.0.1', '-port=0'], /^127\.0\.0\.1:\d+$/],
    ['every address', ['-host', '0.0.0.0', '-port', '0'], /^0\.0\.0\.0:\d+$/],
    ['-address', ['-address', '127.0.0.1:0', '-port', '9000'], /^127\.0\.0\.1:\d+$/],
  ]) {
    await t.test(name, async () => {
      const emulator = await Emulator.start({flags});
      assert.match(emulator.address, address);
      assert.equal(await emulator.stop('SIGINT'), 0);
    });
  }

  await t.test('by a link of its name, and its temporary store goes', async t => {
    const dir = await folder(t);
    await symlink(ATOLL, join(dir, 'cbtemulator'));
    const emulator = await Emulator.start(
      {program: join(dir, 'cbtemulator'), command: [], env: {TMPDIR: dir}});
    assert.equal((await readdir(dir)).length, 2, 'the link and the store');
    assert.equal(await emulator.stop(), 0);
    assert.deepEqual(await readdir(dir), ['cbtemulator']);
  });

  await t.test('with -dir data is there after a restart', async t => {
    const dir = join(await folder(t), 'store');
    for (const round of [1, 2]) {
      const emulator = await Emulator.start({flags: ['-port', '0', '-dir', dir]});
      const table = clientFor(emulator.endpoint, 'p').instance('i').table('t');
      if (round === 1) {
        await table.create({families: ['f']});
        await table.insert({key: 'r', data: {f: {q: 'v'}}});
      }
      const [row] = await table.row('r').get();
      assert.equal(row.data.f.q[0].value, 'v');
      assert.equal(await emulator.stop(), 0);
      await access(dir);
    }
  });
});

test('every instance is a namespace', async t => {
  const emulator = await Emulator.start();
  t.after(() => emulator.stop());
  const at = (project, id) => clientFor(emulator.endpoint, project).instance(id);
  const places = [['p1', 'i1'], ['p1', 'i2'], ['p2', 'i1'], ['{{projectId}}', 'i1'], ['12345', 'i1'],
    ['example.com:p', 'i1']];

  await t.test('tables of one name are apart', async () => {
    for (const [project, id] of places) {
      const [table] = await at(project, id).createTable('t', {families: ['f']});
      await table.insert({key: 'r', data: {f: {q: `${project}/${id}`}}});
    }
    for (const [project, id] of places) {
      const [row] = await at(project, id).table('t').row('r').get();
      assert.equal(row.data.f.q[0].value, `${project}/${id}`);
      const [tables] = await at(project, id).getTables();
      assert.deepEqual(tables.map(({name}) => name), [`projects/${project}/instances/${id}/tables/t`]);
    }
    await at('p1', 'i1').table('t').delete();
    assert.deepEqual((await at('p1', 'i1').getTables())[0], []);
    assert.equal((await at('p1', 'i2').table('t').getRows())[0].length, 1);
    await assert.rejects(() => at('p1', 'i1').table('t').getRows(), {code: NOT_FOUND});
  });

  await t.test('app profiles are apart, and each instance has a default of its own', async () => {
    const [one, two] = [at('p1', 'i1'), at('p1', 'i2')];
    const ids = async instance => (await instance.getAppProfiles())[0].map(({id}) => id).sort();
    await one.createAppProfile('ap', {routing: 'any'});
    assert.deepEqual(await ids(one), ['ap', 'default']);
    assert.deepEqual(await ids(two), ['default']);
    const through = (id, profile) =>
      clientFor(emulator.endpoint, 'p1', {appProfileId: profile}).instance(id).table('t');
    assert.equal((await through('i2', 'default').getRows())[0].length, 1);
    await assert.rejects(() => through('i2', 'ap').getRows(), {code: NOT_FOUND});

    assert.equal((await two.table('t').row('n').increment('f:n', 2))[0], 2);
    const [operation] = await two.appProfile('default').setMetadata({routing: 'any', ignoreWarnings: true});
    await operation.promise();
    await assert.rejects(() => two.table('t').row('n').increment('f:n', 2), {code: FAILED_PRECONDITION});
    const [other] = await at('p2', 'i1').table('t').row('n').increment('f:n', 2);
    assert.equal(other, 2);
    await two.appProfile('default').delete({ignoreWarnings: true});
    assert.equal((await two.table('t').row('n').increment('f:n', 2))[0], 4, 'it is as it was');
  });

  await t.test('instances are there, and those in use are listed', async () => {
    assert.deepEqual(await at('p3', 'fresh').exists(), [true]);
    const [metadata] = await at('p3', 'fresh').getMetadata();
    assert.equal(metadata.state, 'READY');
    const [clusters] = await at('p3', 'fresh').getClusters();
    assert.equal(clusters.length, 1);
    assert.equal(clusters[0].metadata.name, `projects/p3/instances/fresh/clusters/${clusters[0].id}`);
    assert.equal(clusters[0].metadata.location, 'projects/p3/locations/us-central1-b');
    const listed = async project =>
      (await clientFor(emulator.endpoint, project).getInstances())[0].map(({id}) => id);
    assert.deepEqual(await listed('p1'), ['i1', 'i2']);
    assert.deepEqual(await listed('p2'), ['i1']);
    assert.deepEqual(await listed('p3'), []);
  });

  await t.test('an instance that is created is empty, and one that is deleted takes its tables along', async () => {
    const client = clientFor(emulator.endpoint, 'p4');
    const config = {clusters: [{id: 'c', location: 'us-east1-b', nodes: 1}], displayName: 'Made', labels: {a: 'b'}};
    const [made, operation] = await client.createInstance('made', config);
    await operation.promise();
    const [metadata] = await made.getMetadata();
    assert.equal(metadata.displayName, 'Made');
    assert.deepEqual(metadata.labels, {a: 'b'});
    await assert.rejects(() => client.createInstance('made', config), {code: ALREADY_EXISTS});
    await assert.rejects(() => client.createInstance('Made', config), {code: INVALID_ARGUMENT});
    assert.deepEqual((await client.getInstances())[0].map(({id}) => id), ['made']);
    await made.createTable('t', {families: ['f']});
    await made.table('t').insert({key: 'r', data: {f: {q: 'v'}}});
    await made.createAppProfile('ap', {routing: 'any'});
    await made.delete();
    assert.deepEqual((await client.getInstances())[0], []);
    assert.deepEqual((await made.getTables())[0], []);
    assert.deepEqual((await made.getAppProfiles())[0].map(({id}) => id), ['default']);
    await assert.rejects(() => made.delete(), {code: NOT_FOUND});
    await made.createTable('t', {families: ['f']});
    assert.deepEqual((await made.table('t').getRows())[0], [], 'its rows are gone');
    assert.equal((await at('p1', 'i2').table('t').getRows())[0].length, 2, 'those of others are not');
  });

  await t.test('names are checked as production checks them', async () => {
    for (const [project, id] of [['P1', 'i1'], ['p1', 'I1'], ['p_1', 'i1'], ['p1', 'i_1'], ['p1', '1'],
      ['{{projectid}}', 'i1'], ['-', 'i1'], ['p1-', 'i1']])
      await assert.rejects(() => at(project, id).getTables(), {code: INVALID_ARGUMENT}, `${project} ${id}`);
  });

  await t.test('names of tables and families, too', async () => {
    for (const id of ['a b', '-a', 'x'.repeat(51)])
      await assert.rejects(() => at('p1', 'i1').createTable(id), {code: INVALID_ARGUMENT}, id);
    await assert.rejects(() => at('p1', 'i1').createTable('ok', {families: ['a:b']}), {code: INVALID_ARGUMENT});
  });

  await t.test('a client that was told no project', async () => {
    process.env.BIGTABLE_EMULATOR_HOST = emulator.endpoint;
    const client = new Bigtable({metricsEnabled: false});
    delete process.env.BIGTABLE_EMULATOR_HOST;
    const [table] = await client.instance('told-nothing').createTable('t', {families: ['f']});
    await table.insert({key: 'r', data: {f: {q: 'v'}}});
    assert.equal((await table.getRows())[0].length, 1);
  });
});

test('the cases, in an instance of any name', async t => {
  const emulator = await Emulator.start();
  const target = new Target('emulator', emulator.endpoint,
    {project: emulator.project, id: emulator.id, instance: emulator});
  t.after(async () => {
    target.close();
    await emulator.stop();
  });
  const all = GROUPS.flatMap(({cases}) => cases)
    .filter(({id, instance, routed}) => !instance && !routed && id !== HAS_UNKNOWN_INSTANCE);
  for (const one of all) {
    await t.test(`${one.id}: ${one.what}`, async () => {
      const {ok, what} = await runCase(target, one);
      assert.ok(ok, what);
    });
  }
});

const SERVICES = ['google.bigtable.admin.v2.BigtableInstanceAdmin',
  'google.bigtable.admin.v2.BigtableTableAdmin', 'google.bigtable.v2.Bigtable',
  'google.longrunning.Operations', 'grpc.health.v1.Health', 'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection'];

async function reflects(endpoint, instanceName) {
  for (const version of ['v1', 'v1alpha']) {
    const {services, api} = await discover(endpoint, version);
    for (const service of SERVICES) assert.ok(services.includes(service), `${version} ${service}`);

    const admin = new api.google.bigtable.admin.v2.BigtableTableAdmin(
      endpoint, grpc.credentials.createInsecure());
    const {tables} = await promisify(admin.ListTables.bind(admin))({parent: instanceName});
    assert.deepEqual(tables, []);
    admin.close();

    const answers = await ask(endpoint, version, [
      {file_containing_symbol: 'google.bigtable.v2.ReadRowsResponse.CellChunk'},
      {file_by_filename: 'google/bigtable/v2/data.proto'},
      {file_containing_symbol: 'no.Such'},
      {file_by_filename: 'no/such.proto'},
      {file_containing_extension: {containing_type: 'google.bigtable.v2.Row', extension_number: 1}},
      {all_extension_numbers_of_type: 'google.bigtable.v2.Row'},
      {all_extension_numbers_of_type: 'no.Such'},
    ]);
    assert.deepEqual(answers.map(answer => answer.message_response), ['file_descriptor_response',
      'file_descriptor_response', 'error_response', 'error_response', 'error_response',
      'all_extension_numbers_response', 'error_response']);
    for (const {error_response: error} of answers)
      if (error) assert.equal(error.error_code, NOT_FOUND);
  }
}

test('reflection of the emulator', async t => {
  const emulator = await Emulator.start();
  t.after(() => emulator.stop());
  await reflects(emulator.endpoint, 'projects/p/instances/i');
});

test('configs/emulator.yaml: a router, reflection, and any instance', async t => {
  const instance = await Instance.start({config: 'configs/emulator.yaml'});
  t.after(() => instance.stop());
  await reflects(instance.endpoint, 'projects/p/instances/reflected');
  const table = clientFor(instance.endpoint, 'p').instance('i').table('t');
  await table.create({families: ['f']});
  await table.insert({key: 'r', data: {f: {q: 'v'}}});
  assert.equal((await table.row('r').increment('f:n', 1))[0], 1);

  await t.test('what users of the emulator do with cbt, in several projects and instances', async () => {
    const cbt = (project, id, ...args) => instance.cbt('--project', project, '--instance', id, ...args);
    const places = [['p1', 'one'], ['p1', 'two'], ['p2', 'one']];
    await Promise.all(places.map(async ([project, id]) => {
      await cbt(project, id, 'createtable', 't', 'families=f:maxversions=1', 'splits=m');
      await cbt(project, id, 'createfamily', 't', 'g');
      await cbt(project, id, 'set', 't', 'r', `f:q=${project}/${id}`, 'g:q=1');
    }));
    for (const [project, id] of places) {
      assert.equal(await cbt(project, id, 'ls'), 't\n');
      assert.match(await cbt(project, id, 'read', 't'), new RegExp(`"${project}/${id}"`));
      assert.equal((await cbt(project, id, 'count', 't')).trim(), '1');
    }
    assert.equal(await cbt('p3', 'never-used', 'ls'), '');
    assert.match(await cbt('p1', 'one', 'listinstances'), /^one\b[^]*^two\b/m);
    await cbt('p1', 'one', 'deletetable', 't');
    assert.equal(await cbt('p1', 'one', 'ls'), '');
    assert.equal(await cbt('p1', 'two', 'ls'), 't\n');
    await assert.rejects(cbt('p1', 'one', 'read', 't'), /not found/i);
  });

  await t.test('cases, through its router', async () => {
    const target = new Target('routed', instance.endpoint, {project: 'q', id: 'any'});
    const wanted = ['A2', 'A8', 'A20', 'A21', 'A24', 'B1', 'B14', 'C10', 'D1'];
    for (const one of GROUPS.flatMap(({cases}) => cases)) {
      if (!wanted.includes(one.id)) continue;
      const {ok, what} = await runCase(target, one);
      assert.ok(ok, `${one.id}: ${what}`);
    }
    target.close();
  });
});
