// report.mjs: what was seen, in plain lines, and whether all of it held.

let failures = 0;
let steps = 0;

export function step(title) {
  console.log(`\n${++steps}. ${title}`);
}

export function say(text) {
  console.log(`   ${text}`);
}

/** A fact that has to hold. */
export function check(text, holds) {
  console.log(`   ${holds ? 'ok    ' : 'FAILED'}  ${text}`);
  if (!holds) failures++;
}

export function failed() {
  return failures;
}

export function seconds(since) {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
