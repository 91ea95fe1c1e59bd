// The disk fills up: writes are refused, reads go on, nothing acknowledged is lost, and once there
// is space again writes succeed without a restart. The disk is a small tmpfs, which only root can
// mount; elsewhere the drill is skipped.

import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {mkdtemp, open, rm, rmdir, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'node:test';
import {sleep} from '../support/drill.mjs';
import {eventually, Instance} from '../support/instance.mjs';
import {CODE, setCell} from '../support/raw.mjs';

// A cluster keeps 2 x (memtable + 16 MiB) + 64 MiB free: 98 MiB with the smallest memtables.
const CONFIG = `project: atoll
instance: lab
clusters:
  - id: lab-c1
    zone: us-central1-b
storage: {memtable_mib: 1, block_cache_mib: 8}
`;
const DISK_MIB = 260;
const BALLAST_MIB = 60;
const VALUE_BYTES = 20000;
const TABLE = 'logs';
const REFUSALS = [CODE.RESOURCE_EXHAUSTED, CODE.UNAVAILABLE];

test('a full disk refuses writes, and loses nothing', async t => {
  const {disk, instance} = await prepare(t);
  if (!instance) return;
  const ballast = join(disk, 'ballast');
  await writeFile(ballast, Buffer.alloc(BALLAST_MIB << 20, 1));
  const cluster = await instance.direct('lab-c1');
  const router = instance.raw();
  await cluster.createTable(TABLE, ['f']);
  const acknowledged = new Set();
  const pid = await pidOf(instance);

  const errors = await fill(cluster, acknowledged, 20);
  t.diagnostic(`${acknowledged.size} writes acknowledged, then: ${errors[0]}`);
  await allThere(cluster, acknowledged);
  await allThere(router, acknowledged);
  await assert.rejects(write(router, acknowledged), ({code}) => REFUSALS.includes(code));

  await rm(ballast);
  await eventually('writes succeed again', () => write(cluster, acknowledged).catch(() => false));
  await eventually('also through the router', () => write(router, acknowledged).catch(() => false));
  for (let i = 0; i < 100; i++) await write(cluster, acknowledged);
  assert.equal(await pidOf(instance), pid, 'without a restart');
  await allThere(cluster, acknowledged);

  await restart(instance);
  await allThere(cluster, acknowledged);
  t.diagnostic(`${acknowledged.size} rows are there after kill -9`);
});

test('a disk that others fill to the last byte refuses writes, and loses nothing', async t => {
  const {disk, instance} = await prepare(t);
  if (!instance) return;
  const cluster = await instance.direct('lab-c1');
  await cluster.createTable(TABLE, ['f']);
  const acknowledged = new Set();

  const filling = fill(cluster, acknowledged, 20);
  await eventually('some writes', () => acknowledged.size >= 100);
  await fillToTheLastByte(join(disk, 'others'));
  const errors = await filling;
  t.diagnostic(`${acknowledged.size} writes acknowledged, then: ${errors[0]}`);
  await allThere(cluster, acknowledged);

  await rm(join(disk, 'others'));
  const again = await eventually('writes succeed again, or ask for a restart', async () => {
    return await write(cluster, acknowledged).then(() => 'succeed',
      ({message}) => (/open it again/.test(message) ? 'need a restart' : null));
  });
  t.diagnostic(`with space again writes ${again}`);
  await restart(instance);
  await eventually('writes succeed', () => write(cluster, acknowledged).catch(() => false));
  await allThere(cluster, acknowledged);
});

/** An instance of one zone on a disk of its own; none where it cannot be mounted. */
async function prepare(t) {
  const disk = await mkdtemp(join(tmpdir(), 'atoll-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'atoll-test', disk], {stdio: 'pipe'});
  } catch (err) {
    await rmdir(disk);
    t.skip(`SKIP: a tmpfs cannot be mounted here: ${err.message.split('\n')[1] ?? err.message}`);
    return {};
  }
  let instance;
  t.after(async () => {
    try {
      await instance?.stop();
    } finally {
      execFileSync('umount', ['--lazy', disk]);
      await rmdir(disk);
    }
  });
  const config = join(disk, 'instance.yaml');
  await writeFile(config, CONFIG);
  instance = await Instance.start({config, under: disk});
  return {disk, instance};
}

/** Writes until `refusals` writes in a row are refused; returns the messages of the last ones. */
async function fill(client, acknowledged, refusals) {
  let errors = [];
  while (errors.length < refusals) {
    assert.ok(acknowledged.size * VALUE_BYTES < DISK_MIB << 20, 'the disk must be full by now');
    try {
      await write(client, acknowledged);
      errors = [];
    } catch (err) {
      assert.ok(REFUSALS.includes(err.code), err.message);
      errors.push(err.message);
      await sleep(50);
    }
  }
  return errors;
}

/** Writes the next row; a key stands for its value, which no compression makes smaller. */
async function write(client, acknowledged) {
  const key = `row${String(acknowledged.size).padStart(6, '0')}`;
  await client.mutate(TABLE, key, setCell('f', 'v', valueOf(key)));
  acknowledged.add(key);
  return true;
}

function valueOf(key) {
  return createHash('shake256', {outputLength: VALUE_BYTES}).update(key).digest();
}

/** All acknowledged rows, and none but the one that was refused and may be there all the same. */
async function allThere(client, acknowledged) {
  const {rows} = await client.read(TABLE, {filter: {cellsPerColumnLimitFilter: 1}});
  const values = new Map(rows.map(({key, cells}) => [key, cells[0].value]));
  for (const key of acknowledged)
    assert.ok(values.get(key)?.equals(valueOf(key)), `${key} was acknowledged`);
  assert.ok(values.size <= acknowledged.size + 1);
}

async function fillToTheLastByte(path) {
  const file = await open(path, 'w');
  try {
    for (let bytes = 1 << 20; bytes > 0; ) {
      const written = await file.write(Buffer.alloc(bytes, 1)).then(
        ({bytesWritten}) => bytesWritten, () => 0);
      if (written < bytes) bytes = Math.floor(bytes / 2);
    }
  } finally {
    await file.close();
  }
}

async function restart(instance) {
  await instance.kill('lab-c1');
  await instance.startCluster('lab-c1');
}

async function pidOf(instance) {
  return (await instance.status()).clusters[0].pid;
}
