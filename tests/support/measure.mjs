// measure.mjs: what measurements share: processor time, memory and disk of a process.

import {readdir, readFile, stat} from 'node:fs/promises';
import {join} from 'node:path';

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
