// A plan as a picture: where its items stand, what leads to what, and how each stands.

/** @typedef {import('../types.js').Item} Item */
/** @typedef {import('../types.js').Plan} Plan */
/** @typedef {{ item: Item, column: number, y: number }} Node */
/** @typedef {{ from: string, to: string, path: string, isOpen: boolean }} Edge */
/** @typedef {{ columns: number, height: number, nodes: Node[], edges: Edge[] }} Graph */

// Above this a picture is a thicket: the list is shown, and the item with its neighbours.
export const NODES_MAX = 60;
/** What an item takes in its column, in pixels, and how high it is. */
const STEP = 116;
export const NODE = 92;
/** A column is so wide in the picture's own units, and its items leave so much free at each side. */
const [WIDE, FREE] = [100, 12];

/** @type {Record<string, import('./status.js').State>} */
const STATES = {
  queued: { tone: 'off', icon: 'off', word: 'Not begun' },
  running: { tone: 'run', icon: 'run', word: 'Running' },
  waiting: { tone: 'wait', icon: 'wait', word: 'Waiting for you' },
  interrupted: { tone: 'off', icon: 'off', word: 'Interrupted' },
  testing: { tone: 'run', icon: 'run', word: 'Testing' },
  sealing: { tone: 'run', icon: 'run', word: 'To be published' },
  success: { tone: 'ok', icon: 'ok', word: 'Published' },
  failure: { tone: 'bad', icon: 'bad', word: 'Failed' },
  denied: { tone: 'limit', icon: 'limit', word: 'Denied' },
  timeout: { tone: 'limit', icon: 'limit', word: 'Out of time' },
  blocked: { tone: 'off', icon: 'slash', word: 'Blocked' },
};

/** @param {string} state @returns {import('./status.js').State} */
export const itemState = (state) => STATES[state] ?? { tone: 'off', icon: 'off', word: state };

/** The states that a plan's items are in, in the order in which they matter. @param {Record<string, number>} states */
export const statesOf = (states) => Object.keys(STATES).filter((it) => states[it] > 0).map((it) => ({ ...itemState(it), n: states[it] }));

/** Whether an item has come to its end. @param {string} state */
export const isOver = (state) => ['success', 'failure', 'denied', 'timeout', 'blocked'].includes(state);

/** The items of a column, each near those that it comes after. @param {Item[]} items @param {Map<string, number>} placed */
function sorted(items, placed) {
  const middle = (/** @type {Item} */ it) => {
    const before = it.dependencies.flatMap((id) => placed.get(id) ?? []);
    return before.length === 0 ? Infinity : before.reduce((sum, y) => sum + y, 0) / before.length;
  };
  return items.map((item, at) => ({ item, at, middle: middle(item) })).sort((a, b) => (a.middle === b.middle ? a.at - b.at : a.middle - b.middle)).map(({ item }) => item);
}

/** @param {Item[][]} levels @returns {Graph} */
function drawn(levels) {
  const height = Math.max(1, ...levels.map((it) => it.length)) * STEP + 24;
  /** @type {Map<string, number>} */
  const placed = new Map();
  /** @type {Node[]} */
  const nodes = [];
  levels.forEach((level, column) => {
    sorted(level, placed).forEach((item, at) => {
      const y = height / 2 + (at - (level.length - 1) / 2) * STEP;
      placed.set(item.id, y);
      nodes.push({ item, column, y });
    });
  });
  return { columns: levels.length, height, nodes, edges: edgesOf(nodes) };
}

/** @param {Node[]} nodes @returns {Edge[]} */
function edgesOf(nodes) {
  const byId = new Map(nodes.map((it) => [it.item.id, it]));
  return nodes.flatMap((to) => to.item.dependencies.flatMap((id) => {
    const from = byId.get(id);
    if (!from) return [];
    const [x1, x2] = [(from.column + 1) * WIDE - FREE, to.column * WIDE + FREE];
    const bend = (x2 - x1) / 2;
    return [{ from: id, to: to.item.id, isOpen: from.item.state !== 'success', path: `M${x1} ${from.y}C${x1 + bend} ${from.y} ${x2 - bend} ${to.y} ${x2} ${to.y}` }];
  }));
}

/** The whole plan, a column for each level. @param {Plan} plan @returns {Graph} */
export function graphOf(plan) {
  const byId = new Map(plan.items.map((it) => [it.id, it]));
  return drawn(plan.levels.map((level) => level.flatMap((id) => byId.get(id) ?? [])));
}

/** An item between what it comes after and what comes after it. @param {Plan} plan @param {Item} item @returns {Graph} */
export function neighbours(plan, item) {
  const before = plan.items.filter((it) => item.dependencies.includes(it.id));
  const after = plan.items.filter((it) => it.dependencies.includes(item.id));
  return drawn([before, [item], after].filter((it) => it.length > 0));
}
