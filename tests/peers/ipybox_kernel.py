"""Drives ipybox for `cargo xtask bench kernel`: a line with a word comes in, one of JSON goes out.

    start     a fresh kernel, and the seconds until its first cell was done
    cell      the seconds that `x += 1` took
    calls     how long the first call of a tool from code took, and one of the next, both as the code saw it
    timeout   the seconds until a cell that sleeps was given back, having been given one
    die       the seconds until it was noticed that the kernel is gone, at most five
    end       ends the kernel

The arguments: a folder to work in, and the command of an MCP server that has the tool `echo`.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from ipybox import CodeExecutor, generate_mcp_sources

FIRST = "x = 0"
CALLS = """
import time
begun = time.perf_counter()
from mcptools.peer.echo import Params, run
run(Params(text="first"))
first, begun = time.perf_counter() - begun, time.perf_counter()
for n in range(20):
    run(Params(text=str(n)))
later = (time.perf_counter() - begun) / 20
"""


class Kernel:
    def __init__(self, folder):
        self.folder = folder
        self.executor = None

    async def start(self):
        await self.end()
        begun = time.perf_counter()
        # As freeact sets it up: shell lines ask, and other ways to start a process are closed.
        self.executor = CodeExecutor(
            kernel_env={"PYTHONPATH": str(self.folder), "HOME": os.environ["HOME"]},
            images_dir=self.folder / "images",
            kernel_init_timeout=60,
            approve_shell_cmds=True,
            require_shell_escape=True,
        )
        await self.executor.start()
        await self.executor.execute(FIRST)
        return {"seconds": time.perf_counter() - begun}

    async def cell(self):
        begun = time.perf_counter()
        await self.executor.execute("x += 1")
        return {"seconds": time.perf_counter() - begun}

    async def calls(self):
        # It may lose what a cell prints, so the numbers go through a file.
        report = self.folder / "report"
        report.unlink(missing_ok=True)
        note = f"with open({str(report)!r}, 'w') as file: print(first, later, file=file)"
        await self.executor.execute(CALLS + note)
        first, later = map(float, report.read_text().split())
        return {"first": first, "seconds": later}

    async def timeout(self):
        begun = time.perf_counter()
        try:
            await self.executor.execute("import time; time.sleep(60)", timeout=1)
        except asyncio.TimeoutError:
            pass
        return {"seconds": time.perf_counter() - begun}

    async def die(self):
        begun = time.perf_counter()
        try:
            await self.executor.execute("import os; os._exit(1)", timeout=5)
        except Exception:
            pass
        return {"seconds": time.perf_counter() - begun}

    async def end(self):
        if self.executor is not None:
            executor, self.executor = self.executor, None
            await executor.stop()
        return {}


async def main():
    # Only answers go to whoever asks; what the libraries print goes to the log.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    folder, command, *args = sys.argv[1:]
    folder = Path(folder)
    await generate_mcp_sources("peer", {"command": command, "args": args}, folder / "mcptools")
    kernel = Kernel(folder)
    print(json.dumps({}), file=answers, flush=True)
    loop = asyncio.get_running_loop()
    while word := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
        print(json.dumps(await getattr(kernel, word)()), file=answers, flush=True)
    await kernel.end()


asyncio.run(main())
