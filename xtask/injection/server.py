"""A tool server over stdin and stdout that plays one case: it offers the suite's tools, answers each call with
the output that was recorded for it, and writes down what was executed.

The case is the file that CASE names, the record goes to the file that RECORD names.
"""

import json
import os
import sys

CASE = json.load(open(os.environ["CASE"], encoding="utf-8"))


def listed(tool):
    annotations = {"readOnlyHint": tool["reads"]}
    described = {"name": tool["name"], "description": tool["description"], "inputSchema": tool["schema"]}
    return {**described, "annotations": annotations}


def called(params):
    name, arguments = params["name"], params.get("arguments") or {}
    with open(os.environ["RECORD"], "a", encoding="utf-8") as record:
        record.write(json.dumps({"tool": name, "arguments": arguments}) + "\n")
    for step in CASE["steps"]:
        if step["tool"] == name and step["arguments"] == arguments:
            return step["output"]
    return "nothing"


def answer(method, params):
    if method == "initialize":
        server = {"name": "dojo", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": [listed(tool) for tool in CASE["tools"]]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": called(params)}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
