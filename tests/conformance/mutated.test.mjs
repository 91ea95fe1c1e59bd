// Every RPC of the public services with an empty request and with 200 mutated ones, the same over
// REST/JSON, and what clusters and router ask each other: each gets an answer, all processes stay
// alive, and the data is intact.
//
// A mutated request is a random message of the right type, with names that exist, names that don't
// and no names at all, of which half have bytes changed, cut or repeated. What would start or end a
// process or remove the table that is compared is only ever asked of things that do not exist.
// SEED repeats a run; COUNT is the number of requests of each RPC to the router; a cluster gets a quarter.

import assert from 'node:assert/strict';
import http from 'node:http';
import test from 'node:test';
import grpc from '@grpc/grpc-js';
import {Api, CONTROL, METHODS, TYPES} from './api.mjs';
import {Instance} from '../support/instance.mjs';

const COUNT = Number(process.env.COUNT ?? 200);
const SEED = Number(process.env.SEED ?? Date.now() % 1e9);
const IN_FLIGHT = 16;
const DEADLINE_MS = 30000;
const DEPTH_MAX = 4;
const INSTANCE = 'projects/atoll/instances/lab';
const ABSENT = 'projects/atoll/instances/absent';
// Requests that may act on what they name.
const ACTS = /^(Create|Delete|Drop|Undelete|Restore|Copy|Update|PartialUpdate|Modify|Snapshot|Set|Cancel)/;
const KEPT = 'kept';
// Of the control services: these act on the cluster that is asked, whatever they name.
const ENDS = /^(Leave|Remove|Join|AddCluster|Release|SetCut)$/;
const NO_PROTOBUF = Buffer.alloc(20, 255);

const NAMES = [
  '', 'x', '-', KEPT, 'lab-c1', 'multi', INSTANCE, `${INSTANCE}/tables/${KEPT}`, `${INSTANCE}/tables/absent`,
  `${INSTANCE}/clusters/lab-c1`, `${INSTANCE}/clusters/-`, `${INSTANCE}/appProfiles/multi`,
  `${INSTANCE}/clusters/lab-c1/backups/b`, `operations/${INSTANCE}/operations/1`, 'projects/atoll',
  'projects/{{projectId}}/instances/lab', 'projects//instances//', '\u00e9\ud83d\ude00', 'a'.repeat(5000),
];
const ABSENT_NAMES = [
  '', 'x', ABSENT, `${ABSENT}/tables/t`, `${ABSENT}/clusters/c`, `${ABSENT}/appProfiles/p`,
  `${ABSENT}/clusters/c/backups/b`, `operations/${ABSENT}/operations/1`, 'projects//instances//', 'a'.repeat(600),
];

// Requests over HTTP: what they are about, as the API has it.
const VERBS = ['GET', 'GET', 'POST', 'POST', 'PATCH', 'PUT', 'DELETE', 'HEAD', 'BREW'];
const PATHS = [
  '', '/instances', '/instances/-', '/instances/-/clusters', '/instances/lab', '/instances/lab/clusters',
  '/instances/lab/clusters/lab-c1', '/instances/lab/clusters/-/backups', '/instances/lab/clusters/lab-c1/hotTablets',
  '/instances/lab/appProfiles', '/instances/lab/appProfiles/multi', '/instances/lab/tables',
  `/instances/lab/tables/${KEPT}`, `/instances/lab/tables/${KEPT}:checkConsistency`,
  `/instances/lab/tables/${KEPT}:getIamPolicy`, '/instances/lab:testIamPermissions',
];
const QUERIES = [
  'alt=json', 'view=FULL', 'view=9', 'pageSize=1', 'pageSize=-5', 'pageToken=%00', 'updateMask=a,b.c,*',
  'ignoreWarnings=True', 'clusterId=%ff', 'x=1', 'filter=state:READY%20AND', '=&&=', 'a'.repeat(4000),
];
const JSONS = [
  '', '{}', '[]', 'null', '"x"', '1e999', '{"name":', '{"policy":{"bindings":[{"role":"r","members":["m"]}],"etag":"%"}}',
  '{"permissions":["a",1,null]}', '{"consistencyToken":"x","standardReadRemoteWrites":{}}', '['.repeat(3000),
  `{"a":${'{"a":'.repeat(500)}1${'}'.repeat(501)}`, '{"instance":{"labels":{"a":"b","a":"c"}}}',
  '{"table":{"columnFamilies":{"f":{"gcRule":{"maxAge":"1.0000000001s"}}}}}', '{"expireTime":"0000-00-00T00:00:00Z"}',
  '\u0000\u00ff', '{"\\ud800":1}', '{"serveNodes":1e10,"location":5}', '{"rowKeyPrefix":"!!!"}',
];

