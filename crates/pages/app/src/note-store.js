// One note that is open: what the server has, what was written here, and how the two become one text.
//
// Every change is sent with a key that is kept with the draft until the answer is here. A change whose answer was lost
// is sent again with the same key and happens once. Changes of others are merged when no answer is awaited: until then
// it is unknown which of them is one's own.
import { signal } from '../vendor/signals.js';
import { api, ApiError, newKey } from './api.js';
import { draftFor, dropDraft, putDraft, tabId } from './drafts.js';
import { merge3, mergedText, mergeSet, mergeValue, resolved } from './lib/merge3.js';
import { editsBetween, patchOf } from './lib/edits.js';
import { auth, me, say, wire } from './state.js';
import { hear } from './socket.js';
import { actorName, isMine } from './workspace.js';

/**
 * @typedef {import('./drafts.js').Base} Base
 * @typedef {import('./drafts.js').Mine} Mine
 * @typedef {import('./workspace-types.js').Note} Note
 * @typedef {import('./lib/merge3.js').Conflict} Conflict
 * @typedef {{ theirs: Base, by: string, merge: import('./lib/merge3.js').Merge, title: { base: string, mine: string, theirs: string } | null }} Open
 * @typedef {'loading' | 'saved' | 'typing' | 'saving' | 'unsent' | 'choice' | 'refused' | 'failed'} Status
 */

const SAVE_MS = 600;
// Who types without a pause is saved nevertheless.
const SAVE_MOST_MS = 5000;
const RETRY_MS = [500, 1000, 2000, 5000];
const TINT_MS = 3000;
const END_MS = 1000;

/** @type {Map<string, NoteStore>} */
const stores = new Map();

/** The store of a note; one for each, so that a change that is under way is never overtaken by another of the same page. @param {string} noteId @param {Note} [fresh] */
export function storeOf(noteId, fresh) {
  let store = stores.get(noteId);
  if (!store) {
    store = new NoteStore(noteId);
    stores.set(noteId, store);
    store.opened = store.open(fresh);
  }
  return store;
}

/** @param {string} raw */
const lineBreaks = (raw) => raw.replace(/\r\n?/g, '\n');

// Half of a character cannot be sent: a browser leaves one where a paste was cut.
const wellFormed = (/** @type {string} */ text) => text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd');

/** @param {Note} note @returns {Base} */
const baseOf = (note) => ({ version: note.version, title: note.title, markdown: lineBreaks(note.markdown), raw: note.markdown, keywords: note.keywords });

/** @param {{ title: string, markdown: string, keywords: string[] }} it @returns {Mine} */
const mineOf = ({ title, markdown, keywords }) => ({ title, markdown, keywords });

/** Names a choice by what it is about: it holds when the same question comes again. @param {Conflict} it */
export const choiceKey = (it) => JSON.stringify([it.base, it.mine, it.theirs]);
export const TITLE_KEY = 'title';

/** Who changed it, where that was not told, and where it was the same person. */
export const ANOTHER = 'another person';
export const ELSEWHERE = 'you, elsewhere';

export class NoteStore {
  /** @param {string} noteId */
  constructor(noteId) {
    this.noteId = noteId;
    /** @type {import('../vendor/signals.js').Signal<Note | null>} */
    this.note = signal(null);
    /** @type {import('../vendor/signals.js').Signal<Mine>} */
    this.mine = signal({ title: '', markdown: '', keywords: [] });
    /** @type {import('../vendor/signals.js').Signal<Status>} */
    this.status = signal('loading');
    /** @type {import('../vendor/signals.js').Signal<unknown>} */
    this.error = signal(null);
    /** @type {import('../vendor/signals.js').Signal<Open | null>} */
    this.choice = signal(null);
    /** Places in the text that others just changed. @type {import('../vendor/signals.js').Signal<{ from: number, to: number }[]>} */
    this.tinted = signal([]);
    /** Whether this browser keeps what is not saved. */
    this.isKept = signal(true);
    this.savedAt = signal(0);
    /** @type {Base | null} */
    this.base = null;
    /** @type {{ key: string, body: any } | null} */
    this.sending = null;
    /** @type {import('../vendor/signals.js').Signal<Map<string, import('./lib/merge3.js').Choice>>} */
    this.choices = signal(new Map());
    /** Told when the text changes otherwise than by typing. @type {(edits: import('./lib/edits.js').Edit[]) => void} */
    this.onMerged = () => {};
    /** @type {{ note: Note, by: string } | null} */
    this.later = null;
    this.isBusy = false;
    this.users = 0;
    this.failures = 0;
    this.timer = 0;
    this.retryTimer = 0;
    this.tintTimer = 0;
    this.endTimer = 0;
    this.dirtySince = 0;
    this.draftKey = '';
    /** @type {(() => void)[]} */
    this.ends = [];
  }

