"""Drives `junto mcp` with the official Python client, and prints what it saw as one line of JSON.

The arguments: the program, `agent` or `council`, and flags for the program.
"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def data(result):
    """What a call gave, whichever version of the client names it how."""
    found = getattr(result, "structured_content", None)
    return found if found is not None else getattr(result, "structuredContent", None)


async def agent(session, seen):
    """One agent: started, told more, and stopped."""

    async def progress(_progress, _total, _message):
        seen["progress"] += 1

    arguments = {"task": "What is a junto?", "wait": True}
    done = data(await session.call_tool("start", arguments, progress_callback=progress))
    seen["text"] = done["text"]
    run = {"run": done["run"]}
    seen["steered"] = data(await session.call_tool("steer", {"text": "Whose?", **run}))
    seen["then"] = data(await session.call_tool("result", run))["text"]
    seen["stopped"] = data(await session.call_tool("stop", run))["state"]


async def council(session, seen):
    """A council of agents: what won is applied."""
    arguments = {"task": "Make it right.", "agent": "council:pair", "wait": True}
    seen["done"] = data(await session.call_tool("start", arguments))
    applied = await session.call_tool("apply", {})
    seen["applied"] = data(applied)
    again = await session.call_tool("apply", {"candidate": 9})
    seen["refused"] = again.content[0].text


async def main():
    program, scene, *flags = sys.argv[1:]
    server = StdioServerParameters(command=program, args=["mcp", *flags], env=dict(os.environ))
    seen = {"progress": 0}

    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        greeted = await session.initialize()
        info = getattr(greeted, "server_info", None) or greeted.serverInfo
        seen["server"] = info.name
        seen["tools"] = [tool.name for tool in (await session.list_tools()).tools]
        await {"agent": agent, "council": council}[scene](session, seen)
    print(json.dumps(seen))


asyncio.run(main())
