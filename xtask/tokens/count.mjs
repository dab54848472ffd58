// Counts the tokens of the samples in a directory with each vocabulary: the whole text, its first 1000 bytes and its
// first 300. Prints a line for each: kind, file, bytes, tokens.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { VOCABULARIES } from "./vocabularies.mjs";

const SAMPLES = [
  ["english", "english.txt"],
  ["code", "module.rs.txt"],
  ["code", "script.py.txt"],
  ["code", "page.js.txt"],
  ["json", "tool_output.json.txt"],
  ["json", "compact.json.txt"],
  ["logs", "server.log.txt"],
  ["markdown", "guide.md.txt"],
  ["markdown", "changes.md.txt"],
  ["chinese", "chinese.txt"],
  ["base64", "base64.txt"],
  ["base64", "certificate.txt"],
  ["scripts", "scripts.txt"],
];

// Not more bytes than that, and no letter cut.
function first(bytes, most) {
  let end = Math.min(most, bytes.length);
  while (end < bytes.length && (bytes[end] & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end);
}

console.log("# What the vocabularies themselves count. Written by `cargo xtask tokens --write`; not to be edited by hand.");
console.log("# kind\tfile\tbytes\tclaude\tcl100k\to200k\tqwen");
for (const [kind, name] of SAMPLES) {
  const whole = readFileSync(join(process.argv[2], name));
  for (const most of [whole.length, 1000, 300]) {
    const part = first(whole, most);
    const text = part.toString("utf8");
    console.log([kind, name, part.length, ...VOCABULARIES.map(({ cut }) => cut(text).length)].join("\t"));
  }
}
