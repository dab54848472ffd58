// The one way to the server. Which kind of session there is, no page knows.
import { auth, connection, isOutdated, setClock, site, user } from './state.js';
import { keep, kept } from './storage.js';

export class ApiError extends Error {
  /** @param {number} status @param {string} code @param {string} message @param {string} requestId */
  constructor(status, code, message, requestId) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
  }
}

/** Names this tab's session where it is one by cookie: the server asks for it with every change. */
let csrf = '';

/** @returns {Record<string, string>} */
export function credentials() {
  const token = kept('token');
  if (site.value?.login === 'password') return csrf ? { 'X-CSRF-Token': csrf } : {};
  return token ? { Authorization: `Bearer ${token}` } : {};
}

/**
 * @param {string} method @param {string} path @param {unknown} [body] @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function api(method, path, body, signal) {
  const response = await send(method, path, body, signal);
  const text = await response.text();
  return text ? JSON.parse(text) : null;
}

/**
 * @param {string} method @param {string} path @param {unknown} [body] @param {AbortSignal} [signal]
 * @returns {Promise<Response>}
 */
export async function send(method, path, body, signal) {
  const headers = { ...credentials(), ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) };
  let response;
  try {
    response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal, cache: 'no-store' });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'not_connected', 'The server does not answer.', '');
  }
  if (response.ok) return response;
  throw await refusal(response, path);
}

/** @param {Response} response @param {string} path */
async function refusal(response, path) {
  const body = await response.json().catch(() => ({}));
  const error = body.error ?? body;
  if (response.status === 401 && !path.startsWith('/api/session')) endSession();
  const requestId = error.request_id ?? response.headers.get('x-request-id') ?? '';
  return new ApiError(response.status, error.code ?? `http_${response.status}`, error.message ?? response.statusText, requestId);
}

function endSession() {
  keep('token', null);
  csrf = '';
  auth.value = auth.value === 'in' ? 'ended' : 'out';
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
    csrf = done.csrf_token ?? '';
    user.value = done.user?.username ?? given.name;
  } else {
    const done = await api('POST', '/api/session', given.link ? { link: given.link } : { token: given.token });
    keep('token', done.token);
    keep('user', done.user ?? '');
    user.value = done.user ?? '';
  }
  auth.value = 'in';
}

/** Takes up the session of before, if there is one. */
export async function takeUpSession() {
  if (site.value?.login === 'password') {
    const found = await api('GET', '/api/auth/session').catch(() => null);
    csrf = found?.csrf_token ?? '';
    user.value = found?.user?.username ?? '';
    auth.value = found ? 'in' : 'out';
    return;
  }
  user.value = kept('user') ?? '';
  auth.value = kept('token') ? 'in' : 'out';
}

/** Forgets the session in this browser. */
export function signOut() {
  if (site.value?.login === 'password') void api('POST', '/api/auth/logout', {}).catch(() => {});
  keep('token', null);
  keep('user', null);
  csrf = '';
  connection.value = { mode: 'connecting', since: Date.now() };
  auth.value = 'out';
}
