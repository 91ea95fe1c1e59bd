// A disk gives back other bytes than were written: reads of what is damaged say so (DATA_LOSS) and
// return nothing wrong, reads of the rest go on, and the process lives. Writes go on until a
// compaction in the background meets the damage, and are refused with DATA_LOSS from then on.

import assert from 'node:assert/strict';
import {createHash} from 'node:crypto';
import {mkdtemp, open, readdir, rm, stat, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'node:test';
import {Instance} from '../support/instance.mjs';
import {CODE, setCell} from '../support/raw.mjs';

// Small blocks of cache, so that reads meet the disk.
const CONFIG = `project: atoll
instance: lab
clusters:
  - id: lab-c1
    zone: us-central1-b
storage: {memtable_mib: 1, block_cache_mib: 8}
`;
const TABLE = 'logs';
const ROWS = 4000;
const VALUE_BYTES = 4000;
const TOLD = [CODE.DATA_LOSS, CODE.UNAVAILABLE];

test('damaged files are told, and nothing wrong is read', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'atoll-damage-'));
  let instance;
  t.after(async () => {
    await instance?.stop();
    await rm(dir, {recursive: true, force: true});
  });
  const config = join(dir, 'instance.yaml');
  await writeFile(config, CONFIG);
  instance = await Instance.start({config, under: dir});
  const cluster = await instance.direct('lab-c1',);
  await cluster.createTable(TABLE, ['f']);
  for (let i = 0; i < ROWS; i += 50) {
    await Promise.all(Array.from({length: 50}, (_, k) => keyOf(i + k)).map(key =>
      cluster.mutate(TABLE, key, setCell('f', 'v', valueOf(key)))));
  }
  await instance.atoll('gc', 'run'); // flushes and compacts: all rows are in table files
  const {pid} = (await instance.status()).clusters[0];
  const damaged = await damage(await dataFiles(instance));
  t.diagnostic(`damaged ${damaged} table files`);

  await assert.rejects(cluster.read(TABLE), ({code}) => TOLD.includes(code));
  let right = 0, told = 0;
  for (let i = 0; i < ROWS; i += 7) {
    const key = keyOf(i);
    try {
      const {row} = await cluster.readRow(TABLE, key);
      assert.ok(row, `${key} must not look as if it had never been written`);
      assert.ok(row.cells[0].value.equals(valueOf(key)), `${key} has another value`);
      right++;
    } catch (err) {
      if (err.code === undefined) throw err; // an assertion
      assert.ok(TOLD.includes(err.code), `${err.code}: ${err.message}`);
      told++;
    }
  }
  t.diagnostic(`${right} rows read, ${told} refused`);
  assert.ok(right > 0, 'the rest can be read');
  assert.ok(told > 0, 'the damage was met');

  const refused = await cluster.mutate(TABLE, 'later', setCell('f', 'v', valueOf('later')))
    .then(() => undefined, err => err);
  const {row} = await cluster.readRow(TABLE, 'later');
  if (refused) {
    assert.equal(refused.code, CODE.DATA_LOSS, refused.message);
    assert.equal(row, null, 'what was refused is not there');
  } else {
    assert.ok(row.cells[0].value.equals(valueOf('later')));
  }
  t.diagnostic(`a later write is ${refused ? 'refused' : 'acknowledged'}`);
  assert.equal((await instance.status()).clusters[0].pid, pid, 'the process lives');
});

function keyOf(i) {
  return `row${String(i).padStart(6, '0')}`;
}

function valueOf(key) {
  return createHash('shake256', {outputLength: VALUE_BYTES}).update(key).digest();
}

async function dataFiles(instance) {
  const folder = join(instance.dir, 'data', 'lab-c1');
  const names = (await readdir(folder)).filter(name => name.endsWith('.sst'));
  return names.map(name => join(folder, name));
}

/** Overwrites the middle of every file that holds enough to have one. */
async function damage(paths) {
  let count = 0;
  for (const path of paths) {
    const {size} = await stat(path);
    if (size < 1 << 20) continue;
    const file = await open(path, 'r+');
    await file.write(Buffer.alloc(64 << 10, 0xa5), 0, 64 << 10, Math.floor(size / 2));
    await file.close();
    count++;
  }
  assert.ok(count > 0, 'there are files to damage');
  return count;
}
