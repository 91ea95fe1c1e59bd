// measure.mjs: what measurements share: percentiles, processor time, memory and disk of a process,
// and how long a write takes to be seen elsewhere.

import {readdir, readFile, stat} from 'node:fs/promises';
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import {FAMILY} from './drill.mjs';
import {setCell} from './raw.mjs';

export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] : NaN;
}

/** Processor time so far, in seconds. */
export async function cpuSeconds(pid) {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

export async function rssMiB(pid) {
  const text = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(text)[1]) / 1024;
}

/** What a folder holds, in bytes; files that go meanwhile count nothing. */
export async function folderBytes(folder) {
  let bytes = 0;
  for (const entry of await readdir(folder, {withFileTypes: true}).catch(() => [])) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) bytes += await folderBytes(path);
    else bytes += (await stat(path).catch(() => ({size: 0}))).size;
  }
  return bytes;
}

/**
 * Writes a marker at one cluster every `everyMs` and reads it at the others until it is there;
 * resolves to the milliseconds from the answer to the write until a read has it.
 */
export async function visibleLags(writer, readers, table, {seconds, everyMs = 50}) {
  const lags = [];
  const end = performance.now() + seconds * 1000;
  for (let i = 0; performance.now() < end; i++) {
    const key = `marker#${i}`;
    await writer.mutate(table, key, setCell(FAMILY, 'm', '1'));
    const start = performance.now();
    await Promise.all(readers.map(async reader => {
      while (!(await reader.readRow(table, key)).row) await sleep(0);
      lags.push(performance.now() - start);
    }));
    await sleep(everyMs);
  }
  return lags;
}
