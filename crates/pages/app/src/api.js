// The one way to the server. Which kind of session there is, no page knows.
import { auth, connection, isOutdated, me, setClock, site, user } from './state.js';
import { keep, kept } from './storage.js';

export class ApiError extends Error {
  /** @param {number} status @param {string} code @param {string} message @param {string} requestId @param {any} [details] */
  constructor(status, code, message, requestId, details) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.details = details ?? null;
  }

  /** Whether the same request may work later: it was not refused for good. */
  get isPassing() {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

/**
 * How a request differs from others: the key that makes it happen once, also when it is sent again; a token in place of
 * the session; a body that is no JSON.
 * @typedef {{ key?: string, token?: string, raw?: Blob }} How
 */

/** Names this tab's session where it is one by cookie: the server asks for it with every change. */
let csrf = '';

const isByCookie = () => site.value?.login === 'password';

/** @returns {Record<string, string>} */
export function credentials() {
  const token = kept('token');
  if (isByCookie()) return csrf ? { 'X-CSRF-Token': csrf } : {};
  return token ? { Authorization: `Bearer ${token}` } : {};
}

/**
 * @param {string} method @param {string} path @param {unknown} [body] @param {AbortSignal} [signal] @param {How} [how]
 * @returns {Promise<any>}
 */
export async function api(method, path, body, signal, how) {
  const response = await send(method, path, body, signal, how);
  const text = await response.text();
  return text ? JSON.parse(text) : null;
}

/**
 * @param {string} method @param {string} path @param {unknown} [body] @param {AbortSignal} [signal] @param {How} [how]
 * @returns {Promise<Response>}
 */
export async function send(method, path, body, signal, how = {}) {
  // One key for both tries below: it is the same change.
  const key = how.key ?? newKey();
  const first = await ask(method, path, body, signal, { ...how, key });
  if (first.ok) return first;
  const error = await refusal(first, path);
  // Another tab signed in again: the cookie is new, only this tab's mark for changes is old.
  if (error.code.toUpperCase() !== 'CSRF_INVALID' || !(await renewMark())) throw error;
  const second = await ask(method, path, body, signal, { ...how, key });
  if (second.ok) return second;
  throw await refusal(second, path);
}

/** @param {string} method @param {string} path @param {unknown} body @param {AbortSignal | undefined} signal @param {How} how */
async function ask(method, path, body, signal, how) {
  const content = how.raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const type = how.raw ? 'application/octet-stream' : 'application/json';
  const headers = {
    ...(how.token ? { Authorization: `Bearer ${how.token}` } : credentials()),
    ...(content === undefined ? {} : { 'Content-Type': type }),
    ...(method !== 'GET' && isByCookie() && how.key ? { 'Idempotency-Key': how.key } : {}),
  };
  try {
    return await fetch(path, { method, headers, body: content, signal, cache: 'no-store' });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'not_connected', 'The server does not answer.', '');
  }
}

/** `crypto.randomUUID` is missing where the page came without TLS. */
export const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (it) => it.toString(16).padStart(2, '0')).join('');

async function renewMark() {
  const found = await api('GET', '/api/auth/session').catch(() => null);
  if (!found?.csrf_token || found.csrf_token === csrf) return false;
  csrf = found.csrf_token;
  return true;
}

// What is refused here says nothing about the session that is there.
const OPEN = /^\/api\/(session|auth\/(login|invitation)|setup\/)/;
const isAboutPassword = (/** @type {string} */ path, /** @type {string} */ code) => path.endsWith('/password') && code === 'INVALID_CREDENTIALS';

/** @param {Response} response @param {string} path */
async function refusal(response, path) {
  const body = await response.json().catch(() => ({}));
  const error = body.error ?? body;
  if (response.status === 401 && !OPEN.test(path) && !isAboutPassword(path, error.code)) endSession();
  const requestId = error.request_id ?? response.headers.get('x-request-id') ?? '';
  return new ApiError(response.status, error.code ?? `http_${response.status}`, error.message ?? response.statusText, requestId, error.details);
}

function endSession() {
  keep('token', null);
  csrf = '';
  auth.value = auth.value === 'in' || auth.value === 'ended' ? 'ended' : 'out';
}

/** Asks who the server is; says so where it is another build by now. */
export async function readSite() {
  const found = await api('GET', '/api/site');
  if (site.value && site.value.version !== found.version) isOutdated.value = true;
  else site.value = found;
  setClock(found.now);
}

/**
 * Starts a session with what the person has: the secret of a link, a token, or a name and a password.
 * @param {{ link?: string, token?: string, name?: string, password?: string }} given
 */
export async function signIn(given) {
  if (given.name !== undefined) {
    const done = await api('POST', '/api/auth/login', { username: given.name, password: given.password });
    takeAccount(done);
  } else {
    const done = await api('POST', '/api/session', given.link ? { link: given.link } : { token: given.token });
    keep('token', done.token);
    keep('user', done.user ?? '');
    user.value = done.user ?? '';
  }
  auth.value = 'in';
}

/** @param {{ csrf_token: string | null, user_id: string, username: string, is_owner?: boolean }} account */
function takeAccount(account) {
  // What is on the page was read with another account.
  if (me.value && me.value.id !== account.user_id) location.reload();
  csrf = account.csrf_token ?? '';
  user.value = account.username;
  me.value = { id: account.user_id, isOwner: account.is_owner ?? me.value?.isOwner ?? false };
  if (account.is_owner === undefined) void takeUpSession().catch(() => {});
}

/** The first account of a server, with the token that lies in its directory. @param {{ token: string, name: string, password: string }} given */
export async function setUp({ token, name, password }) {
  await api('POST', '/api/setup/register', { username: name, password }, undefined, { token });
  if (site.value) site.value = { ...site.value, needsSetup: false };
  await signIn({ name, password });
}

/** Accepts an invitation, which names the account. @param {{ invitation: string, password: string }} given */
export async function accept(given) {
  const { username } = await api('POST', '/api/auth/invitation', given);
  await signIn({ name: username, password: given.password });
}

/** Takes up the session of before, if there is one. */
export async function takeUpSession() {
  if (!isByCookie()) {
    user.value = kept('user') ?? '';
    auth.value = kept('token') ? 'in' : 'out';
    return;
  }
  try {
    takeAccount(await api('GET', '/api/auth/session'));
    auth.value = 'in';
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    if (auth.value === 'unknown') auth.value = 'out';
  }
}

/** Forgets the session in this browser. */
export function signOut() {
  if (isByCookie()) void api('POST', '/api/auth/logout', {}).catch(() => {});
  keep('token', null);
  keep('user', null);
  csrf = '';
  me.value = null;
  connection.value = { mode: 'connecting', since: Date.now() };
  auth.value = 'out';
}
