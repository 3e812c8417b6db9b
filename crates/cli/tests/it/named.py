"""An MCP server with tools of the names that it is given, each of which says its name and the text it is given."""

import json
import sys

NAMES = sys.argv[1:]
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


def result(method, params):
    if method == "initialize":
        info = {"name": "named", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"name": name, "description": f"Says {name}", "inputSchema": SCHEMA} for name in NAMES]}
    if method == "tools/call":
        said = f"{params['name']}: {params.get('arguments', {}).get('text', '')}"
        return {"content": [{"type": "text", "text": said}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result(message["method"], message.get("params"))}
        print(json.dumps(answer), flush=True)
