// Moments and durations as people write them.

const two = (/** @type {number} */ n) => String(n).padStart(2, '0');

/** @param {number} ms since 1970 */
export function clock(ms) {
  const at = new Date(ms);
  return `${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** @param {number} ms since 1970 */
export function clockSeconds(ms) {
  return `${clock(ms)}:${two(new Date(ms).getSeconds())}`;
}

/** @param {number} ms since 1970 */
export function dateAndClock(ms) {
  const at = new Date(ms);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clockSeconds(ms)}`;
}

/** @param {number} ms */
export function duration(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return withRest(minutes, 'min', Math.floor(seconds % 60), 's');
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return withRest(hours, 'h', minutes % 60, 'min');
  return withRest(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

/** @param {number} whole @param {string} unit @param {number} rest @param {string} restUnit */
const withRest = (whole, unit, rest, restUnit) =>
  rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${two(rest)} ${restUnit}`;

/**
 * How long ago, in one unit: it is read at a glance, and the moment is written beside it.
 * @param {number} ms
 */
export function span(ms) {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

const dayOf = (/** @type {number} */ ms) => new Date(ms).setHours(0, 0, 0, 0);

/**
 * The day as a heading.
 * @param {number} ms @param {number} now
 */
export function dayName(ms, now) {
  const days = Math.round((dayOf(now) - dayOf(ms)) / 86_400_000);
  if (days <= 0) return 'Today';
  if (days === 1) return 'Yesterday';
  const at = new Date(ms);
  const isThisYear = at.getFullYear() === new Date(now).getFullYear();
  return at.toLocaleDateString('en-GB', {
    weekday: 'long', day: 'numeric', month: 'long', ...(isThisYear ? {} : { year: 'numeric' }),
  });
}
