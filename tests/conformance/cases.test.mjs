// Every case of the conformance tables, through the router and directly at one cluster.

import assert from 'node:assert/strict';
import test from 'node:test';
import GROUPS from './cases/index.mjs';
import {runCase, Target} from './run.mjs';
import {Instance} from '../support/instance.mjs';

const ONLY = process.env.CASE?.split(','); // some ids, for working on them

test('the cases', async t => {
  const instance = await Instance.start();
  const targets = [];
  t.after(async () => {
    targets.forEach(target => target.close());
    await instance.stop();
  });
  const {clusters} = await instance.status();
  const options = {profile: 'tx', instance};
  targets.push(new Target('router', instance.endpoint, options),
    new Target('direct', `127.0.0.1:${clusters[0].grpc}`, options));

  for (const one of GROUPS.flatMap(({cases}) => cases).filter(({id}) => !ONLY || ONLY.includes(id))) {
    for (const target of one.routed ? targets.slice(0, 1) : targets) {
      await t.test(`${one.id} ${target.name}: ${one.what}`, async () => {
        const {ok, what} = await runCase(target, one);
        assert.ok(ok, what);
      });
    }
  }
});
