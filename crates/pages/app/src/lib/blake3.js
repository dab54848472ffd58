// BLAKE3, plain hashing only, as its paper describes it.

const IV = new Uint32Array([0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19]);
const ORDER = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
const [CHUNK_START, CHUNK_END, PARENT, ROOT] = [1, 2, 4, 8];
const [BLOCK, CHUNK] = [64, 1024];

const rotated = (/** @type {number} */ word, /** @type {number} */ by) => (word >>> by) | (word << (32 - by));

/** @param {Uint32Array} v @param {number} a @param {number} b @param {number} c @param {number} d @param {number} x @param {number} y */
function mix(v, a, b, c, d, x, y) {
  v[a] = v[a] + v[b] + x;
  v[d] = rotated(v[d] ^ v[a], 16);
  v[c] = v[c] + v[d];
  v[b] = rotated(v[b] ^ v[c], 12);
  v[a] = v[a] + v[b] + y;
  v[d] = rotated(v[d] ^ v[a], 8);
  v[c] = v[c] + v[d];
  v[b] = rotated(v[b] ^ v[c], 7);
}

/**
 * @param {Uint32Array} chaining @param {Uint32Array} block @param {number} counter @param {number} length @param {number} flags
 * @returns {Uint32Array} the next chaining value
 */
function compress(chaining, block, counter, length, flags) {
  const v = new Uint32Array(16);
  v.set(chaining);
  v.set(IV.subarray(0, 4), 8);
  v[12] = counter;
  v[13] = Math.floor(counter / 2 ** 32);
  v[14] = length;
  v[15] = flags;
  let m = block;
  for (let round = 0; ; round += 1) {
    for (let i = 0; i < 4; i += 1) mix(v, i, 4 + i, 8 + i, 12 + i, m[2 * i], m[2 * i + 1]);
    for (let i = 0; i < 4; i += 1) mix(v, i, 4 + ((i + 1) % 4), 8 + ((i + 2) % 4), 12 + ((i + 3) % 4), m[8 + 2 * i], m[9 + 2 * i]);
    if (round === 6) break;
    const before = m;
    m = Uint32Array.from(ORDER, (at) => before[at]);
  }
  return Uint32Array.from({ length: 8 }, (_, i) => v[i] ^ v[i + 8]);
}

/** @param {Uint8Array} bytes at most a block; the rest is zero */
function wordsOf(bytes) {
  const block = new Uint8Array(BLOCK);
  block.set(bytes);
  const view = new DataView(block.buffer);
  return Uint32Array.from({ length: 16 }, (_, i) => view.getUint32(4 * i, true));
}

/** @param {Uint8Array} chunk @param {number} counter @param {number} root the flag of the root, where this is all */
function hashChunk(chunk, counter, root) {
  /** @type {Uint32Array} */
  let chaining = IV;
  const blocks = Math.max(1, Math.ceil(chunk.length / BLOCK));
  for (let i = 0; i < blocks; i += 1) {
    const bytes = chunk.subarray(i * BLOCK, (i + 1) * BLOCK);
    const isLast = i === blocks - 1;
    const flags = (i === 0 ? CHUNK_START : 0) | (isLast ? CHUNK_END | root : 0);
    chaining = compress(chaining, wordsOf(bytes), counter, bytes.length, flags);
  }
  return chaining;
}

/** @param {Uint8Array} bytes @param {number} counter @param {number} root @returns {Uint32Array} */
function hashTree(bytes, counter, root) {
  if (bytes.length <= CHUNK) return hashChunk(bytes, counter, root);
  // The left side is the largest power of two of chunks that leaves something for the right.
  let left = CHUNK;
  while (left * 2 < bytes.length) left *= 2;
  const block = new Uint32Array(16);
  block.set(hashTree(bytes.subarray(0, left), counter, 0));
  block.set(hashTree(bytes.subarray(left), counter + left / CHUNK, 0), 8);
  return compress(IV, block, 0, BLOCK, PARENT | root);
}

/** @param {Uint8Array | string} input @returns {string} 64 hexadecimal digits */
export function blake3(input) {
  const bytes = typeof input === 'string' ? new TextEncoder().encode(input) : input;
  const words = hashTree(bytes, 0, ROOT);
  const out = new DataView(new ArrayBuffer(32));
  words.forEach((word, i) => out.setUint32(4 * i, word, true));
  return [...new Uint8Array(out.buffer)].map((it) => it.toString(16).padStart(2, '0')).join('');
}
