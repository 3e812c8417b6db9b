"""The litellm proxy with mock models: a second independent peer on three wires.

Serves /v1/chat/completions, /v1/responses and /v1/messages at a free port of the loopback interface. The
models are in litellm_config.yaml, what they answer in litellm_mock.py. Of an error in the middle of a
stream it makes an error event on Messages and a `response.failed` on Responses, with status 200; its
Responses streams have no event names and end with `[DONE]`. A benchmark names another configuration.
"""

import asyncio
import os
import pathlib
import secrets
import socket
import sys

import peer

CONFIG = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "litellm_config.yaml"


def serve(announce) -> None:
    key = f"sk-{secrets.token_hex(16)}"
    # Read when the proxy is imported.
    os.environ["CONFIG_FILE_PATH"] = str(CONFIG)
    os.environ["LITELLM_MASTER_KEY"] = key
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_TELEMETRY"] = "False"
    asyncio.run(run_proxy(announce, key))
    raise RuntimeError("the proxy ended by itself")


async def run_proxy(announce, key: str) -> None:
    import uvicorn
    from litellm.proxy.proxy_server import app

    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.05)
    if server.started:
        host, port = listener.getsockname()
        announce(url=f"http://{host}:{port}", key=key)
    await serving


if __name__ == "__main__":
    peer.run(serve)
