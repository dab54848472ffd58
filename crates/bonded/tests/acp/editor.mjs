// An editor made of the protocol's official library. It throws where something is not as the protocol has it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const acp = await import(process.env.LIBRARY);
const { methods } = acp;

function connected(handlers, talk) {
  const agent = spawn(process.env.BONDED, ["acp", "--model", process.env.MODEL], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
  const editor = acp
    .client({ name: "official" })
    .onRequest(methods.client.session.requestPermission, ({ params }) => handlers.permission(params))
    .onNotification(methods.client.session.update, ({ params }) => handlers.update(params));
  return editor.connectWith(stream, talk).finally(() => agent.kill());
}

const greeting = {
  protocolVersion: acp.PROTOCOL_VERSION,
  clientInfo: { name: "official", version: "1" },
  clientCapabilities: {},
};
const cwd = process.env.WORK;
const texts = (updates, kind) =>
  updates
    .filter((it) => it.sessionUpdate === kind)
    .map((it) => it.content.text)
    .join("");

const updates = [];
const asked = [];
let sessionId;
let stop;
const handlers = {
  permission(params) {
    asked.push(params);
    if (stop) {
      setTimeout(stop, 500);
    }
    const option = params.options.find((it) => it.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  },
  update({ update }) {
    updates.push(update);
  },
};



await connected(handlers, async (agent) => {
  const about = await agent.request(methods.agent.initialize, greeting);
  assert.equal(about.protocolVersion, acp.PROTOCOL_VERSION);
  assert.equal(about.agentCapabilities.loadSession, true);
  ({ sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] }));
  const prompt = (text) =>
    agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
  assert.deepEqual(await prompt("write it"), { stopReason: "end_turn" });
  assert.equal(asked.length, 1);
  assert.equal(asked[0].toolCall.content[0].newText, "one\n");
  assert.equal(texts(updates, "agent_message_chunk"), "I write it.It is written.");
  const done = updates.filter((it) => it.sessionUpdate === "tool_call_update").at(-1);
  assert.equal(done.status, "completed");
  stop = () => agent.notify(methods.agent.session.cancel, { sessionId });
  assert.deepEqual(await prompt("wait"), { stopReason: "cancelled" });
});

const before = updates.splice(0);
await connected(handlers, async (agent) => {
  await agent.request(methods.agent.initialize, greeting);
  const { sessions } = await agent.request(methods.agent.session.list, { cwd });
  assert.deepEqual(
    sessions.map((it) => it.sessionId),
    [sessionId],
  );
  await agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] });
  assert.equal(texts(updates, "user_message_chunk"), "write itwait");
  assert.equal(texts(updates, "agent_message_chunk"), texts(before, "agent_message_chunk"));
  const answer = await agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: "text", text: "hello?" }],
  });
  assert.deepEqual(answer, { stopReason: "end_turn" });
  assert.ok(texts(updates, "agent_message_chunk").endsWith("Hello again."));
});
