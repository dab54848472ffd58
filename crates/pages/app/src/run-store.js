// One run on the page: what the server says of it, the part of its log that is here, and what is being said just now.
import { signal } from '../vendor/signals.js';
import { api } from './api.js';
import { listen, watchRun } from './live.js';
import { runPath } from './router.js';
import { RunLog } from './lib/fold.js';
import { isEnded } from './lib/status.js';

/** @typedef {import('./types.js').Entry} Entry */
/** @typedef {import('./types.js').Run} Run */

const PAGE = 1000;
// A log up to this size is read whole, page by page. Of a larger one only what comes near the view is read.
const WHOLE_MAX = 30_000;
// What is kept of a larger one; the part that was read first goes first.
const KEPT_MAX = 60_000;
// What a model says is shown as far as one can read along.
const SAID_MAX = 20_000;
// So many of the agents that it called are shown with what they did.
const AGENTS_MAX = 12;

export class RunStore {
  /** @param {string} id */
  constructor(id) {
    this.id = id;
    this.path = `/api${runPath(id)}`;
    this.log = new RunLog();
    /** @type {import('../vendor/signals.js').Signal<Run | null>} */
    this.run = signal(null);
    /** @type {import('../vendor/signals.js').Signal<unknown>} */
    this.error = signal(null);
    /** Rises with every change of the log. */
    this.version = signal(0);
    /** @type {import('../vendor/signals.js').Signal<{ turn: number, attempt: number, text: string } | null>} */
    this.said = signal(null);
    /** Ranges that were read, oldest request first. @type {[number, number][]} */
    this.read = [];
    /** @type {Map<number, Promise<void>>} */
    this.asked = new Map();
    /** What the agents that it called did, as far as that is here. @type {Map<string, RunLog>} */
    this.agents = new Map();
    this.isClosed = false;
    /** The last entry when the log was first read. */
    this.tail = 0;
    /** @type {Entry[]} */
    this.arrived = [];
    this.takeLater = 0;
  }

  /** @returns {() => void} ends it */
  open() {
    this.isClosed = false;
    let unwatch = () => {};
    void this.begin().then(() => {
      // From here on the stream brings what comes; before, it would bring the whole log once more.
      if (!this.isClosed) unwatch = watchRun(this.id, () => Math.max(this.tail, this.log.lastSeq));
    });
    const unlisten = listen({
      changed: () => void this.readRun(),
      poll: () => void this.catchUp(),
      entry: (entry) => this.arrive(entry),
      said: (said) => this.hear(said),
    });
    return () => {
      this.isClosed = true;
      unlisten();
      unwatch();
    };
  }

  async begin() {
    try {
      await Promise.all([this.readRun(), this.readFrom(0)]);
      this.tail = this.run.value?.chain.entries ?? 0;
      await this.readRest();
    } catch (error) {
      this.error.value = error;
    }
  }

  async readRun() {
    try {
      this.run.value = await api('GET', this.path);
      this.error.value = null;
    } catch (error) {
      this.error.value = error;
      return;
    }
    // Their lanes are an addition: without them the run is still shown.
    void this.readAgents().catch(() => {});
  }

  async readAgents() {
    const called = (this.run.value?.children ?? []).slice(0, AGENTS_MAX);
    await Promise.all(called.map(async ({ runId }) => {
      const log = this.agents.get(runId) ?? new RunLog();
      this.agents.set(runId, log);
      if (log.ended) return;
      const { entries } = await api('GET', `/api${runPath(runId)}/entries?after=${log.lastSeq}&limit=${PAGE}`);
      if (!this.isClosed && log.add(entries)) this.version.value += 1;
    }));
  }

  get length() {
    return Math.max(this.run.value?.chain.entries ?? 0, this.log.lastSeq);
  }

  get isWhole() {
    return this.length <= WHOLE_MAX;
  }

  /** Reads on in the background: the first page is shown meanwhile. */
  async readRest() {
    if (!this.isWhole) {
      await this.readFrom(Math.max(0, this.length - PAGE / 2));
      return;
    }
    for (let after = PAGE; after < this.length && !this.isClosed; after += PAGE) await this.readFrom(after);
  }

  /** Reads a page of the log once. @param {number} after @returns {Promise<void>} */
  readFrom(after) {
    const known = this.asked.get(after);
    if (known) return known;
    const asked = this.fetchPage(after).catch((error) => {
      this.asked.delete(after);
      throw error;
    });
    this.asked.set(after, asked);
    return asked;
  }

  /** @param {number} after */
  async fetchPage(after) {
    const { entries } = await api('GET', `${this.path}/entries?after=${after}&limit=${PAGE}`);
    if (this.isClosed || entries.length === 0) return;
    this.read.push([entries[0].seq, entries.at(-1).seq]);
    if (this.log.add(entries)) this.version.value += 1;
    this.makeRoom();
  }

  makeRoom() {
    while (!this.isWhole && this.log.entries.size > KEPT_MAX && this.read.length > 3) {
      const [from, to] = /** @type {[number, number]} */ (this.read.shift());
      this.asked.delete(from - 1);
      this.log.forget(from, to);
    }
  }

  /** Makes sure that entries are here. @param {number} from @param {number} to */
  async need(from, to) {
    const pages = [];
    for (let seq = Math.max(1, from); seq <= Math.min(to, this.length); seq += 1) {
      if (this.log.entries.has(seq)) continue;
      const after = Math.floor((seq - 1) / PAGE) * PAGE;
      pages.push(this.readFrom(after));
      seq = after + PAGE;
    }
    await Promise.all(pages);
  }

  /** Finds a turn in a log that is not here as a whole: turns rise with the numbers of entries. @param {number} turn */
  async needTurn(turn) {
    let [low, high] = [0, this.length];
    let guess = Math.floor(((turn - 1) / Math.max(1, this.run.value?.turns ?? 1)) * this.length);
    for (let tries = 0; tries < 20 && !this.log.turns.has(turn) && low < high; tries += 1) {
      const after = Math.floor(Math.min(Math.max(guess, low), high - 1) / PAGE) * PAGE;
      await this.readFrom(after);
      const first = this.log.entries.get(after + 1)?.turn ?? 0;
      if (first > turn) high = after;
      else low = after + PAGE;
      guess = Math.floor((low + high) / 2);
    }
    const found = this.log.turns.get(turn);
    if (found) await this.need(found.first - 1, found.last + 1);
  }

  async catchUp() {
    await this.readRun();
    const { entries } = await api('GET', `${this.path}/entries?after=${this.log.lastSeq}&limit=${PAGE}`).catch(() => ({ entries: [] }));
    entries.forEach((/** @type {Entry} */ it) => this.arrive(it));
  }

  /** Entries that come together are taken together. @param {Entry} entry */
  arrive(entry) {
    if (entry.runId !== this.id) return;
    this.arrived.push(entry);
    if (this.takeLater) return;
    this.takeLater = setTimeout(() => this.takeArrived());
  }

  takeArrived() {
    this.takeLater = 0;
    const entries = this.arrived.splice(0);
    const isSaid = entries.some((it) => ['decision_made', 'attempt_failed', 'attempt_started', 'run_ended'].includes(it.kind));
    if (isSaid) this.said.value = null;
    if (this.log.add(entries)) this.version.value += 1;
  }

  /** What is heard is the end of all that was said so far. @param {{ turn: number, attempt: number, text: string }} said */
  hear(said) {
    this.said.value = { ...said, text: said.text.slice(-SAID_MAX) };
  }

  get isEnded() {
    return this.run.value !== null && isEnded(this.run.value.status);
  }
}
