"""Replies in each dialect's own shape: whole, or as the events of a stream."""

import json

import script

COUNTS = (120, 40)


def reply(dialect, service, model, body):
    """The whole reply."""
    turn, items = script.plan(body)
    if not script.thinks(dialect, service, model, body):
        items = [item for item in items if item[0] != "thought"]
    return WHOLE[dialect](service, model, body, turn, items)


def events(dialect, whole):
    """The lines of a whole reply as a stream."""
    return "".join(STREAMED[dialect](whole))


def line(value, name=None):
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value)}\n\n"


# Chat completions.


def chat(service, model, body, turn, items):
    message = {"role": "assistant", "content": joined(items, "text") or None}
    thought = joined(items, "thought")
    if thought:
        message |= chat_thought(service, turn, thought)
    calls = [
        # Mistral demands ids of nine letters, and gives such.
        {"id": f"call{turn}{at:04}", "type": "function", "function": {"name": name, "arguments": json.dumps(said)}}
        for at, (kind, held) in enumerate(items)
        if kind == "call"
        for name, said in [held]
    ]
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage = {"prompt_tokens": COUNTS[0], "completion_tokens": COUNTS[1], "total_tokens": sum(COUNTS)}
    return {"id": f"chatcmpl-{turn}", "object": "chat.completion", "created": 1, "model": model, "choices": [choice], "usage": usage}


def chat_thought(service, turn, thought):
    if service == "openrouter":
        detail = {"type": "reasoning.text", "text": thought, "signature": f"sig{turn}", "format": "anthropic-claude-v1", "index": 0}
        return {"reasoning": thought, "reasoning_details": [detail]}
    return {"reasoning" if service in ("groq", "ollama") else "reasoning_content": thought}


def joined(items, wanted):
    return "".join(held for kind, held in items if kind == wanted)


def chat_events(whole):
    message = whole["choices"][0]["message"]
    deltas = [{"role": "assistant", "content": ""}]
    for name in ("reasoning_content", "reasoning", "content"):
        if message.get(name):
            half = len(message[name]) // 2
            deltas += [{name: message[name][:half]}, {name: message[name][half:]}]
    if "reasoning_details" in message:
        deltas.append({"reasoning_details": message["reasoning_details"]})
    for at, call in enumerate(message.get("tool_calls", [])):
        said = call["function"]["arguments"]
        first = {"name": call["function"]["name"], "arguments": ""}
        deltas.append({"tool_calls": [{"index": at, "id": call["id"], "type": "function", "function": first}]})
        for piece in (said[:3], said[3:]):
            deltas.append({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
    head = {"id": whole["id"], "object": "chat.completion.chunk", "created": 1, "model": whole["model"]}
    for delta in deltas:
        yield line(head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    finish = whole["choices"][0]["finish_reason"]
    yield line(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    yield line(head | {"choices": [], "usage": whole["usage"]})
    yield "data: [DONE]\n\n"


# Responses.


def responses(service, model, body, turn, items):
    output = [responses_item(turn, at, kind, held) for at, (kind, held) in enumerate(items)]
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 8}}
    usage = {"input_tokens": COUNTS[0], "output_tokens": COUNTS[1], "total_tokens": sum(COUNTS)} | details
    return {"id": f"resp_{turn}", "object": "response", "created_at": 1, "status": "completed", "model": model, "output": output, "usage": usage}


def responses_item(turn, at, kind, held):
    if kind == "thought":
        summary = [{"type": "summary_text", "text": held}]
        return {"type": "reasoning", "id": f"rs_{turn}_{at}", "summary": summary, "encrypted_content": f"enc{turn}{at}"}
    if kind == "text":
        content = [{"type": "output_text", "text": held, "annotations": []}]
        said = {"type": "message", "id": f"msg_{turn}_{at}", "role": "assistant", "status": "completed", "content": content}
        return said | {"phase": "commentary"}
    name, said = held
    call = {"type": "function_call", "id": f"fc_{turn}_{at}", "call_id": f"call_{turn}_{at}", "name": name}
    return call | {"arguments": json.dumps(said), "status": "completed"}


def responses_events(whole):
    def event(kind, **fields):
        return line({"type": kind, **fields}, kind)

    yield event("response.created", response=whole | {"status": "in_progress", "output": []})
    for at, item in enumerate(whole["output"]):
        begun = item | {"content": []} if item["type"] == "message" else item | {"arguments": ""}
        yield event("response.output_item.added", output_index=at, item=item if item["type"] == "reasoning" else begun)
        if item["type"] == "message":
            said = item["content"][0]["text"]
            yield event("response.output_text.delta", output_index=at, item_id=item["id"], content_index=0, delta=said)
        elif item["type"] == "function_call":
            for piece in (item["arguments"][:3], item["arguments"][3:]):
                yield event("response.function_call_arguments.delta", output_index=at, item_id=item["id"], delta=piece)
        yield event("response.output_item.done", output_index=at, item=item)
    yield event("response.completed", response=whole)


# Messages.


def messages(service, model, body, turn, items):
    is_planned = turn < len(script.TURNS) and any(kind == "call" and held[0] not in script.ENDS for kind, held in items)
    if is_planned:
        does_think = script.thinks("messages", service, model, body)
        blocks = [b for b in script.messages_blocks(turn, body) if does_think or b["type"] != "thinking"]
    else:
        blocks = [messages_block(kind, held) for kind, held in items]
    stop = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
    usage = {"input_tokens": COUNTS[0], "output_tokens": COUNTS[1]}
    return {"id": f"msg_{turn}", "type": "message", "role": "assistant", "model": model, "content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": usage}


def messages_block(kind, held):
    if kind == "text":
        return {"type": "text", "text": held}
    return {"type": "tool_use", "id": "toolu_report", "name": held[0], "input": held[1]}


def messages_events(whole):
    def event(kind, **fields):
        return line({"type": kind, **fields}, kind)

    yield event("message_start", message=whole | {"content": [], "stop_reason": None})
    for at, block in enumerate(whole["content"]):
        empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}
        yield event("content_block_start", index=at, content_block=block | empty[block["type"]])
        for delta in messages_deltas(block):
            yield event("content_block_delta", index=at, delta=delta)
        yield event("content_block_stop", index=at)
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=delta, usage={"output_tokens": COUNTS[1]})
    yield event("message_stop")


