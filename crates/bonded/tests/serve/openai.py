"""Asks a server what the official Python SDK can ask. Ends with code 0 if everything was as it must be."""

import os

import openai

BASE_URL = os.environ["BASE_URL"]
client = openai.OpenAI(base_url=BASE_URL, api_key="right", timeout=60)
QUESTION = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "why?"}]


def refused(kind, ask, code):
    try:
        ask()
    except kind as error:
        assert type(error) is kind, type(error)
        assert error.code == code, error.code
        return error
    raise AssertionError(f"not refused: {code}")


def chat(model="answers", **more):
    return client.chat.completions.create(model=model, messages=QUESTION, **more)


TOOL = {"type": "function", "function": {"name": "fetch", "parameters": {"type": "object", "properties": {}}}}


def tools():
    """The client executes a call and brings the result, by both interfaces, whole and streamed."""
    said = list(QUESTION)
    message = client.chat.completions.create(model="calls", messages=said, tools=[TOOL]).choices[0].message
    (call,) = message.tool_calls
    assert (call.function.name, call.function.arguments) == ("fetch", '{"url":"a"}'), call
    said += [message, {"role": "tool", "tool_call_id": call.id, "content": "the page"}]
    assert client.chat.completions.create(model="calls", messages=said).choices[0].message.content == "Because."

    with client.chat.completions.stream(model="calls", messages=QUESTION, tools=[TOOL]) as stream:
        choice = stream.get_final_completion().choices[0]
    assert choice.finish_reason == "tool_calls", choice
    assert choice.message.tool_calls[0].function.arguments == '{"url":"a"}', choice

    flat = {"type": "function", "name": "fetch", "parameters": {"type": "object"}, "strict": False}
    with client.responses.stream(model="calls", input="why?", tools=[flat]) as stream:
        first = stream.get_final_response()
    (call,) = first.output
    assert (call.type, call.name, call.arguments) == ("function_call", "fetch", '{"url":"a"}'), call
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "the page"}
    last = client.responses.create(model="calls", previous_response_id=first.id, input=[output])
    assert last.output_text == "Because.", last


def models():
    assert [model.id for model in client.models.list()] == ["answers", "fails", "calls"]
    assert client.models.retrieve("answers").owned_by == "bonded"
    refused(openai.NotFoundError, lambda: client.models.retrieve("answer"), "model_not_found")


def chats():
    whole = chat()
    assert whole.id.startswith("chatcmpl-"), whole.id
    assert whole.choices[0].message.content == "Because."
    assert whole.choices[0].finish_reason == "stop"
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (11, 7)
    raw = client.chat.completions.with_raw_response.create(model="answers", messages=QUESTION)
    assert raw.parse().id == "chatcmpl-" + raw.headers["x-bonded-run"]

    chunks = list(chat(stream=True, stream_options={"include_usage": True}))
    texts = [choice.delta.content or "" for chunk in chunks for choice in chunk.choices]
    assert "".join(texts) == "Because."
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage.total_tokens == 18
    assert all(chunk.usage is None for chunk in list(chat(stream=True)))

    told = chat(stream=True, stream_options={"include_progress": True})
    deltas = [chunk.choices[0].delta for chunk in told]
    progress = [delta.reasoning_content for delta in deltas if hasattr(delta, "reasoning_content")]
    assert progress[0] == "turn 1\n", progress
    with client.chat.completions.stream(model="answers", messages=QUESTION) as stream:
        assert stream.get_final_completion().choices[0].message.content == "Because."


def responses():
    whole = client.responses.create(model="answers", instructions="be brief", input="why?")
    assert whole.id.startswith("resp_"), whole.id
    assert whole.output_text == "Because."
    assert whole.status == "completed"
    assert whole.usage.total_tokens == 18

    told = list(client.responses.create(model="answers", input="why?", stream=True))
    assert [event.type for event in told] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in told] == list(range(9))
    assert told[-1].response.output_text == "Because."
    with client.responses.stream(model="answers", input="why?") as stream:
        assert stream.get_final_response().output_text == "Because."


def errors():
    stranger = client.with_options(api_key="wrong")
    refused(openai.AuthenticationError, stranger.models.list, "invalid_api_key")
    forced = lambda: chat(tools=[TOOL], tool_choice="required")
    error = refused(openai.BadRequestError, forced, "tool_choice_not_supported")
    assert error.param == "tool_choice" and "auto or none" in error.message, error
    refused(openai.NotFoundError, lambda: chat(model="answer"), "model_not_found")
    # The SDK would ask again by itself; the server forbids it, as each time would cost the same again.
    refused(openai.InternalServerError, lambda: chat(model="fails"), "provider_auth")
    refused(openai.APIError, lambda: list(chat(model="fails", stream=True)), "provider_auth")
    told = list(client.responses.create(model="fails", input="why?", stream=True))
    assert told[-1].type == "response.failed", told[-1].type
    assert told[-1].response.error.code == "provider_auth"


models()
chats()
responses()
tools()
errors()
