"""Drives `junto mcp` with the official Python client, and prints what it saw as one line of JSON."""

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


async def main():
    server = StdioServerParameters(command=sys.argv[1], args=["mcp"], env=dict(os.environ))
    seen = {"progress": 0}

    async def progress(_progress, _total, _message):
        seen["progress"] += 1

    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        greeted = await session.initialize()
        info = getattr(greeted, "server_info", None) or greeted.serverInfo
        seen["server"] = info.name
        seen["tools"] = [tool.name for tool in (await session.list_tools()).tools]
        arguments = {"task": "What is a junto?", "wait": True}
        done = data(await session.call_tool("start", arguments, progress_callback=progress))
        seen["text"] = done["text"]
        stopped = await session.call_tool("stop", {"run": done["run"]})
        seen["stopped"] = data(stopped)["state"]
    print(json.dumps(seen))


asyncio.run(main())