def messages_deltas(block):
    if block["type"] == "text":
        return [{"type": "text_delta", "text": block["text"]}]
    if block["type"] == "tool_use":
        said = json.dumps(block["input"])
        return [{"type": "input_json_delta", "partial_json": piece} for piece in (said[:3], said[3:])]
    said = [{"type": "thinking_delta", "thinking": block["thinking"]}] if block["thinking"] else []
    return said + [{"type": "signature_delta", "signature": block["signature"]}]


# Gemini.


def gemini(service, model, body, turn, items):
    does_think = script.thinks("gemini", service, model, body)
    parts, is_signed = [], False
    for at, (kind, held) in enumerate(items):
        if kind == "thought":
            parts.append({"text": held, "thought": True})
        elif kind == "text":
            parts.append({"text": held})
        else:
            part = {"functionCall": {"id": f"fc-{turn}-{at}", "name": held[0], "args": held[1]}}
            # Of several calls at once the first alone is signed.
            if does_think and not is_signed:
                part["thoughtSignature"] = f"c2ln{turn}{at}=="
                is_signed = True
            parts.append(part)
    usage = {"promptTokenCount": COUNTS[0], "candidatesTokenCount": COUNTS[1], "totalTokenCount": sum(COUNTS)}
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model, "responseId": f"r{turn}"}


def gemini_events(whole):
    candidate = whole["candidates"][0]
    for part in candidate["content"]["parts"]:
        content = {"role": "model", "parts": [part]}
        yield line(whole | {"candidates": [{"index": 0, "content": content}]})
    yield line(whole | {"candidates": [candidate | {"content": {"role": "model", "parts": [{"text": ""}]}}]})


WHOLE = {"chat": chat, "responses": responses, "messages": messages, "gemini": gemini}
STREAMED = {"chat": chat_events, "responses": responses_events, "messages": messages_events, "gemini": gemini_events}