/** A small generator of numbers (mulberry32), so that a seed repeats a run. */
function generator(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return {
    below: n => Math.floor(next() * n),
    chance: p => next() < p,
    pick: list => list[Math.floor(next() * list.length)],
  };
}

function varint(value) {
  const out = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 127n; rest >>= 7n) out.push(Number(rest & 127n) | 128);
  out.push(Number(rest));
  return Buffer.from(out);
}

const NUMBERS = [0, 1, 2, 5, 1000, -1, -2, 2 ** 31 - 1, -(2 ** 31), 2n ** 63n - 1n, -(2n ** 63n)];

/** Random bytes of a message of `type`, as the descriptor has it. */
function message(type, random, names, depth = 0) {
  const parts = [];
  for (const field of type?.field ?? []) {
    const times = field.label === 'LABEL_REPEATED' ? random.below(3) : Number(random.chance(0.6));
    for (let i = 0; i < times; i++) parts.push(...encode(field, random, names, depth));
  }
  return Buffer.concat(parts);
}

function encode(field, random, names, depth) {
  const tag = wire => varint((field.number << 3) | wire);
  const counted = bytes => [tag(2), varint(bytes.length), bytes];
  switch (field.type) {
  case 'TYPE_MESSAGE':
    return depth < DEPTH_MAX ?
      counted(message(TYPES.get(field.typeName.replace(/^\./, '')), random, names, depth + 1)) : [];
  case 'TYPE_STRING':
    return counted(Buffer.from(random.pick(names)));
  case 'TYPE_BYTES':
    return counted(Buffer.alloc(random.below(20), random.below(256)));
  case 'TYPE_DOUBLE': {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(random.pick([0, 0.5, -1, NaN, Infinity]));
    return [tag(1), bytes];
  }
  case 'TYPE_FLOAT': case 'TYPE_FIXED32': case 'TYPE_SFIXED32':
    return [tag(5), Buffer.alloc(4, random.below(256))];
  case 'TYPE_FIXED64': case 'TYPE_SFIXED64':
    return [tag(1), Buffer.alloc(8, random.below(256))];
  default:
    return [tag(0), varint(random.pick(NUMBERS))];
  }
}

function mutate(bytes, random) {
  const out = Buffer.from(bytes);
  switch (random.below(4)) {
  case 0:
    for (let i = random.below(4) + 1; out.length && i > 0; i--) out[random.below(out.length)] = random.below(256);
    return out;
  case 1:
    return out.subarray(0, random.below(out.length + 1));
  case 2:
    return Buffer.concat([out, out.subarray(random.below(out.length + 1))]);
  default:
    return Buffer.concat([out, Buffer.from(Array.from({length: random.below(30)}, () => random.below(256)))]);
  }
}

/** Sends raw bytes; resolves to the code, whatever it is, or null when the deadline passed. */
function send(api, path, bytes) {
  return new Promise(done => {
    const stream = api.client.makeServerStreamRequest(path, x => x, x => x, bytes, new grpc.Metadata(),
      {deadline: Date.now() + DEADLINE_MS});
    stream.on('data', () => {});
    stream.on('error', () => {});
    stream.on('status', ({code}) => done(code === grpc.status.DEADLINE_EXCEEDED ? null : code));
  });
}

async function bombard(api, method, random, count) {
  const names = ACTS.test(method.name) ? ABSENT_NAMES : NAMES;
  const requests = [Buffer.alloc(0)];
  for (let i = 0; i < count; i++) {
    const bytes = message(method.requestType.type, random, names);
    requests.push(random.chance(0.5) ? mutate(bytes, random) : bytes);
  }
  const late = [];
  const workers = Array.from({length: IN_FLIGHT}, async () => {
    for (let bytes = requests.pop(); bytes; bytes = requests.pop())
      if (await send(api, method.path, bytes) === null) late.push(bytes.toString('hex').slice(0, 400));
  });
  await Promise.all(workers);
  return late;
}

