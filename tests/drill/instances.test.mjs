// Instances that are created and deleted in a loop leave nothing behind: no process, no file, no
// port, and the router is not larger afterwards. COUNT is how many (50 for a long run).

import assert from 'node:assert/strict';
import {readdir, readFile, readlink} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'node:test';
import {Api} from '../conformance/api.mjs';
import {eventually, Instance} from '../support/instance.mjs';
import {rssMiB} from '../support/measure.mjs';

const COUNT = Number(process.env.COUNT ?? 10);
const WARM = Math.min(4, COUNT / 2); // rounds until what is kept for good is there
const GROWTH_KIB_MAX = 64; // of the router, per instance

/** Pids of processes whose command line names the folder. */
async function processes(folder) {
  const found = [];
  for (const pid of (await readdir('/proc')).filter(name => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '');
    if (line.includes(folder)) found.push(Number(pid));
  }
  return found;
}

async function descriptors(pid) {
  const names = await readdir(`/proc/${pid}/fd`);
  const targets = await Promise.all(names.map(name => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')));
  return targets.filter(target => target !== '').length;
}

test(`${COUNT} instances come and go`, async t => {
  const instance = await Instance.start();
  const api = new Api(instance.endpoint);
  t.after(async () => {
    api.close();
    await instance.stop();
  });
  const call = async (method, request) => {
    const {code, message, messages: [answer]} = await api.call(method, request);
    assert.equal(code, 'OK', `${method}: ${message}`);
    return answer;
  };
  const pid = (await instance.status()).router.pid;
  const before = (await processes(instance.dir)).length;
  const sizes = [];
  const handles = [];
  for (let i = 0; i < COUNT; i++) {
    const name = `projects/atoll/instances/drill${i}`;
    const operation = await call('CreateInstance', {
      parent: 'projects/atoll', instance_id: `drill${i}`, instance: {display_name: `drill ${i}`},
      clusters: {[`drill${i}-c1`]: {location: 'projects/atoll/locations/us-central1-b', serve_nodes: 1}},
    });
    await eventually('it is there', async () => (await call('GetOperation', {name: operation.name})).done);
    await call('CreateTable', {parent: name, table_id: 't', table: {column_families: {f: {}}}});
    await call('DeleteInstance', {name});
    if (i >= WARM) {
      sizes.push(await rssMiB(pid));
      handles.push(await descriptors(pid));
    }
  }
  await eventually('all processes have ended', async () => (await processes(instance.dir)).length === before);
  await eventually('their connections are closed', async () => (await descriptors(pid)) <= handles[0] + 2);
  await eventually('no folder is left', async () =>
    (await readdir(join(instance.dir, 'instances')).catch(() => [])).length === 0);
  const growthKiB = ((sizes.at(-1) - sizes[0]) * 1024) / Math.max(1, sizes.length - 1);
  t.diagnostic(`router: ${sizes[0].toFixed(1)} to ${sizes.at(-1).toFixed(1)} MiB, ` +
    `${growthKiB.toFixed(0)} KiB per instance; descriptors: ${handles[0]} to ${handles.at(-1)}`);
  assert.ok(growthKiB <= GROWTH_KIB_MAX, `${growthKiB} KiB per instance`);
  const {messages: [{instances}]} = await api.call('ListInstances', {parent: 'projects/atoll'});
  assert.deepEqual(instances.map(one => one.name), ['projects/atoll/instances/lab']);
});
