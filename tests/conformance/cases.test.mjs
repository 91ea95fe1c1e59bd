// Every case of the conformance tables, through the router and directly at one cluster.

import assert from 'node:assert/strict';
import test from 'node:test';
import GROUPS from './cases/index.mjs';
import {runCase, Target} from './run.mjs';
import {Instance} from '../support/instance.mjs';

const ONLY = process.env.CASE; // one id, for working on it

let instance;
const targets = {};

test.before(async () => {
  instance = await Instance.start();
  const {clusters} = await instance.status();
  const options = {profile: 'tx', instance};
  targets.router = new Target('router', instance.endpoint, options);
  targets.direct = new Target('direct', `127.0.0.1:${clusters[0].grpc}`, options);
});

test.after(async () => {
  Object.values(targets).forEach(target => target.close());
  await instance?.stop();
});

for (const {cases} of GROUPS) {
  for (const one of cases.filter(c => !ONLY || c.id === ONLY)) {
    for (const where of ['router', 'direct']) {
      test(`${one.id} ${where}: ${one.what}`, async () => {
        const {ok, what} = await runCase(targets[where], one);
        assert.ok(ok, what);
      });
    }
  }
}
