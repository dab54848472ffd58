"""The request of each dialect, as its official SDK types it."""

import functools

from typing_extensions import Required, TypedDict


def chat():
    from openai.types.chat.completion_create_params import CompletionCreateParams

    return CompletionCreateParams


def responses():
    from openai.types.responses.response_create_params import ResponseCreateParams

    return ResponseCreateParams


def messages():
    from anthropic.types.message_create_params import MessageCreateParams

    return MessageCreateParams


def gemini():
    """The SDK takes what stands in the body apart; these are the parts that it puts there."""
    from google.genai import types

    return TypedDict(
        "GenerateContentRequest",
        {
            "contents": Required[list[types.Content]],
            "systemInstruction": types.Content,
            "tools": list[types.Tool],
            "toolConfig": types.ToolConfig,
            "safetySettings": list[types.SafetySetting],
            "generationConfig": types.GenerationConfig,
            "cachedContent": str,
            "serviceTier": types.ServiceTier,
        },
        total=False,
    )


DIALECTS = {"chat": chat, "responses": responses, "messages": messages, "gemini": gemini}


@functools.cache
def request_of(dialect):
    return DIALECTS[dialect]()
