// Counts texts as they come: a line of standard input is a JSON array of a vocabulary's name and a text, and a line of
// standard output the number of tokens.

import { createInterface } from "node:readline";
import { VOCABULARIES } from "./vocabularies.mjs";

const NAMES = ["claude", "cl100k", "o200k", "qwen"];

for await (const line of createInterface({ input: process.stdin })) {
  const [name, text] = JSON.parse(line);
  console.log(VOCABULARIES[NAMES.indexOf(name)].count(text));
}
