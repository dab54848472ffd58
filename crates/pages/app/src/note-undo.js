// Going back: a whole version, or what one version changed, with what was written since kept.
import { merge3, mergedText, mergeSet, mergeValue } from './lib/merge3.js';
import { readVersion } from './note-acts.js';

/** @typedef {import('./note-store.js').NoteStore} NoteStore */

/** Makes the note what it was; that is a new version, nothing is lost. @param {NoteStore} store @param {number} version */
export async function goBackTo(store, version) {
  const { title, markdown, keywords } = await readVersion(store.noteId, version);
  replace(store, { title, markdown: markdown.replace(/\r\n?/g, '\n'), keywords });
}

/**
 * Takes back what one version changed. False where the same place was changed since.
 * @param {NoteStore} store @param {number} version
 */
export async function undoVersion(store, version) {
  const [before, after] = await Promise.all([readVersion(store.noteId, version - 1), readVersion(store.noteId, version)]);
  const mine = store.mine.value;
  const merge = merge3(after.markdown, mine.markdown, before.markdown);
  const title = mergeValue(after.title, mine.title, before.title);
  if (!merge.isClean || title === null) return false;
  replace(store, { title, markdown: mergedText(merge), keywords: mergeSet(after.keywords, mine.keywords, before.keywords) });
  return true;
}

/** @param {NoteStore} store @param {import('./drafts.js').Mine} text */
function replace(store, text) {
  store.write(text);
  store.saveNow();
}
