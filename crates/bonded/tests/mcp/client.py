"""The official client: finds the agent, calls it, hears of its progress, reads its run.

Arguments: how to begin (legacy: a greeting; auto: the newest version), then an address or a command.
"""

import json
import os
import sys

import anyio
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError


def server(words):
    if words[0].startswith("http"):
        return words[0]
    env = {"BONDED_STORE": os.environ["BONDED_STORE"]}
    return StdioServerParameters(command=words[0], args=words[1:], env=env)


async def main(mode, words):
    async with Client(server(words), mode=mode) as client:
        newest = client.protocol_version == "2026-07-28"
        assert newest == (mode == "auto"), client.protocol_version
        assert client.server_info.name == "bonded", client.server_info

        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["agent"], tools
        assert tools[0].input_schema["required"] == ["prompt"], tools

        heard = []

        async def hear(progress, total, message):
            heard.append((progress, message))

        asked = {"prompt": "why?"}
        result = await client.call_tool("agent", asked, progress_callback=hear)
        assert not result.is_error, result
        assert result.content[0].text == "Because.", result
        assert heard and heard[0] == (1, "turn 1"), heard

        result = await client.call_tool("agent", {})
        assert result.is_error and "prompt" in result.content[0].text, result

        key = {"bonded/idempotencyKey": "k"}
        runs = [
            (await client.call_tool("agent", asked, meta=key)).meta["bonded/run"] for _ in range(2)
        ]
        assert runs[0] == runs[1], runs

        uris = [str(it.uri) for it in (await client.list_resources()).resources]
        assert uris[0] == "bonded://runs" and f"bonded://runs/{runs[0]}" in uris, uris
        templates = (await client.list_resource_templates()).resource_templates
        assert templates[0].uri_template == "bonded://runs/{id}{?after}", templates
        contents = (await client.read_resource(f"bonded://runs/{runs[0]}")).contents
        entries = [json.loads(line) for line in contents[0].text.splitlines()]
        assert entries[0]["kind"] == "run_started", entries
        assert entries[-1]["kind"] == "run_ended", entries
        try:
            await client.read_resource("bonded://runs/nobody")
        except MCPError as error:
            assert error.code == (-32602 if newest else -32002), error
        else:
            raise AssertionError("a run that is not there was read")


anyio.run(main, sys.argv[1], sys.argv[2:])
