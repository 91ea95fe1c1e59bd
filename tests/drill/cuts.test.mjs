// Links that are cut, between two, around one, and one way, while clients write to every cluster. A
// third passes on what two do not tell each other; what is not known is not 0; tokens are false; and
// all is equal once the links are healed.

import assert from 'node:assert/strict';
import test from 'node:test';
import {checkEverywhere, Dice, FAMILY, Ledger, newSeed, sleep, Writer} from '../support/drill.mjs';
import {eventually, Instance, replicated} from '../support/instance.mjs';
import {deleteRow, setCell} from '../support/raw.mjs';

const TABLE = 'fleet';
const IDS = ['lab-c1', 'lab-c2', 'lab-c3'];

let instance;
let clients; // of the clusters themselves
test.before(async () => {
  instance = await Instance.start();
  await instance.raw('multi').createTable(TABLE, [FAMILY]);
  await replicated(instance);
  clients = Object.fromEntries(await Promise.all(IDS.map(async id => [id, await instance.direct(id)])));
});
test.afterEach(() => instance.atoll('heal'));
test.after(() => instance?.stop());

const cut = (...args) => instance.atoll('cut', ...args);
const heal = (...args) => instance.atoll('heal', ...args);

/** What `behind` knows of its link to `ahead`. */
async function link(behind, ahead) {
  const {clusters} = await instance.status();
  return clusters.find(c => c.id === behind).lag[ahead];
}

const write = (id, key) => clients[id].mutate(TABLE, key, setCell(FAMILY, 'v', key));
const has = async (id, key) => (await clients[id].readRow(TABLE, key)).row !== null;

test('what two do not tell each other the third passes on', async () => {
  await cut('lab-c1', 'lab-c2');
  const {link: state, entries, ms} = await link('lab-c1', 'lab-c2');
  assert.deepEqual({state, entries, ms}, {state: 'CUT', entries: null, ms: null});
  assert.equal((await link('lab-c2', 'lab-c1')).link, 'CUT');
  await eventually('the others are not cut', async () => (await link('lab-c1', 'lab-c3')).link !== 'CUT');
  await write('lab-c1', 'around');
  await eventually('it came by lab-c3', () => has('lab-c2', 'around'));
  const token = await clients['lab-c1'].token(TABLE);
  assert.equal(await clients['lab-c1'].consistent(TABLE, token), false);
  await heal('lab-c1', 'lab-c2');
  await eventually('the token is true', () => clients['lab-c1'].consistent(TABLE, token));
  await replicated(instance);
});

test('nothing passes in or out of one that is cut from all', async () => {
  await cut('lab-c3', 'lab-c1');
  await cut('lab-c3', 'lab-c2');
  await write('lab-c1', 'outside');
  await write('lab-c3', 'inside');
  const tokens = await Promise.all(IDS.map(id => clients[id].token(TABLE)));
  await eventually('the others go on', () => has('lab-c2', 'outside'));
  await sleep(1000);
  assert.equal(await has('lab-c3', 'outside'), false);
  assert.equal(await has('lab-c1', 'inside'), false);
  const early = await Promise.all(IDS.map((id, i) => clients[id].consistent(TABLE, tokens[i])));
  assert.deepEqual(early, [false, false, false]);
  assert.equal((await link('lab-c3', 'lab-c1')).entries, null);
  await clients['lab-c3'].mutate(TABLE, 'outside', deleteRow); // of what it does not have yet
  await heal();
  await replicated(instance);
  for (const id of IDS) assert.deepEqual([await has(id, 'outside'), await has(id, 'inside')], [false, true], id);
  for (const [i, id] of IDS.entries())
    await eventually(`the token of ${id} is true`, () => clients[id].consistent(TABLE, tokens[i]));
});

test('a link that is cut one way passes the other way', async t => {
  await instance.kill('lab-c3');
  t.after(() => instance.startCluster('lab-c3').catch(() => {}));
  await cut('lab-c1', 'lab-c2', '--one-way');
  await write('lab-c1', 'passes');
  await write('lab-c2', 'waits');
  await eventually('lab-c2 still asks', () => has('lab-c2', 'passes'));
  await sleep(500);
  assert.equal(await has('lab-c1', 'waits'), false);
  assert.equal((await link('lab-c1', 'lab-c2')).entries, null);
  await eventually('the other way is not', async () => (await link('lab-c2', 'lab-c1')).link !== 'CUT');
  await instance.startCluster('lab-c3');
  await eventually('it comes by lab-c3', () => has('lab-c1', 'waits'));
  await heal();
  await replicated(instance);
});

test('writers everywhere, random cuts, then all is equal', async t => {
  const seed = newSeed();
  const dice = new Dice(seed);
  t.diagnostic(`SEED=${seed}`);
  const ledger = new Ledger();
  for (const key of ['around', 'inside', 'passes', 'waits']) ledger.acknowledge(key, key);
  const writers = IDS.map(id => new Writer({raw: clients[id], table: TABLE, name: id, ledger,
    dice: new Dice(seed + id.charCodeAt(5)), erase: 0.1}));
  for (let round = 0; round < 5; round++) {
    for (let i = dice.between(1, 3); i > 0; i--) {
      const first = dice.between(0, 2);
      const pair = [IDS[first], IDS[(first + dice.between(1, 2)) % 3]];
      await cut(...pair, ...(dice.chance(0.4) ? ['--one-way'] : []));
    }
    await sleep(dice.between(50, 700));
    if (dice.chance(0.7)) await heal();
  }
  await heal();
  await Promise.all(writers.map(writer => writer.stop()));
  assert.deepEqual(ledger.errors, []);
  await replicated(instance);
  await checkEverywhere(instance, TABLE, ledger);
  t.diagnostic(`${ledger.writes} writes, ${ledger.deletes} deletes`);
  await instance.digest();
});
