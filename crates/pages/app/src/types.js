// The shapes that the server sends. Nothing here runs.

/**
 * @typedef {{ turns: number | null, tokens: number | null, costUsd: number | null, timeMs: number | null }} Limits
 * @typedef {{ kind: string, reason: string, code?: string }} Termination
 * @typedef {{ runId: string, status: string, goal: string, agent: string | null, model: string | null, startedAt: number,
 *   updatedAt: number, turns: number, tokens: number | null, costUsd: number | null, limits: Limits,
 *   termination?: Termination, from?: { kind: string, [key: string]: any }, activity?: string,
 *   waiting?: { tool: string, turn: number, call: number, since: number }, untrusted: boolean }} Row
 * @typedef {{ runId: string, call: number, turn: number, tool: string }} Child
 * @typedef {{ requests: number, inputTokens: number, outputTokens: number, costUsd: number }} Held
 * @typedef {Omit<Row, 'waiting'> & { system: string, directory: string, sandbox: any, models: string[],
 *   tools: { name: string, effect: string }[],
 *   usage: { inputTokens: number, outputTokens: number, cachedInputTokens: number }, held?: Held, elapsedMs: number,
 *   requests: number, chain: { entries: number, head: string }, answer: string | null, lastText?: string | null,
 *   pending?: Waiting | null, waiting?: Waiting | null, wholeGoal?: string, parent?: string | null, children?: Child[],
 *   plan?: string | null, item?: string | null, may?: string[], program?: string }} Run
 * @typedef {{ head: string, tail: string, bytes: number, at: string }} Cut
 * @typedef {{ runId: string, seq: number, at: number, turn: number, kind: string, data: any, format?: number,
 *   prev?: string, hash?: string }} Entry
 * @typedef {{ turn: number, call: number, tool: string, seq: number, text?: string }} Source
 * @typedef {{ runId: string, rootId: string, goal: string, turn: number, call: number, tool: string,
 *   effect: string | null, arguments: string, written: string, why: string, digest: string, since: number, note?: string | null,
 *   change?: { path: string, isNew: boolean, isGuarded?: boolean, before: string | null, after: string | null, fault?: string | null } | null,
 *   command?: { command: string, args?: string[] | null, directory: string, stdin?: string | null } | null, sandbox: any,
 *   limits: { timeMs: number | null, outputBytes: number | null }, reply: string, untrusted: boolean,
 *   sources: Source[], sourcesLeft?: number, may?: string[] }} Waiting
 * @typedef {{ role: string, text: string | { cut: Cut }, calls?: { id: string, tool: string, arguments: string }[],
 *   call?: string, images?: { type: string, width: number, height: number, bytes: number, hash: string }[], isNew: boolean }} Message
 * @typedef {{ turn: number, total: number, firstNew: number | null, from: number, messages: Message[], tools: string[],
 *   estimatedTokens: number | null }} Saw
 * @typedef {{ version: string, kind: 'store' | 'agents' | 'workspace', has: string[],
 *   login: 'link' | 'token' | 'password', needsSetup?: boolean, now: number }} Site
 * @typedef {{ max: number, used: number | null }} Used
 * @typedef {{ id: string, description: string, agent: string, dependencies: string[], level: number, state: string, why: string | null,
 *   limits: { files: Used, toolOps: Used, delta: Used, timeMs: Used }, testCommand: string | null, runIds: string[],
 *   receiptId: string | null, published: boolean }} Item
 * @typedef {{ id: string, tree: string, startedAt: number, ended: boolean, items: number, states: Record<string, number>,
 *   fault?: string }} PlanRow
 * @typedef {Omit<PlanRow, 'items'> & { levels: string[][], items: Item[] }} Plan
 * @typedef {string | { cut: Cut }} Text
 * @typedef {{ path: string, kind: 'created' | 'modified' | 'deleted', bytes: number | null, before: Text | null,
 *   after: Text | null, binary: boolean }} ItemChange
 * @typedef {{ name: string, state: string, why?: string, at?: number, ms?: number }} Stage
 * @typedef {Item & { stages: Stage[], changes: ItemChange[], changesLeft?: number, tests: null | { command: string, exitCode: number | null,
 *   passed: number | null, failed: number | null, ms: number, output: Text }, receipt: string | null,
 *   receiptPath: string | null, attempts: { runId: string | null, status: string, error: string | null, ms: number }[] }} WholeItem
 * @typedef {{ all: number, waiting: number, running: number, interrupted: number, failed: number, limit: number,
 *   done: number, cancelled: number }} Counts
 */

export {};
