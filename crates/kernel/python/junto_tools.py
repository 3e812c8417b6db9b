"""The tools of a running Junto session, callable from Python.

    import junto_tools

    tools = junto_tools.connect()
    text = tools.read_file(path="README.md")

A tool is an attribute (or an item, `tools["odd-name"]`) that is called with its arguments by name, or
by position in the order of its schema, and returns its output. A tool that fails raises `ToolError`.

`connect` finds the socket by JUNTO_TOOLS_SOCKET and JUNTO_TOOLS_TOKEN. Threads may call side by side; a
process that was forked off connects anew. Needs Python 3.8 and nothing else.
"""

import itertools
import json
import os
import queue
import socket
import threading
from collections import namedtuple

__all__ = ["Outcome", "ToolError", "Tools", "ToolsUnavailable", "connect"]

Outcome = namedtuple("Outcome", ["output", "is_error", "images"])


class ToolError(Exception):
    """A tool was called and failed; the text is what it said."""


class ToolsUnavailable(Exception):
    """The socket could not be reached, did not let this process in, or did not take the request."""


def connect(path=None, token=None):
    """The tools of the session that started this process, or of the socket given."""
    path = path or os.environ.get("JUNTO_TOOLS_SOCKET")
    token = token or os.environ.get("JUNTO_TOOLS_TOKEN")
    if not path or not token:
        raise ToolsUnavailable("JUNTO_TOOLS_SOCKET and JUNTO_TOOLS_TOKEN are not set")
    tools = Tools(path, token)
    tools.refresh()
    return tools


class Tools:
    """The tools, as functions. Names with an underscore in front are never tools."""

    def __init__(self, path, token):
        self._path = path
        self._token = token
        self._lock = threading.Lock()
        self._connection = None
        self._specs = {}

    def refresh(self):
        """Asks anew which tools there are, and gives their names."""
        reply = self._connected().ask({"op": "list"})
        self._specs = {spec["name"]: spec for spec in reply["tools"]}
        return list(self._specs)

    def call(self, name, arguments=None):
        """Calls a tool and returns its output."""
        outcome = self.invoke(name, arguments)
        if outcome.is_error:
            raise ToolError(outcome.output)
        return outcome.output

    def invoke(self, name, arguments=None):
        """Calls a tool and returns everything it gave, also a failure."""
        arguments = {} if arguments is None else arguments
        reply = self._connected().ask({"op": "call", "name": name, "arguments": arguments})
        return Outcome(reply["output"], reply.get("is_error", False), reply.get("images", []))

    def close(self):
        """Ends the connection, and with it every call under way."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connected(self):
        with self._lock:
            connection = self._connection
            # A connection belongs to one process: after a fork two would read the same replies.
            if connection is not None and connection.pid != os.getpid():
                connection.abandon()
                connection = None
            if connection is None:
                connection = self._connection = _Connection(self._path, self._token)
            return connection

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._specs:
            raise AttributeError("there is no tool named %r" % name)
        return self[name]

    def __getitem__(self, name):
        return _function(self, self._specs[name])

    def __iter__(self):
        return iter(self._specs)

    def __len__(self):
        return len(self._specs)

    def __dir__(self):
        return [*super().__dir__(), *self._specs]

    def __repr__(self):
        return "<Tools: %s>" % ", ".join(self._specs)


def _function(tools, spec):
    """A tool as a function."""
    name, kind = spec["name"], spec["kind"]

    if kind["type"] == "custom":

        def tool(text):
            return tools.call(name, text)

    else:
        names = list(kind.get("parameters", {}).get("properties", {}))

        def tool(*positional, **named):
            if len(positional) > len(names):
                raise TypeError("%s takes at most %d arguments" % (name, len(names)))
            arguments = dict(zip(names, positional))
            twice = arguments.keys() & named.keys()
            if twice:
                raise TypeError("%s got %s twice" % (name, ", ".join(sorted(twice))))
            arguments.update(named)
            return tools.call(name, arguments)

    tool.__name__ = tool.__qualname__ = name
    tool.__doc__ = spec["description"]
    return tool


class _Connection:
    """One connection of this process: a thread reads the replies and hands each to who waits for it."""

    def __init__(self, path, token):
        self.pid = os.getpid()
        self._ids = itertools.count()
        self._lock = threading.Lock()
        # A lock of its own: while one thread sends, replies must still find who waits for them.
        self._sending = threading.Lock()
        self._waiting = {}
        self._over = None
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(path)
            self._replies = self._socket.makefile("rb")
            # Whoever is turned away at the door may be told so before this is sent.
            self._send(_line({"v": 1, "token": token}))
            first = self._replies.readline()
        except OSError as error:
            self._socket.close()
            raise ToolsUnavailable("the tool socket cannot be reached: %s" % error) from error
        welcome = json.loads(first) if first else {"error": "the tool socket closed the connection"}
        if "error" in welcome:
            self.close()
            raise ToolsUnavailable(welcome["error"])
        self._longest = welcome["line"]
        self._slots = threading.BoundedSemaphore(welcome["calls"])
        threading.Thread(target=self._read, name="junto-tools", daemon=True).start()

    def ask(self, request):
        """Sends a request and waits for its reply."""
        with self._slots:
            box = queue.SimpleQueue()
            number = next(self._ids)
            line = _line(dict(request, id=number))
            if len(line) - 1 > self._longest:
                raise ToolsUnavailable("the call has %d bytes; at most %d" % (len(line), self._longest))
            with self._lock:
                if self._over is not None:
                    raise ToolsUnavailable(self._over)
                self._waiting[number] = box
            try:
                self._send(line)
                reply = box.get()
            except BaseException:
                # For instance a KeyboardInterrupt: nobody waits for the call any more.
                with self._lock:
                    waited = self._waiting.pop(number, None)
                if waited is not None:
                    self._send(_line({"id": number, "op": "cancel"}))
                raise
        if not reply["ok"]:
            raise ToolsUnavailable(reply["error"])
        return reply

    def close(self):
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # It was closed from the other side.
        self._socket.close()

    def abandon(self):
        """Lets go of a connection that belongs to the parent process, without ending it."""
        os.close(self._socket.detach())

    def _send(self, line):
        try:
            with self._sending:
                self._socket.sendall(line)
        except OSError:
            pass  # The reader sees it, too, and tells everybody who waits.

    def _read(self):
        reason = "the tool socket closed the connection"
        try:
            for line in self._replies:
                reply = json.loads(line)
                if reply.get("id") is None:
                    reason = reply.get("error", reason)
                    break
                with self._lock:
                    box = self._waiting.pop(reply["id"], None)
                if box is not None:
                    box.put(reply)
        except (OSError, ValueError) as error:
            reason = "the connection to the tool socket broke: %s" % error
        with self._lock:
            self._over = reason
            waiting, self._waiting = self._waiting, {}
        for box in waiting.values():
            box.put({"ok": False, "error": reason})


def _line(message):
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
