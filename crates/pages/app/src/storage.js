// What this browser keeps. Storage may be full or forbidden: then it is said, and nothing else breaks.

/** @param {Storage} storage @param {string} key */
function read(storage, key) {
  try {
    return storage.getItem(key);
  } catch {
    return null;
  }
}

/** @param {Storage} storage @param {string} key @param {string | null} value @returns {boolean} whether it is kept */
function write(storage, key, value) {
  try {
    if (value === null) storage.removeItem(key);
    else storage.setItem(key, value);
    return true;
  } catch {
    return false;
  }
}

/** @param {string} key */
export const kept = (key) => read(localStorage, `bonded.${key}`);
/** @param {string} key @param {string | null} value */
export const keep = (key, value) => write(localStorage, `bonded.${key}`, value);
/** For this tab only: drafts and folds. @param {string} key */
export const keptHere = (key) => read(sessionStorage, `bonded.${key}`);
/** @param {string} key @param {string | null} value */
export const keepHere = (key, value) => write(sessionStorage, `bonded.${key}`, value);
