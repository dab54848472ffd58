// Counts, sizes and money.

const grouped = new Intl.NumberFormat('en-US');

/** @param {number} n */
export const count = (n) => grouped.format(n);

/** @param {number} n @param {string} one @param {string} [many] */
export const counted = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** @param {number} usd */
export function money(usd) {
  if (usd === 0) return '$0';
  const size = Math.abs(usd);
  const digits = size >= 1 ? 2 : size >= 0.01 ? 3 : size >= 0.0001 ? 4 : 6;
  return `${usd < 0 ? '−' : ''}$${size.toFixed(digits)}`;
}

/** A limit is written as it was given: without zeros that nobody wrote. @param {number} usd */
export function limitMoney(usd) {
  const isWholeCents = Math.abs(usd * 100 - Math.round(usd * 100)) < 1e-9;
  return isWholeCents ? `$${usd.toFixed(2)}` : `$${Number(usd.toPrecision(4))}`;
}

/** @param {number} bytes */
export function bytes(bytes) {
  if (bytes < 1024) return counted(bytes, 'byte');
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(bytes < 10_240 ? 1 : 0)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** @param {number} part @param {number} whole */
export const percent = (part, whole) => (whole > 0 ? Math.min(100, Math.max(0, (part / whole) * 100)) : 0);
