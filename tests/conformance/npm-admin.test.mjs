// Administration with Google's own Node client, unmodified, through the router: an instance is made,
// gets clusters, profiles, tables, backups and policies, and goes again.

import assert from 'node:assert/strict';
import test from 'node:test';
import {Api, METHODS} from './api.mjs';
import {clientFor} from '../support/client.mjs';
import {Instance} from '../support/instance.mjs';

const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
const FAILED_PRECONDITION = 9;
const HOUR_MS = 3600e3;

let instance; // of Atoll
let bigtable; // the client
let shop; // the instance that is made

const code = expected => err => {
  assert.equal(err.code, expected, err.message);
  return true;
};
const ids = resources => resources.map(r => r.id.split('/').pop()).sort();
const keys = async table => (await table.getRows())[0].map(row => row.id);

/** By bare gRPC: the client throws outside of its promise when a policy is refused. */
async function setPolicy(resource, policy) {
  const service = resource === shop ? 'BigtableInstanceAdmin' : 'BigtableTableAdmin';
  const api = new Api(instance.endpoint);
  const {code: name} = await api.call(
    METHODS.find(({path}) => path === `/google.bigtable.admin.v2.${service}/SetIamPolicy`),
    {resource: resource.name ?? resource.id, policy});
  api.close();
  return name;
}

const checks = new Map();
const check = (name, run) => checks.set(name, run);

check('an instance with one cluster is made by an operation', async () => {
  const [made, operation] = await bigtable.createInstance('shop', {
    displayName: 'The shop',
    labels: {env: 'test'},
    clusters: [{id: 'shop-c1', location: 'us-central1-b', nodes: 1, storage: 'ssd'}],
  });
  assert.match(operation.name, /^operations\/projects\/atoll\/instances\/shop\/.*operations\/\w+$/);
  await operation.promise();
  shop = made;
  const [metadata] = await shop.getMetadata();
  assert.equal(metadata.displayName, 'The shop');
  assert.equal(metadata.state, 'READY');
  assert.deepEqual(metadata.labels, {env: 'test'});
  assert.deepEqual(ids((await bigtable.getInstances())[0]), ['lab', 'shop']);
  assert.deepEqual(await shop.exists(), [true]);
  assert.deepEqual(await bigtable.instance('none').exists(), [false]);
  await assert.rejects(bigtable.createInstance('shop', {
    clusters: [{id: 'other', location: 'us-east1-b', nodes: 1}]}), code(ALREADY_EXISTS));
});

check('its name and labels change', async () => {
  const [operation] = await shop.setMetadata({displayName: 'Corner shop', labels: {env: 'prod'}});
  await operation.promise();
  const [metadata] = await shop.getMetadata();
  assert.equal(metadata.displayName, 'Corner shop');
  assert.deepEqual(metadata.labels, {env: 'prod'});
});

check('tables and families', async () => {
  const [table] = await shop.createTable('orders', {
    families: [{name: 'f', rule: {versions: 3}}, 'g'], splits: [Buffer.from('m')]});
  assert.deepEqual(ids((await shop.getTables())[0]), ['orders']);
  await assert.rejects(shop.createTable('orders', {families: ['f']}), code(ALREADY_EXISTS));
  const [families] = await table.getFamilies();
  assert.deepEqual(families.map(f => f.id).sort(), ['f', 'g']);
  const [family] = await table.createFamily('h', {rule: {age: {seconds: 3600}, versions: 2, intersect: true}});
  const [[rule]] = [await family.getMetadata()];
  assert.ok(rule);
  await family.setMetadata({rule: {versions: 1}});
  await family.delete();
  assert.deepEqual(await table.family('h').exists(), [false]);
  await table.insert(Array.from({length: 30}, (_, i) =>
    ({key: `k${String(i).padStart(2, '0')}`, data: {f: {q: {value: `${i}`, timestamp: 1000}}}})));
  await table.deleteRows('k2');
  assert.equal((await keys(table)).length, 20);
});

check('a second cluster in another zone has the data when its operation is done', async () => {
  await assert.rejects(shop.createCluster('twin', {location: 'us-central1-b', nodes: 1}),
    code(FAILED_PRECONDITION));
  const [cluster, operation] = await shop.createCluster('shop-c2', {location: 'us-east1-c', nodes: 2});
  await operation.promise();
  const [metadata] = await cluster.getMetadata();
  assert.equal(metadata.state, 'READY');
  assert.equal(metadata.serveNodes, 2);
  assert.deepEqual(ids((await shop.getClusters())[0]), ['shop-c1', 'shop-c2']);
  const [states] = await shop.table('orders').getReplicationStates();
  assert.deepEqual([...states.keys()].sort(), ['shop-c1', 'shop-c2']);
  for (const state of states.values()) assert.equal(state.replicationState, 'READY');

  // `default` allows transactions on the first cluster; allowing them on another one is unsafe.
  const routing = {routing: cluster, allowTransactionalWrites: true};
  await assert.rejects(shop.createAppProfile('east', routing), code(FAILED_PRECONDITION));
  const [profile] = await shop.createAppProfile('east', {...routing, ignoreWarnings: true});
  const east = clientFor(instance.endpoint, instance.project, {appProfileId: 'east'});
  assert.equal((await keys(east.instance('shop').table('orders'))).length, 20);
  await east.instance('shop').table('orders').insert({key: 'east', data: {f: {q: 'e'}}});
  await shop.table('orders').waitForReplication();
  assert.ok((await keys(shop.table('orders'))).includes('east'));
  await east.close();
  assert.deepEqual(await profile.exists(), [true]);
});