  // ---- opening and leaving ----

  /** @param {Note} [fresh] the note, where it was just read or made */
  async open(fresh) {
    this.ends = [
      hear({ event: (it) => it.note_id === this.noteId && void this.heard(it), refresh: () => void this.readAgain(ANOTHER) }),
      auth.subscribe((is) => is === 'in' && this.retry()),
      wire.subscribe((it) => it.mode !== 'offline' && this.retry()),
    ];
    const draft = fresh ? null : await draftFor(me.value?.id ?? '', this.noteId);
    this.draftKey = `${me.value?.id ?? ''}/${this.noteId}/${await tabId()}`;
    if (draft) this.takeDraft(draft);
    await this.load(fresh);
    if (draft && draft.key !== this.draftKey && (await this.keepDraft())) void dropDraft(draft.key);
  }

  /** @param {import('./drafts.js').Draft} draft */
  takeDraft(draft) {
    this.base = draft.base;
    this.mine.value = draft.mine;
    this.sending = draft.sending;
    this.choices.value = new Map(draft.choices);
    this.status.value = 'unsent';
  }

  /** @param {Note} [fresh] */
  async load(fresh) {
    try {
      const note = fresh ?? (await this.read());
      this.error.value = null;
      if (!this.base) {
        this.takeBase(note);
        this.mine.value = mineOf(baseOf(note));
        this.status.value = 'saved';
      } else {
        this.take(note, ANOTHER);
        void this.pump();
      }
    } catch (error) {
      this.error.value = error;
      // What was written here can be seen and continued without the server.
      this.status.value = this.base && error instanceof ApiError && (error.isPassing || error.status === 401) ? 'unsent' : 'failed';
      if (this.status.value === 'unsent') this.retryLater();
    }
  }

  use() {
    this.users += 1;
    return () => {
      this.users -= 1;
      this.saveNow();
      this.endLater();
    };
  }

  // The next view of the same note takes the store over: it is not ended between the two.
  endLater() {
    clearTimeout(this.endTimer);
    this.endTimer = setTimeout(() => this.endIfDone(), END_MS);
  }

  /** A store that is not shown lives until all is saved. */
  endIfDone() {
    if (this.users > 0 || !['saved', 'failed'].includes(this.status.value)) return;
    this.ends.forEach((it) => it());
    clearTimeout(this.retryTimer);
    if (stores.get(this.noteId) === this) stores.delete(this.noteId);
  }

  /** @returns {Promise<Note>} */
  read() {
    return api('GET', `/api/notes/${this.noteId}`);
  }

  // ---- writing ----

  /** What a person wrote. @param {Partial<Mine>} part */
  write(part) {
    this.mine.value = { ...this.mine.value, ...part };
    if (this.tinted.value.length > 0) this.tinted.value = [];
    void this.keepDraft();
    this.saveSoon();
  }

