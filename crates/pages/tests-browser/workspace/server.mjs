// A workspace of its own for the checks: the real program on a fresh directory, behind a small proxy that can cut
// connections, refuse sockets and answer for another version. BONDED names the program.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

const PROGRAM = process.env.BONDED ?? 'bonded';
const APP = new URL('../../app/', import.meta.url).pathname;
const TYPES = { html: 'text/html; charset=utf-8', css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', svg: 'image/svg+xml' };
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const freePort = () => new Promise((done) => {
  const probe = net.createServer().listen(0, '127.0.0.1', () => {
    const { port } = probe.address();
    probe.close(() => done(port));
  });
});

export const OWNER = { name: 'ana', password: 'a long enough password' };

/** The program on a directory; it can be killed and started again on the same one. */
export async function startWorkspace({ isSetUp = true, configure } = {}) {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'bonded-pages-'));
  const data = path.join(dir, 'data');
  const made = spawnSync(PROGRAM, ['init', data], { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`${PROGRAM} init: ${made.error ?? made.stderr}`);
  const config = path.join(data, 'config.json');
  if (configure) writeFileSync(config, JSON.stringify(configure(JSON.parse(readFileSync(config, 'utf8')))));
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  let child;
  const start = () => new Promise((done, fail) => {
    child = spawn(PROGRAM, ['serve', '--data', data, '--listen', `127.0.0.1:${port}`], { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    const look = (bytes) => {
      said += bytes;
      if (said.includes('listening on')) done();
    };
    child.stdout.on('data', look);
    child.stderr.on('data', look);
    child.on('exit', () => fail(new Error(`the server ended: ${said}`)));
  });
  const stop = (signal) => new Promise((done) => {
    if (child.exitCode !== null || child.signalCode !== null) return done();
    child.once('exit', () => done());
    child.kill(signal);
  });
  await start();
  const token = readFileSync(path.join(data, 'owner-token'), 'utf8').trim();
  const workspace = { dir, data, base, port, token, start, kill: () => stop('SIGKILL') };
  workspace.api = (method, at, body, as = token) => ask(base, method, at, body, as);
  workspace.end = async () => {
    await stop('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  };
  workspace.id = (await workspace.api('GET', '/api/workspaces')).workspaces[0].workspace_id;
  if (isSetUp) await workspace.api('POST', '/api/setup/register', { username: OWNER.name, password: OWNER.password });
  return workspace;
}

let keys = 0;

async function ask(base, method, at, body, token) {
  const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }), 'idempotency-key': `check-${process.pid}-${(keys += 1)}-${Date.now()}` };
  const response = await fetch(base + at, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${at}: ${response.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

/** Whether the program sends the pages of this repository: one that was built before sends others, or none. */
async function sendsThese(base) {
  const index = await fetch(`${base}/notes`);
  return index.ok && (await index.text()) === readFileSync(path.join(APP, 'index.html'), 'utf8');
}

/**
 * A proxy before the program. Where the program does not send the pages of this repository, the proxy does.
 * `how` may be changed at any time: `isCut` answers nothing, `hasSockets` lets sockets through, `version` is another build.
 */
export async function startProxy(workspace) {
  const how = { isCut: false, hasSockets: true, version: null, holdMs: 0 };
  const hasPages = (await fetch(`${workspace.base}/api/site`)).ok;
  const isBuilt = await sendsThese(workspace.base);
  const open = new Set();
  const server = http.createServer((request, response) => {
    if (how.isCut) return request.socket.destroy();
    const at = new URL(request.url, 'http://x').pathname;
    if (at === '/api/site' && (!hasPages || how.version)) return void site(workspace, hasPages, how, response);
    if (isBuilt || at.startsWith('/api/') || at === '/healthz' || at === '/readyz') return void setTimeout(() => pass(workspace, request, response), how.holdMs);
    return file(at, response);
  });
  server.on('connection', (socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  server.on('upgrade', (request, socket, head) => {
    if (how.isCut || !how.hasSockets) return socket.destroy();
    const up = net.connect(workspace.port, '127.0.0.1', () => {
      const lines = request.rawHeaders.reduce((all, it, n) => (n % 2 === 0 ? `${all}${it}: ` : `${all}${it}\r\n`), `${request.method} ${request.url} HTTP/1.1\r\n`);
      up.write(`${lines}\r\n`);
      if (head.length > 0) up.write(head);
      up.pipe(socket);
      socket.pipe(up);
    });
    const end = () => {
      up.destroy();
      socket.destroy();
    };
    up.on('error', end).on('close', end);
    socket.on('error', end).on('close', end);
    return undefined;
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const origin = `http://127.0.0.1:${server.address().port}`;
  return {
    origin, how, hasPages,
    /** Every connection ends in the middle of whatever it does. */
    cut: () => open.forEach((it) => it.destroy()),
    end: () => new Promise((done) => {
      open.forEach((it) => it.destroy());
      server.close(() => done());
    }),
  };
}

async function site(workspace, hasPages, how, response) {
  try {
    const found = hasPages ? await (await fetch(`${workspace.base}/api/site`)).json() : await made(workspace);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ...found, version: how.version ?? found.version }));
  } catch {
    response.destroy();
  }
}

async function made(workspace) {
  await fetch(`${workspace.base}/healthz`);
  return { version: '0.1.0', kind: 'workspace', has: ['notes', 'people', 'rules'], login: 'password', now: Date.now() };
}

function pass(workspace, request, response) {
  const up = http.request({ host: '127.0.0.1', port: workspace.port, method: request.method, path: request.url, headers: request.headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  up.on('error', () => response.destroy());
  response.on('close', () => up.destroy());
  request.pipe(up);
}

function file(at, response) {
  const name = path.normalize(at).replace(/^\/+/, '');
  const type = TYPES[name.split('.').at(-1)];
  try {
    const content = readFileSync(path.join(APP, type ? name : 'index.html'));
    response.writeHead(200, { 'content-type': type ?? TYPES.html, 'content-security-policy': POLICY, 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache' }).end(content);
  } catch {
    response.writeHead(404).end();
  }
}
