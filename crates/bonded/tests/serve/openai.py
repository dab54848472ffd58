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


def models():
    assert [model.id for model in client.models.list()] == ["answers", "fails"]
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
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    error = refused(openai.BadRequestError, lambda: chat(tools=[tool]), "tools_not_supported")
    assert error.param == "tools" and "tools of their own" in error.message, error
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
errors()
