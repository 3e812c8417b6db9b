"""The litellm proxy with mock models: a second independent peer on three wires.

Serves /v1/chat/completions, /v1/responses and /v1/messages at a free port of the loopback interface.
Prints one JSON line with its address and key when it serves, then serves until its standard input
closes. The models and what they answer are in litellm_config.yaml.
"""

import asyncio
import json
import os
import pathlib
import secrets
import socket
import sys
import threading

HERE = pathlib.Path(__file__).parent


async def serve(answer, key: str) -> None:
    import uvicorn
    from litellm.proxy.proxy_server import app

    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.05)
    if server.started:
        host, port = listener.getsockname()
        print(json.dumps({"url": f"http://{host}:{port}", "key": key}), file=answer, flush=True)
    await serving


def end_with_input() -> None:
    sys.stdin.read()
    # Nothing to save, and requests that still run must not hold up the end.
    os._exit(0)


def main() -> None:
    # The address goes to whoever started this; the proxy's own chatter goes to the log.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    threading.Thread(target=end_with_input, daemon=True).start()

    key = f"sk-{secrets.token_hex(16)}"
    # Read when the proxy is imported.
    os.environ["CONFIG_FILE_PATH"] = str(HERE / "litellm_config.yaml")
    os.environ["LITELLM_MASTER_KEY"] = key
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_TELEMETRY"] = "False"
    asyncio.run(serve(answer, key))
    sys.exit("the proxy ended by itself")


if __name__ == "__main__":
    main()
