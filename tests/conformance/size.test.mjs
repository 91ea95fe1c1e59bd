// E6: small rows are small on disk: tens of bytes each, keys, stamps and files included.

import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import test from 'node:test';
import {ATOLL, eventually, Instance} from '../support/instance.mjs';

const ROWS = 400000;
const BYTES_PER_ROW_MAX = 99;

test('E6 400,000 rows of one byte take tens of bytes each on disk', async t => {
  const instance = await Instance.start({config: 'configs/one-zone.yaml'});
  t.after(() => instance.stop());
  execFileSync(ATOLL, ['bench', '--endpoint', instance.endpoint, '--prepare', '--table', 'small',
    '--rows', `${ROWS}`, '--value-bytes', '1'], {stdio: 'pipe'});
  await instance.atoll('gc', 'run'); // flushed and compacted
  assert.equal((await instance.cbt('count', 'small')).trim(), `${ROWS}`);
  const bytes = await eventually('it answers', async () => (await instance.status()).clusters[0].data_bytes) / ROWS;
  t.diagnostic(`${bytes.toFixed(1)} bytes a row`);
  assert.ok(bytes > 1 && bytes <= BYTES_PER_ROW_MAX, `${bytes} bytes a row`);
});
