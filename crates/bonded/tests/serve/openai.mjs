// Asks a server what the official JavaScript SDK can ask. Ends with code 0 if everything was as it must be.

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const { OpenAI } = createRequire(`${process.env.BONDED_SDK_JS}/package.json`)("openai");
const baseURL = process.env.BASE_URL;
const client = new OpenAI({ baseURL, apiKey: "right", timeout: 60_000 });
const messages = [
  { role: "system", content: "be brief" },
  { role: "user", content: "why?" },
];

const chat = (more) => client.chat.completions.create({ model: "answers", messages, ...more });

async function all(stream) {
  const pieces = [];
  for await (const piece of await stream) pieces.push(piece);
  return pieces;
}

async function refused(kind, asked, code) {
  await assert.rejects(asked, (error) => {
    assert.equal(error.constructor, kind);
    assert.equal(error.code, code);
    return true;
  });
}

const tool = { type: "function", function: { name: "fetch", parameters: { type: "object", properties: {} } } };

// The client executes a call and brings the result, by both interfaces.
async function tools() {
  const fetched = [];
  const page = { ...tool.function, parse: JSON.parse, function: ({ url }) => `the page ${fetched.push(url)}` };
  const runner = client.chat.completions.runTools({ model: "calls", messages, tools: [{ type: "function", function: page }] });
  assert.equal(await runner.finalContent(), "Because.");
  assert.deepEqual(fetched, ["a"]);

  const flat = { type: "function", name: "fetch", parameters: { type: "object" }, strict: false };
  const stream = client.responses.stream({ model: "calls", input: "why?", tools: [flat] });
  const first = await stream.finalResponse();
  const [call] = first.output;
  assert.equal(call.arguments, '{"url":"a"}');
  const input = [{ type: "function_call_output", call_id: call.call_id, output: "the page" }];
  const last = await client.responses.create({ model: "calls", previous_response_id: first.id, input });
  assert.equal(last.output_text, "Because.");
}

async function models() {
  const ids = (await all(client.models.list())).map((model) => model.id);
  assert.deepEqual(ids, ["answers", "fails", "calls"]);
  assert.equal((await client.models.retrieve("answers")).owned_by, "bonded");
  await refused(OpenAI.NotFoundError, () => client.models.retrieve("answer"), "model_not_found");
}

async function chats() {
  const { data: whole, response } = await chat({}).withResponse();
  assert.equal(whole.id, `chatcmpl-${response.headers.get("x-bonded-run")}`);
  assert.equal(whole.choices[0].message.content, "Because.");
  assert.equal(whole.usage.total_tokens, 18);

  const chunks = await all(chat({ stream: true, stream_options: { include_usage: true } }));
  const texts = chunks.flatMap((chunk) => chunk.choices.map((choice) => choice.delta.content ?? ""));
  assert.equal(texts.join(""), "Because.");
  assert.equal(chunks.at(-2).choices[0].finish_reason, "stop");
  assert.equal(chunks.at(-1).usage.total_tokens, 18);

  const told = await all(chat({ stream: true, stream_options: { include_progress: true } }));
  const progress = told.map((chunk) => chunk.choices[0].delta.reasoning_content).filter(Boolean);
  assert.equal(progress[0], "turn 1\n");
  const stream = client.chat.completions.stream({ model: "answers", messages });
  assert.equal(await stream.finalContent(), "Because.");
}

async function responses() {
  const whole = await client.responses.create({ model: "answers", input: "why?" });
  assert.ok(whole.id.startsWith("resp_"));
  assert.equal(whole.output_text, "Because.");
  const told = await all(client.responses.create({ model: "answers", input: "why?", stream: true }));
  assert.equal(told[0].type, "response.created");
  assert.equal(told.at(-1).type, "response.completed");
  assert.equal(told.at(-1).response.output[0].content[0].text, "Because.");
  const stream = client.responses.stream({ model: "answers", input: "why?" });
  assert.equal((await stream.finalResponse()).output_text, "Because.");
}

async function errors() {
  const stranger = client.withOptions({ apiKey: "wrong" });
  await refused(OpenAI.AuthenticationError, () => stranger.models.list(), "invalid_api_key");
  const forced = () => chat({ tools: [tool], tool_choice: "required" });
  await refused(OpenAI.BadRequestError, forced, "tool_choice_not_supported");
  await refused(OpenAI.NotFoundError, () => chat({ model: "answer" }), "model_not_found");
  // The SDK would ask again by itself; the server forbids it, as each time would cost the same again.
  await refused(OpenAI.InternalServerError, () => chat({ model: "fails" }), "provider_auth");
  const broken = () => all(chat({ model: "fails", stream: true }));
  await refused(OpenAI.APIError, broken, "provider_auth");
  const told = await all(client.responses.create({ model: "fails", input: "why?", stream: true }));
  assert.equal(told.at(-1).type, "response.failed");
}

await models();
await chats();
await responses();
await tools();
await errors();
