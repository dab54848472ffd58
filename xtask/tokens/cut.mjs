// Cuts every text below a directory, DIR/KIND/FILE, with each vocabulary. Prints for each text a line with its path, and
// then a line for each vocabulary: at which of its bytes a token begins.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { VOCABULARIES } from "./vocabularies.mjs";

const byteLength = (text) => Buffer.byteLength(text);

// Where in the text each byte was of what a vocabulary sees instead of it.
function places(text, form) {
  const places = [];
  let at = 0;
  for (const letter of text) {
    const length = byteLength(letter);
    for (let n = 0; n < byteLength(letter.normalize(form)); n += 1) places.push(at + Math.min(n, length - 1));
    at += length;
  }
  return places;
}

function begins(text, { cut, form }) {
  let at = 0;
  const begins = cut(text).map((length) => (at += length) - length);
  if (!form || text.normalize(form) === text) return begins;
  const place = places(text, form);
  return begins.map((begin) => place[begin] ?? byteLength(text) - 1);
}

const dir = process.argv[2];
for (const kind of readdirSync(dir).sort()) {
  for (const name of readdirSync(join(dir, kind)).sort()) {
    const text = readFileSync(join(dir, kind, name), "utf8");
    console.log(join(kind, name));
    for (const vocabulary of VOCABULARIES) console.log(begins(text, vocabulary).join(" "));
  }
}