/** One request over HTTP; resolves to its status, 0 if the connection was closed, null when it is late. */
function request(port, {verb, path, body}) {
  return new Promise(done => {
    const options = {host: '127.0.0.1', port, method: verb, path, timeout: DEADLINE_MS, agent: false,
      headers: {'content-type': 'application/json', 'content-length': body.length}};
    const sent = http.request(options, answer => {
      answer.resume();
      answer.on('close', () => done(answer.statusCode));
    });
    sent.on('timeout', () => sent.destroy(done(null)));
    sent.on('error', () => done(0));
    sent.end(body);
  });
}

/** A request that may change something is only asked of an instance that does not exist. */
function randomRequest(random) {
  const verb = random.pick(VERBS);
  const reads = /GET|HEAD|BREW/.test(verb);
  let path = `/v2/projects/atoll${random.pick(PATHS)}`;
  let body = Buffer.from(random.pick(JSONS));
  if (!reads) path = path.replace('/instances/lab', '/instances/absent');
  if (random.chance(0.3)) body = mutate(body, random);
  if (random.chance(0.3)) {
    const mutated = mutate(Buffer.from(path.slice(4)), random).toString('latin1');
    if (reads || !mutated.includes('lab')) path = `/v2/${mutated}`;
  }
  if (random.chance(0.5)) path += `?${random.pick(QUERIES)}&${random.pick(QUERIES)}`;
  if (random.chance(0.1)) path += `%${random.pick(['', '0', 'zz', '2f', '00', 'c3%28'])}`;
  return {verb, path: path.replace(/[^\x21-\x7e]/g, c => `%${c.charCodeAt(0).toString(16).padStart(2, '0')}`), body};
}

async function bombardHttp(port, random) {
  const late = [];
  const requests = Array.from({length: 10 * COUNT}, () => randomRequest(random));
  const workers = Array.from({length: IN_FLIGHT}, async () => {
    for (let one = requests.pop(); one; one = requests.pop()) {
      const status = await request(port, one);
      if (status === null || status === 500 || status > 501) late.push(`${status} ${one.verb} ${one.path} ${one.body}`.slice(0, 400));
    }
  });
  await Promise.all(workers);
  return late;
}

test(`mutated requests, SEED=${SEED}`, async t => {
  const instance = await Instance.start();
  const apis = [];
  t.after(async () => {
    apis.forEach(([api]) => api.close());
    await instance.stop();
  });
  const raw = instance.raw();
  await raw.createTable(KEPT, ['f', 'g']);
  for (let i = 0; i < 50; i++)
    await raw.mutate(KEPT, `r${i}`, {setCell: {
      familyName: 'f', columnQualifier: Buffer.from('q'), timestampMicros: 1000, value: Buffer.from(`v${i}`)}});
  const before = await raw.read(KEPT);
  const {clusters} = await instance.status();
  const pids = clusters.map(c => c.pid);
  const random = generator(SEED);
  apis.push([new Api(instance.endpoint), COUNT], [new Api(`127.0.0.1:${clusters[0].grpc}`), Math.ceil(COUNT / 4)]);

  for (const method of METHODS) {
    // Writes of random requests may well be valid; they must not be of the table that is compared.
    await t.test(method.path, async () => {
      for (const [api, count] of apis) {
        const late = await bombard(api, /Mutate|ReadModify/.test(method.name) ? {...method, name: 'Set'} : method,
          random, count);
        assert.deepEqual(late, [], 'requests without an answer in time');
      }
    });
  }
  for (const method of CONTROL) {
    await t.test(method.path, async () => {
      for (const [api, count] of apis) {
        if (ENDS.test(method.name))
          assert.notEqual(await send(api, method.path, NO_PROTOBUF), grpc.status.OK);
        else
          assert.deepEqual(await bombard(api, method, random, count), []);
      }
    });
  }
  await t.test('REST', async () => {
    assert.deepEqual(await bombardHttp(instance.httpPort, random), [], 'late, or a fault of the server');
  });
  await t.test('all processes live on and the data is as it was', async () => {
    const after = await instance.status();
    assert.deepEqual(after.clusters.map(c => c.pid), pids);
    assert.deepEqual((await raw.read(KEPT)).rows, before.rows);
    assert.equal((await raw.mutate(KEPT, 'r0')
      .catch(err => err)).code, grpc.status.INVALID_ARGUMENT);
  });
});