check('node counts are kept', async () => {
  const [operation] = await shop.cluster('shop-c2').setMetadata({nodes: 4});
  await operation.promise();
  assert.equal((await shop.cluster('shop-c2').getMetadata())[0].serveNodes, 4);
  const [scaled] = await shop.cluster('shop-c2').setMetadata({
    minServeNodes: 2, maxServeNodes: 6, cpuUtilizationPercent: 50});
  await scaled.promise();
  const [metadata] = await shop.cluster('shop-c2').getMetadata();
  const {autoscalingLimits} = metadata.clusterConfig.clusterAutoscalingConfig;
  assert.deepEqual([autoscalingLimits.minServeNodes, autoscalingLimits.maxServeNodes], [2, 6]);
});

check('app profiles: create, get, list, update, delete', async () => {
  const [profile] = await shop.createAppProfile('any', {routing: 'any', description: 'all'});
  assert.deepEqual(ids((await shop.getAppProfiles())[0]), ['any', 'default', 'east']);
  const [operation] = await profile.setMetadata({description: 'every one', routing: 'any'});
  await operation.promise();
  assert.equal((await profile.getMetadata())[0].description, 'every one');
  await assert.rejects(profile.delete(), code(FAILED_PRECONDITION));
  await profile.delete({ignoreWarnings: true});
  await assert.rejects(profile.getMetadata(), code(NOT_FOUND));
});

check('policies are stored with an etag, of instances, tables and backups', async () => {
  for (const resource of [shop, shop.table('orders')]) {
    const [fresh] = await resource.getIamPolicy();
    assert.deepEqual(fresh.bindings ?? [], []);
    const bindings = [{role: 'roles/bigtable.viewer', members: ['user:anna@example.com']}];
    const [set] = await resource.setIamPolicy({...fresh, bindings});
    assert.equal(set.bindings[0].role, 'roles/bigtable.viewer');
    assert.equal(await setPolicy(resource, {etag: Buffer.from(fresh.etag), bindings: []}), 'ABORTED');
    assert.equal((await resource.getIamPolicy())[0].bindings[0].members[0], 'user:anna@example.com');
    const [permissions] = await resource.testIamPermissions(['bigtable.tables.get', 'bigtable.tables.list']);
    assert.equal(permissions.length, 2);
  }
});

check('backups: create, list, change, copy, restore, delete', async () => {
  const expireTime = new Date(Date.now() + 24 * HOUR_MS);
  const table = shop.table('orders');
  const before = await keys(table);
  const [backup, operation] = await table.createBackup('b1', {expireTime});
  await operation.promise();
  const [metadata] = await backup.getMetadata();
  assert.equal(metadata.state, 'READY');
  assert.match(metadata.sourceTable, /\/tables\/orders$/);
  assert.ok(Number(metadata.sizeBytes) > 0);
  await table.truncate();
  assert.deepEqual(await keys(table), []);

  await backup.setMetadata({expireTime: new Date(Date.now() + 48 * HOUR_MS)});
  assert.deepEqual(ids((await shop.getBackups())[0]), ['b1']);
  const [copy, copying] = await backup.copy({
    cluster: shop.cluster('shop-c2'), id: 'b2', expireTime});
  await copying.promise();
  assert.match((await copy.getMetadata())[0].sourceBackup, /\/backups\/b1$/);
  assert.deepEqual(ids((await shop.cluster('shop-c2').getBackups())[0]), ['b2']);

  for (const [source, id] of [[backup, 'back1'], [copy, 'back2']]) {
    const [restored, restoring] = await source.restore(id);
    await restoring.promise();
    assert.deepEqual(await keys(restored), before);
    await restored.waitForReplication();
  }
  const [policy] = await backup.getIamPolicy();
  await backup.setIamPolicy({...policy, bindings: [{role: 'roles/bigtable.user', members: ['user:b@example.com']}]});
  assert.equal((await backup.getIamPolicy())[0].bindings.length, 1);
  await backup.delete();
  await copy.delete();
  assert.deepEqual(await backup.exists(), [false]);
  assert.deepEqual((await shop.getBackups())[0], []);
});

check('a cluster that a profile names stays; then it leaves', async () => {
  await assert.rejects(shop.cluster('shop-c2').delete(), code(FAILED_PRECONDITION));
  await shop.appProfile('east').delete({ignoreWarnings: true});
  await shop.cluster('shop-c2').delete();
  assert.deepEqual(ids((await shop.getClusters())[0]), ['shop-c1']);
  await assert.rejects(shop.cluster('shop-c1').delete(), code(FAILED_PRECONDITION));
});

check('tables and the instance go', async () => {
  await shop.table('orders').delete();
  await assert.rejects(shop.table('orders').getMetadata(), code(NOT_FOUND));
  await shop.delete();
  assert.deepEqual(await shop.exists(), [false]);
  assert.deepEqual(ids((await bigtable.getInstances())[0]), ['lab']);
});

test('administration with the npm client', async t => {
  instance = await Instance.start({config: 'configs/one-zone.yaml'});
  bigtable = clientFor(instance.endpoint, instance.project);
  t.after(async () => {
    await bigtable.close();
    await instance.stop();
  });
  for (const [name, run] of checks) await t.test(name, run);
});