  saveSoon() {
    if (!this.isDirty() && !this.sending) {
      this.setSaved();
      return;
    }
    this.dirtySince ||= Date.now();
    if (!this.choice.value && ['saved', 'refused', 'choice'].includes(this.status.value)) this.status.value = 'typing';
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.pump(), Math.min(SAVE_MS, Math.max(0, this.dirtySince + SAVE_MOST_MS - Date.now())));
  }

  saveNow() {
    clearTimeout(this.timer);
    void this.pump();
  }

  isDirty() {
    const [base, mine] = [this.base, this.mine.value];
    return base !== null && (mine.markdown !== base.markdown || this.hasNewTitle() || mine.keywords.join('\n') !== base.keywords.join('\n'));
  }

  // A title that was emptied is about to be written anew: the one before stays until then.
  hasNewTitle() {
    const title = this.mine.value.title.trim();
    return this.base !== null && title !== '' && title !== this.base.title;
  }

  body() {
    const base = /** @type {Base} */ (this.base);
    const mine = this.mine.value;
    const isDos = base.raw.includes('\r\n');
    const raw = isDos ? mine.markdown.replace(/\n/g, '\r\n') : mine.markdown;
    return {
      base_version: base.version,
      ...(this.hasNewTitle() ? { title: mine.title.trim() } : {}),
      ...(mine.markdown === base.markdown ? {} : { patch_ops: patchOf(base.raw, wellFormed(raw)) }),
      ...(mine.keywords.join('\n') === base.keywords.join('\n') ? {} : { keywords: mine.keywords }),
    };
  }

  async pump() {
    if (this.isBusy) return;
    this.isBusy = true;
    clearTimeout(this.retryTimer);
    try {
      while (await this.step());
    } finally {
      this.isBusy = false;
    }
    if (this.users === 0) this.endLater();
  }

  /** One request. @returns {Promise<boolean>} whether there is more to send at once */
  async step() {
    if (this.choice.value || !this.base) return false;
    if (auth.value !== 'in') {
      if (this.isDirty() || this.sending) this.status.value = 'unsent';
      return false;
    }
    if (!this.sending) {
      if (!this.isDirty()) {
        this.setSaved();
        return false;
      }
      this.sending = { key: newKey(), body: this.body() };
      // The key must be kept before the server can know it.
      await this.keepDraft();
    }
    this.status.value = 'saving';
    try {
      const note = await api('PATCH', `/api/notes/${this.noteId}`, this.sending.body, undefined, { key: this.sending.key });
      return this.sent(note);
    } catch (error) {
      return this.refused(error);
    }
  }

  /** @param {Note} note */
  sent(note) {
    this.sending = null;
    this.failures = 0;
    this.dirtySince = 0;
    this.takeBase(note);
    this.error.value = null;
    const { later } = this;
    this.later = null;
    if (later) this.take(later.note, later.by);
    if (!this.isDirty()) {
      this.setSaved();
    } else {
      void this.keepDraft();
      if (!this.choice.value) {
        this.status.value = 'typing';
        this.saveSoon();
      }
    }
    return false;
  }

  setSaved() {
    if (this.status.value !== 'saved') {
      this.status.value = 'saved';
      this.savedAt.value = Date.now();
    }
    this.dirtySince = 0;
    this.choices.value = new Map();
    void this.keepDraft();
  }

  /** @param {unknown} error */
  async refused(error) {
    const known = error instanceof ApiError ? error : null;
    if (known?.code === 'VERSION_CONFLICT') return this.overtaken();
    if (known?.isPassing || known?.status === 401) {
      this.status.value = 'unsent';
      if (known.status !== 401) this.retryLater();
      return false;
    }
    this.sending = null;
    this.error.value = error;
    this.status.value = 'refused';
    void this.keepDraft();
    return false;
  }

  /** The note is further than the change: nothing was written; merge, then send again. */
  async overtaken() {
    try {
      const note = await this.read();
      this.sending = null;
      const by = this.later?.by ?? ANOTHER;
      this.later = null;
      this.take(note, by);
      void this.keepDraft();
      return !this.choice.value;
    } catch {
      // Sent again with its key it is refused again: nothing is lost by asking later.
      this.status.value = 'unsent';
      this.retryLater();
      return false;
    }
  }

  retryLater() {
    const ms = RETRY_MS[Math.min(this.failures, RETRY_MS.length - 1)];
    this.failures += 1;
    clearTimeout(this.retryTimer);
    this.retryTimer = setTimeout(() => this.retry(), ms);
  }

  retry() {
    if (this.status.value !== 'unsent' || this.isBusy) return;
    if (this.note.value) void this.pump();
    else void this.load();
  }

  // ---- what others write ----

  /** @param {import('./workspace-types.js').Event} event */
  async heard(event) {
    if (event.version !== null && this.base && event.version <= this.base.version) return;
    await this.readAgain(isMine(event) ? ELSEWHERE : actorName(event));
  }

  /** @param {string} by */
  async readAgain(by) {
    if (!this.base) return;
    const note = await this.read().catch(() => null);
    if (note) this.take(note, by);
  }

  /** @param {Note} note */
  takeBase(note) {
    this.base = baseOf(note);
    this.note.value = note;
  }

  /** @param {Note} note @param {string} by */
  take(note, by) {
    if (!this.base) return;
    if (this.sending) {
      if (!this.later || this.later.note.version < note.version) this.later = { note, by };
      return;
    }
    if (note.version <= this.base.version) {
      if (!this.note.value) this.note.value = note;
      return;
    }
    const [base, mine, theirs] = [this.base, this.mine.value, baseOf(note)];
    const myTitle = this.hasNewTitle() ? mine.title.trim() : base.title;
    const title = mergeValue(base.title, myTitle, theirs.title);
    const merge = merge3(base.markdown, mine.markdown, theirs.markdown);
    this.note.value = note;
    if (merge.isClean && title !== null) {
      this.base = theirs;
      this.choice.value = null;
      // A title that only one side changed stays as it is being written, with the space before the next word.
      this.putMerged({ title: title === myTitle ? mine.title : title, markdown: mergedText(merge), keywords: mergeSet(base.keywords, mine.keywords, theirs.keywords) }, by);
      return;
    }
    this.choice.value = { theirs, by, merge, title: title === null ? { base: base.title, mine: myTitle, theirs: theirs.title } : null };
    this.status.value = 'choice';
    say(`${by} changed the same place of this note`);
    void this.keepDraft();
  }

  /** @param {Mine} merged @param {string} by */
  putMerged(merged, by) {
    const edits = editsBetween(this.mine.value.markdown, merged.markdown);
    this.mine.value = merged;
    if (edits.length > 0) {
      this.onMerged(edits);
      this.tint(edits);
      say(`${by} changed this note`);
    }
    if (this.isDirty()) {
      void this.keepDraft();
      this.saveSoon();
    } else if (this.status.value !== 'failed') {
      this.setSaved();
    }
  }

  /** @param {import('./lib/edits.js').Edit[]} edits */
  tint(edits) {
    let shift = 0;
    this.tinted.value = edits.map(({ from, to, put }) => {
      const place = { from: from + shift, to: from + shift + put.length };
      shift += put.length - (to - from);
      return place;
    });
    clearTimeout(this.tintTimer);
    this.tintTimer = setTimeout(() => (this.tinted.value = []), TINT_MS);
  }

  // ---- choices ----

  /** @param {string} key @param {import('./lib/merge3.js').Choice | null} choice */
  choose(key, choice) {
    const next = new Map(this.choices.value);
    if (choice) next.set(key, choice);
    else next.delete(key);
    this.choices.value = next;
    void this.keepDraft();
  }

  /** Ends the choice where every question has an answer. */
  finishChoice() {
    const open = this.choice.value;
    const base = this.base;
    if (!open || !base) return false;
    const markdown = resolved(open.merge, (it) => this.choices.value.get(choiceKey(it)));
    const title = open.title ? titleOf(open.title, this.choices.value.get(TITLE_KEY)) : mergeValue(base.title, this.hasNewTitle() ? this.mine.value.title.trim() : base.title, open.theirs.title);
    if (markdown === null || title === null) return false;
    const keywords = mergeSet(base.keywords, this.mine.value.keywords, open.theirs.keywords);
    this.base = open.theirs;
    this.choice.value = null;
    this.status.value = 'typing';
    this.putMerged({ title, markdown, keywords }, 'You');
    this.saveNow();
    return true;
  }

  // ---- the draft ----

  /** Writes the draft as it is now; a write that is under way is followed by one more, however often it was asked for. */
  keepDraft() {
    if (this.writing) this.isStale = true;
    else this.writing = this.writeDraft();
    return this.writing;
  }

  /** @returns {Promise<boolean>} */
  async writeDraft() {
    let isKept = true;
    do {
      this.isStale = false;
      isKept = await this.writeOnce();
    } while (this.isStale);
    // In the same moment as the look above: who asks from now on starts a write of their own.
    this.writing = null;
    this.isKept.value = isKept;
    return isKept;
  }

  writeOnce() {
    if (!this.base || !this.draftKey) return Promise.resolve(true);
    const isNeeded = this.isDirty() || this.sending || this.choice.value;
    // Without anything to keep there is nothing to say about the storage.
    if (!isNeeded) return dropDraft(this.draftKey).then(() => true);
    return putDraft({
      key: this.draftKey, user: me.value?.id ?? '', noteId: this.noteId, tab: this.draftKey.split('/')[2], base: this.base,
      mine: this.mine.value, sending: this.sending, choices: [...this.choices.value], at: Date.now(),
    });
  }

  /** @type {Promise<void>} */
  opened = Promise.resolve();
  /** @type {Promise<boolean> | null} */
  writing = null;
  isStale = false;
}

/** @param {{ mine: string, theirs: string }} titles @param {import('./lib/merge3.js').Choice | undefined} choice */
function titleOf(titles, choice) {
  if (!choice) return null;
  if (choice.pick === 'hand') return choice.text?.trim() || titles.mine;
  return choice.pick === 'theirs' ? titles.theirs : titles.mine;
}

// What is neither saved nor kept would be lost with the page.
addEventListener('beforeunload', (event) => {
  for (const store of stores.values()) if (!store.isKept.value && store.status.value !== 'saved') event.preventDefault();
});
// A tab that is left may not come back.
document.addEventListener('visibilitychange', () => document.hidden && stores.forEach((it) => it.saveNow()));
