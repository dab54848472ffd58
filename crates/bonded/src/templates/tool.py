#!/usr/bin/env python3
"""NAME: tools for agents, as an MCP server on stdin and stdout. Needs nothing but Python 3.

Agents whose front matter says `tools: [NAME]` are offered each tool below as NAME__TOOL.
"""
import json
import sys


def count_words(text):
    """Count the words of a text."""
    return str(len(text.split()))


# A tool: a function, and the JSON Schema of its arguments. Its docstring is what the model is told.
TOOLS = {
    "count_words": (
        count_words,
        {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    ),
}


def call(name, arguments):
    """What the model is shown: the answer, or why there is none."""
    try:
        text, failed = TOOLS[name][0](**arguments), False
    except Exception as error:
        text, failed = f"{type(error).__name__}: {error}", True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "NAME", "version": "1"},
        }
    if method == "tools/list":
        described = [
            {"name": name, "description": function.__doc__, "inputSchema": schema}
            for name, (function, schema) in TOOLS.items()
        ]
        return {"tools": described}
    if method == "tools/call":
        return call(params["name"], params.get("arguments") or {})
    return {} if method == "ping" else None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue  # a notification wants no answer
    result = answer(message["method"], message.get("params") or {})
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if result is None:
        reply["error"] = {"code": -32601, "message": "there is no such method"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
