// `atoll verify` finds the one cell in which two clusters differ. Clusters of one instance agree as
// soon as they hear each other, so the cluster that differs is of another instance: a state folder
// names both as clusters of one.

import assert from 'node:assert/strict';
import {execFile} from 'node:child_process';
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'node:test';
import {promisify} from 'node:util';
import {FAMILY} from '../support/drill.mjs';
import {ATOLL, eventually, Instance, replicated} from '../support/instance.mjs';
import {deleteRow, setCell} from '../support/raw.mjs';

const ROWS = 3000;
let instance;
let other;
let both; // a folder whose lab-c1 is of one instance and whose lab-c2 is of the other

test.before(async () => {
  both = await mkdtemp(join(tmpdir(), 'atoll-test-'));
  const config = join(both, 'any-instance.yaml');
  const shipped = await readFile(new URL('../../configs/three-zones.yaml', import.meta.url), 'utf8');
  await writeFile(config, `accept_any_instance: true\n${shipped}`);
  instance = await Instance.start({config});
  other = await Instance.start({config});
  for (const each of [instance, other]) {
    await each.raw('multi').createTable('fleet', [FAMILY]);
    const rows = Array.from({length: ROWS}, (_, i) => String(i).padStart(6, '0'));
    const client = each.raw('multi');
    while (rows.length > 0)
      await Promise.all(rows.splice(0, 100).map(key => client.mutate('fleet', key, set('same'))));
    await replicated(each);
  }
  const port = async (of, id) => (await of.status()).clusters.find(c => c.id === id).grpc;
  const yaml = await readFile(join(instance.dir, 'instance.yaml'), 'utf8');
  const own = await port(instance, 'lab-c2');
  const foreign = await port(other, 'lab-c2');
  assert.match(yaml, new RegExp(`\\b${own}\\b`));
  await writeFile(join(both, 'instance.yaml'), yaml.replace(new RegExp(`\\b${own}\\b`), foreign));
});
test.after(async () => {
  await instance?.stop();
  await other?.stop();
  if (both) await rm(both, {recursive: true, force: true});
});

test('the clusters of an instance are equal', async () => {
  const {code, stdout} = await verify(instance.dir);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /lab-c3 +rows +3000 +cells +3000\n/);
  assert.match(stdout, /^equal$/m);
});

test('one cell that differs is found, and nothing else', async () => {
  const pair = ['--cluster', 'lab-c1', '--cluster', 'lab-c2'];
  assert.equal((await verify(both, 'fleet', ...pair)).code, 0);
  await other.raw('multi').mutate('fleet', '001234', set('other'));
  await replicated(other);
  const {code, stdout} = await verify(both, 'fleet', ...pair);
  assert.equal(code, 1, stdout);
  assert.match(stdout, /row "001234"\n +f:"v" @ 1000\n +lab-c1 +"same"\n +lab-c2 +"other"\n/);
  assert.match(stdout, /1 cells in 1 rows differ\n(.*\n)*NOT EQUAL\n$/);
});

test('a row that only one has is found', async () => {
  await other.raw('multi').mutate('fleet', '001234', deleteRow);
  await replicated(other);
  const {code, stdout} = await verify(both, 'fleet', '-c', 'lab-c1', '-c', 'lab-c2');
  assert.equal(code, 1);
  assert.match(stdout, /lab-c1 +"same"\n +lab-c2 +none\n/);
});

test('tables of other instances on the same clusters are compared as well', async () => {
  const elsewhere = ['cbt', '--project', 'p', '--instance', 'elsewhere'];
  const full = 'projects/p/instances/elsewhere/tables/t';
  for (const each of [instance, other]) {
    const at = [...elsewhere, '--endpoint', `127.0.0.1:${(await each.status()).router.grpc}`];
    await run(...at, 'createtable', 't', 'families=f');
    await run(...at, 'set', 't', 'row', each === other ? 'f:q=2@1000' : 'f:q=1@1000');
    await eventually('all clusters have it', async () => (await verify(each.dir)).code === 0);
  }
  const pair = ['-c', 'lab-c1', '-c', 'lab-c2'];
  assert.match((await verify(both, ...pair)).stdout, /^all instances\n(.*\n)+  differ: verify projects/m);
  const {code, stdout} = await verify(both, full, ...pair);
  assert.equal(code, 1, stdout);
  assert.match(stdout, /row "row"\n +f:"q" @ 1000\n +lab-c1 +"1"\n +lab-c2 +"2"\n/);
  assert.match(await instance.atoll('explain', full, 'row', '-c', 'lab-c3'), /f:"q" @ 1000 = "1"/);
});

test('what can not be compared is told apart from what differs', async () => {
  assert.equal((await verify(instance.dir, 'nowhere')).code, 2);
  await instance.kill('lab-c3');
  assert.equal((await verify(instance.dir, 'fleet')).code, 2);
  assert.equal((await verify(instance.dir, 'fleet', '-c', 'lab-c1', '-c', 'lab-c2')).code, 0);
  await instance.startCluster('lab-c3');
});

test('explain tells who wrote what, and what hides it', async () => {
  const out = await other.atoll('explain', 'fleet', '001234', '--cluster', 'lab-c3');
  assert.match(out, /^lab-c3 \(/);
  assert.match(out, /#1 row deleted\n +by lab-c1 at 20\d\d-.*Z +stamp \d+\.\d+\n +hides 2 of the/);
  assert.match(out, /f:"v" @ 1000 = "other"\n.*\n +hidden: deleted by #1, whose stamp is higher/);
});

function set(value) {
  return setCell(FAMILY, 'v', value, 1000);
}

async function run(...args) {
  await promisify(execFile)(ATOLL, args);
}

/** The exit code of `atoll verify` and what it prints. */
function verify(dir, ...args) {
  return new Promise(resolve => {
    execFile(ATOLL, ['verify', ...args, '--state-dir', dir], (err, stdout, stderr) => {
      resolve({code: err ? err.code : 0, stdout, stderr});
    });
  });
}
