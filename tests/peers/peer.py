"""How a server becomes a peer of the tests: it prints one JSON line with its address when it serves, serves
until its standard input closes, and then ends at once, whatever its libraries would like to finish."""

import json
import os
import sys
import threading
import traceback


def run(serve) -> None:
    """Calls `serve(announce)`, which must not return; `announce(url=...)` prints the line."""
    # Only the line goes to whoever started this; what the libraries print goes to the log.
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    threading.Thread(target=end_with_input, daemon=True).start()

    def announce(**address: str) -> None:
        print(json.dumps(address), file=output, flush=True)

    try:
        serve(announce)
    except BaseException:
        traceback.print_exc()
    os._exit(1)


def end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)
