"""An MCP server that does wrong what a server can do wrong; which of it, its arguments and the calls say."""

import json
import os
import subprocess
import sys
import time

MODES = set(sys.argv[1:])
MANY = next((int(mode.split("=")[1]) for mode in MODES if mode.startswith("many=")), 0)
SLOW = next((float(mode.split("=")[1]) for mode in MODES if mode.startswith("slow=")), 0.0)
COUNT = next((mode.split("=")[1] for mode in MODES if mode.startswith("count=")), None)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
LEFT = next((mode.split("=")[1] for mode in MODES if mode.startswith("left=")), None)
STAYS = next((mode.split("=")[1] for mode in MODES if mode.startswith("stays=")), None)
renamed = 0


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tool(name, description="", properties=None):
    return {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": properties or {}},
    }


def tools():
    if MANY:
        texts = {"type": "string", "description": "What it is about, in some words that take some room"}
        return [
            tool(f"thing_{n}", f"Does thing number {n} to a text, as was agreed upon with others", {"text": texts, "other": texts})
            for n in range(MANY)
        ]
    if "lie" in MODES:
        return [
            tool("fine"),
            {"name": "no_schema"},
            {"name": "wrong", "inputSchema": {"type": "object", "properties": {"a": {"type": "strnig"}}}},
            {"name": "text", "inputSchema": {"type": "string"}},
            {"name": "odd.name/of a tool", "inputSchema": {}},
        ]
    if renamed:
        return [tool(f"echo_{renamed}", "", {"text": {"type": "string"}})]
    names = ["echo", "die", "hang", "flood", "rename", "huge", "picture", "data", "variables", "garble", "child", "progress", "touch", "babble"]
    return [tool(name, f"It does {name}", {"text": {"type": "string"}}) for name in names]


def text(what):
    return {"content": [{"type": "text", "text": what}]}


def call(id, params):
    global renamed
    name, arguments = params["name"], params.get("arguments") or {}
    if name == "die":
        sys.stderr.write("I cannot go on\n")
        sys.stderr.flush()
        os._exit(7)
    if name == "hang":
        return
    if name == "flood":
        while True:
            say({"method": "notifications/message", "params": {"level": "info", "data": "again"}})
    if name == "babble":
        while True:
            say({"id": 4242, "result": text("nobody asked")})
    if name == "rename":
        renamed += 1
        say({"method": "notifications/tools/list_changed"})
    if name == "garble":
        say({"id": id, "result": {"content": [{"type": "text"}]}})
        return
    if name == "progress":
        token = params["_meta"]["progressToken"]
        for n in (1, 2):
            progress = {"progressToken": token, "progress": n, "total": 2, "message": f"part {n}"}
            say({"method": "notifications/progress", "params": progress})
    if name == "touch":
        try:
            with open(arguments["text"], "w") as file:
                file.write("touched")
        except OSError as error:
            say({"id": id, "result": {"isError": True, **text(str(error))}})
            return
    if name == "child":
        child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        say({"id": id, "result": text(str(child.pid))})
        return
    results = {
        "huge": lambda: text("x" * 50_000_000),
        "picture": lambda: {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]},
        "data": lambda: {"content": [], "structuredContent": {"answer": 42}},
        "variables": lambda: text(" ".join(sorted(os.environ))),
    }
    make = results.get(name, lambda: text(f"{name} says: {arguments.get('text', '')}"))
    say({"id": id, "result": make()})


def main():
    if COUNT:
        with open(COUNT, "a") as file:
            file.write("started\n")
    if "mute" in MODES:
        time.sleep(1000)
    if "noisy" in MODES:
        print("Listening on nothing at all")
        print('{"level": "info", "message": "this is a log"}')
    if "broken" in MODES:
        sys.exit("there is no key for me")
    for line in sys.stdin:
        message = json.loads(line)
        method, id = message.get("method"), message.get("id")
        if method == "initialize":
            time.sleep(SLOW)
            version = message["params"]["protocolVersion"]
            info = {"name": "faulty", "version": "1"}
            say({"id": id, "result": {"protocolVersion": version, "capabilities": {"tools": {"listChanged": True}}, "serverInfo": info}})
        elif method == "tools/list":
            say({"id": id, "result": {"tools": tools()}})
        elif method == "tools/call":
            call(id, message["params"])
        elif id is not None:
            say({"id": id, "error": {"code": -32601, "message": "not known"}})


main()
if LEFT:
    with open(LEFT, "a") as file:
        file.write("left\n")
if STAYS:
    with open(STAYS, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(1000)
