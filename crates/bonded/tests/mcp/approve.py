"""The official client: the person at it is asked about a call, and approves it.

Arguments: an address or a command.
"""

import os
import sys

import anyio
from mcp import Client, StdioServerParameters
from mcp.types import ElicitResult

asked = []


async def approve(context, params):
    asked.append(params.message)
    fields = params.requested_schema["properties"]
    assert fields["decision"]["enum"] == ["approve", "deny"], fields
    return ElicitResult(action="accept", content={"decision": "approve"})


def server(words):
    if words[0].startswith("http"):
        return words[0]
    env = {"BONDED_STORE": os.environ["BONDED_STORE"]}
    return StdioServerParameters(command=words[0], args=words[1:], env=env)


async def main(words):
    async with Client(server(words), mode="legacy", elicitation_callback=approve) as client:
        result = await client.call_tool("agent", {"prompt": "why?"})
        assert not result.is_error, result
        assert result.content[0].text == "Noted.", result
        assert len(asked) == 1 and "write" in asked[0], asked


anyio.run(main, sys.argv[1:])
