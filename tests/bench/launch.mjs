#!/usr/bin/env node
// launch.mjs [ROUNDS]: how long it takes until an instance serves. Prints the median and the range of
// ROUNDS (default 10) starts of: three zones in a new folder, the same folder again, one more
// instance in it by CreateInstance, one more cluster, and the emulator until its ready line.
// Markdown. About half a minute.
//
// ATOLL names the program (default build/release/atoll).

import {execFile, spawn} from 'node:child_process';
import {mkdtemp, rm} from 'node:fs/promises';
import {loadavg, tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import {promisify} from 'node:util';

const ATOLL = process.env.ATOLL ?? 'build/release/atoll';
const ROUNDS = Number(process.argv[2] ?? 10);
const PORTS = ['--grpc-port', '0', '--http-port', '0'];
const run = promisify(execFile);
const dir = await mkdtemp(join(tmpdir(), 'atoll-launch-'));
const times = new Map();

async function timed(name, act) {
  const begin = performance.now();
  const result = await act();
  times.set(name, [...(times.get(name) ?? []), performance.now() - begin]);
  return result;
}

async function emulatorReady() {
  const child = spawn(ATOLL, ['emulator', '-port', '0'], {stdio: ['ignore', 'pipe', 'ignore']});
  await new Promise((resolve, reject) => {
    child.stdout.once('data', resolve);
    child.once('exit', (code) => reject(new Error(`the emulator ended with ${code}`)));
  });
  return child;
}

async function ended(base, name) {
  for (;;) {
    const operation = await (await fetch(`${base}/v2/${name}`)).json();
    if (operation.error) throw new Error(JSON.stringify(operation.error));
    if (operation.done) return;
    await sleep(2);
  }
}

async function post(base, path, body) {
  const answer = await fetch(`${base}/v2/${path}`, {method: 'POST', body: JSON.stringify(body)});
  const operation = await answer.json();
  if (!answer.ok) throw new Error(JSON.stringify(operation));
  await ended(base, operation.name);
}

function cluster(zone) {
  return {location: `projects/atoll/locations/${zone}`, serveNodes: 1};
}

async function round(number) {
  const state = ['--state-dir', join(dir, String(number))];
  const up = ['up', '--detach', '-c', 'configs/three-zones.yaml', ...PORTS, ...state];
  await timed('three zones, a new folder', () => run(ATOLL, up));
  await run(ATOLL, ['down', ...state]);
  await timed('three zones, again', () => run(ATOLL, ['up', '--detach', ...PORTS, ...state]));
  const {stdout} = await run(ATOLL, ['status', '--json', ...state]);
  const base = `http://127.0.0.1:${JSON.parse(stdout).router.http}`;
  await timed('CreateInstance, one cluster, until done', () =>
    post(base, 'projects/atoll/instances', {
      instanceId: 'more',
      instance: {displayName: 'One more'},
      clusters: {'more-c1': cluster('us-east1-b')},
    }));
  await timed('CreateCluster, no data, until done', () =>
    post(base, 'projects/atoll/instances/more/clusters?clusterId=more-c2', cluster('us-east1-c')));
  await run(ATOLL, ['down', ...state]);
  const child = await timed('emulator, until its ready line', emulatorReady);
  child.kill('SIGKILL');
}

try {
  for (let i = 0; i < ROUNDS; i++) await round(i);
} finally {
  await rm(dir, {recursive: true, force: true});
}
console.log(`${ROUNDS} rounds; load of the machine ${loadavg()[0].toFixed(1)}\n`);
console.log('| | median ms | least | most |\n| --- | --: | --: | --: |');
for (const [name, all] of times) {
  const sorted = [...all].sort((a, b) => a - b);
  const shown = [sorted[Math.floor(sorted.length / 2)], sorted[0], sorted.at(-1)];
  console.log(`| ${name} | ${shown.map((ms) => ms.toFixed(0)).join(' | ')} |`);
}
