// The router, or the launcher it runs, is killed at a random moment of an act on an instance. When
// the router is back, the instance is whole or gone: nothing runs that is not shown, no folder is
// left, and what was made can be used and deleted. The same of a cluster. ROUNDS (default 10) and
// SEED choose.

import {ok, strictEqual} from 'node:assert';
import {readdir, readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {test} from 'node:test';
import {setTimeout as sleep} from 'node:timers/promises';
import {Dice} from '../support/drill.mjs';
import {Instance} from '../support/instance.mjs';

const ROUNDS = Number(process.env.ROUNDS ?? 4);
const SEED = Number(process.env.SEED ?? Date.now() % 100000);
const SETTLE_MS = 120000;
const NAME = 'projects/atoll/instances/more';

const dice = new Dice(SEED);

/** All processes with `dir` on their command lines: [{pid, words}]. */
async function processes(dir) {
  const found = [];
  for (const pid of (await readdir('/proc')).filter(name => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    const words = line.split('\0');
    if (words.some(word => word === dir || word.startsWith(`${dir}/`)))
      found.push({pid: Number(pid), words});
  }
  return found;
}

async function rest(instance, method, path, body) {
  const url = `http://127.0.0.1:${instance.httpPort}/v2/${path}`;
  const answer = await fetch(url, {method, body: body && JSON.stringify(body)});
  return {status: answer.status, body: await answer.json()};
}

const cluster = zone => ({location: `projects/atoll/locations/${zone}`, serveNodes: 1});
const ACTS = {
  create: instance =>
    rest(instance, 'POST', 'projects/atoll/instances', {
      instanceId: 'more',
      instance: {displayName: 'more'},
      clusters: {'more-c1': cluster('us-east1-b'), 'more-c2': cluster('us-east1-c')},
    }),
  delete: instance => rest(instance, 'DELETE', NAME),
};

async function until(what, act) {
  const end = Date.now() + SETTLE_MS;
  for (;;) {
    const result = await act().catch(err => ({err}));
    if (result === true) return;
    ok(Date.now() < end, `${what}: ${JSON.stringify(result?.err?.message ?? result)}`);
    await sleep(50);
  }
}

/** Kills the router, or the launcher if one runs; says which. */
async function strike(instance) {
  const all = await processes(instance.dir);
  const launcher = all.find(({words}) => words[1] === 'launch');
  if (launcher && dice.chance(0.5)) {
    try {
      process.kill(launcher.pid, 'SIGKILL');
    } catch {
      // it has just ended
    }
    return 'launcher';
  }
  await instance.kill('router');
  return 'router';
}

/** Whole or gone, and no process or folder beside what is shown. */
async function isSettled(instance) {
  const all = await processes(instance.dir);
  if (all.some(({words}) => words[1] === 'launch')) return 'a launcher runs';
  const got = await rest(instance, 'GET', NAME);
  if (got.status !== 200 && got.status !== 404) return got;
  if (got.status === 200 && got.body.state !== 'READY') return got;
  const folders = await readdir(join(instance.dir, 'instances')).catch(() => []);
  strictEqual(folders.filter(name => name.startsWith('.')).length, 0, `swept: ${folders}`);
  const {instances} = JSON.parse(await instance.atoll('status', '--json'));
  const shown = instances.flatMap(({clusters}) => clusters).map(({pid}) => pid);
  const running = all.filter(({words}) => words[1] === 'cluster').map(({pid}) => pid);
  strictEqual(folders.length, got.status === 200 ? 1 : 0, `folders: ${folders}`);
  strictEqual(running.sort().join(), shown.filter(pid => pid > 0).sort().join(), 'processes');
  strictEqual(running.length, got.status === 200 ? 3 : 1, 'so many clusters');
  return true;
}

async function exists(instance) {
  return (await rest(instance, 'GET', NAME)).status === 200;
}

test(`what is killed while it makes or removes an instance leaves it whole or gone (SEED=${SEED})`, async t => {
  const instance = await Instance.start({config: 'configs/one-zone.yaml'});
  t.after(() => instance.stop());
  for (let round = 0; round < ROUNDS; round++) {
    const name = (await exists(instance)) ? 'delete' : 'create';
    const answer = ACTS[name](instance).catch(() => {});
    const delay = dice.between(0, name === 'create' ? 400 : 120);
    await sleep(delay);
    const struck = await strike(instance);
    await answer;
    if (struck === 'router') await instance.startCluster('router');
    await until(`round ${round}: ${struck} killed ${delay} ms into ${name}`, () => isSettled(instance));
    t.diagnostic(`${struck} killed ${delay} ms into ${name}: ${(await exists(instance)) ? 'whole' : 'gone'}`);
  }
  if (await exists(instance)) strictEqual((await ACTS.delete(instance)).status, 200);
  await until('no process is left', async () =>
    (await processes(join(instance.dir, 'instances'))).length === 0);
});

const C2 = 'projects/atoll/instances/lab/clusters/lab-c2';
const CLUSTER_ACTS = {
  create: instance =>
    rest(instance, 'POST', 'projects/atoll/instances/lab/clusters?clusterId=lab-c2', cluster('us-east1-c')),
  delete: instance => rest(instance, 'DELETE', C2),
};

async function isClusterSettled(instance) {
  const all = await processes(instance.dir);
  if (all.some(({words}) => words[1] === 'launch')) return 'a launcher runs';
  const got = await rest(instance, 'GET', C2);
  if (got.status !== 200 && got.status !== 404) return got;
  if (got.status === 200 && got.body.state !== 'READY') return got;
  const running = all.filter(({words}) => words[1] === 'cluster').length;
  return running === (got.status === 200 ? 2 : 1) ? true : `${running} processes, ${got.status}`;
}

test(`what is killed while it makes or removes a cluster leaves it whole or gone (SEED=${SEED})`, async t => {
  const instance = await Instance.start({config: 'configs/one-zone.yaml'});
  t.after(() => instance.stop());
  for (let round = 0; round < ROUNDS; round++) {
    const there = (await rest(instance, 'GET', C2)).status === 200;
    const name = there ? 'delete' : 'create';
    const answer = CLUSTER_ACTS[name](instance).catch(() => {});
    const delay = dice.between(0, 400);
    await sleep(delay);
    const struck = await strike(instance);
    await answer;
    if (struck === 'router') await instance.startCluster('router');
    await until(`round ${round}: ${struck} killed ${delay} ms into ${name}`, () => isClusterSettled(instance));
    const now = (await rest(instance, 'GET', C2)).status === 200;
    t.diagnostic(`${struck} killed ${delay} ms into ${name}: ${now ? 'whole' : 'gone'}`);
  }
});
