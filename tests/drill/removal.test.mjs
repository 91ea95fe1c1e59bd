// A cluster that is dead for good is removed by force: tokens are true again, and delete markers go
// again. Started nevertheless, it is refused, says so, and ends. A minority does not go on by itself.

import assert from 'node:assert/strict';
import {cp, rm} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'node:test';
import {FAMILY, sleep} from '../support/drill.mjs';
import {eventually, Instance, replicated, ATOLL} from '../support/instance.mjs';
import {deleteRow, setCell} from '../support/raw.mjs';
import {spawn} from 'node:child_process';

const TABLE = 'fleet';

async function begin(t) {
  const instance = await Instance.start();
  t.after(() => instance.stop());
  await instance.raw('multi').createTable(TABLE, [FAMILY]);
  await replicated(instance);
  return instance;
}

test('a dead cluster is removed, and its ghost is refused', async t => {
  const instance = await begin(t);
  const router = instance.raw('multi');
  for (let i = 0; i < 20; i++) await router.mutate(TABLE, `row${i}`, setCell(FAMILY, 'v', '1'));
  await replicated(instance);
  await instance.kill('lab-c3');
  await cp(join(instance.dir, 'data', 'lab-c3'), join(instance.dir, 'ghost'), {recursive: true});
  await cp(join(instance.dir, 'instance.yaml'), join(instance.dir, 'ghost.yaml'));
  await router.mutate(TABLE, 'row0', deleteRow);
  const token = await router.token(TABLE);
  const forgotten = async () =>
    (await instance.status()).clusters.filter(c => c.id !== 'lab-c3').reduce((sum, c) => sum + c.forgotten, 0);
  const before = await eventually('both answer', async () => {
    const sum = await forgotten();
    return Number.isFinite(sum) && {sum};
  });
  assert.equal(await router.consistent(TABLE, token), false);
  await assert.rejects(instance.atoll('remove', 'lab-c3'), /--force/);
  await assert.rejects(instance.atoll('remove', 'lab-c1', '--force'), /kill lab-c1/);

  t.diagnostic((await instance.atoll('remove', 'lab-c3', '--force')).trim());
  await eventually('the token is true', () => router.consistent(TABLE, token));
  assert.deepEqual((await instance.status()).clusters.map(c => c.id), ['lab-c1', 'lab-c2']);
  await eventually('the delete marker goes', async () => {
    await instance.atoll('gc', 'run');
    return (await forgotten()) > before.sum;
  });
  await replicated(instance);
  await instance.digest();

  const said = await runGhost(instance);
  assert.match(said, /is no member of the instance any more/);
  await instance.digest();
});

/** Starts the removed cluster's process on a copy of its files; resolves to its log at its end. */
async function runGhost(instance) {
  const child = spawn(ATOLL, ['cluster', '--instance', join(instance.dir, 'ghost.yaml'), '--cluster', 'lab-c3',
    '--data', join(instance.dir, 'ghost'), '--run-file', join(instance.dir, 'ghost.json')]);
  let log = '';
  child.stderr.on('data', bytes => { log += bytes; });
  const ended = new Promise(done => child.on('close', done)); // all of its log has come
  const timer = setTimeout(() => child.kill('SIGKILL'), 120000);
  await ended;
  clearTimeout(timer);
  await rm(join(instance.dir, 'ghost'), {recursive: true});
  return log;
}

test('a minority goes on only by an operator\'s word', async t => {
  const instance = await begin(t);
  await instance.kill('lab-c2');
  await instance.kill('lab-c3');
  await sleep(200);
  await assert.rejects(instance.atoll('remove', 'lab-c2', 'lab-c3', '--force'), /minority/i);
  await instance.atoll('remove', 'lab-c2', 'lab-c3', '--force', '--minority-survives');
  const router = instance.raw('multi');
  await eventually('writes go on', () => router.mutate(TABLE, 'after', setCell(FAMILY, 'v', '1')).then(() => true, () => false));
  const token = await router.token(TABLE);
  await eventually('tokens are true', () => router.consistent(TABLE, token));
});
