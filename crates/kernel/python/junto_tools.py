"""The tools of a running Junto session, callable from Python.

    import junto_tools

    tools = junto_tools.connect()
    text = tools.read_file(path="README.md")

A tool is an attribute (or an item, `tools["odd-name"]`) that is called with its arguments by name, or
by position in the order of its schema, and returns its output. A tool that fails raises `ToolError`, one
that may not run `ToolRejected`.

`connect` finds the socket by JUNTO_TOOLS_SOCKET and JUNTO_TOOLS_TOKEN. Threads and tasks may call side by
side; a process that was forked off connects anew. Needs Python 3.8 and nothing else.
"""

import collections
import itertools
import json
import os
import queue
import re
import socket
import sys
import threading

__all__ = [
    "Outcome", "ToolError", "ToolRejected", "Tools", "ToolsUnavailable", "connect",
    "list_categories", "list_tools", "save_tool", "search_tools", "signature",
]

Outcome = collections.namedtuple("Outcome", ["output", "is_error", "images", "data", "is_rejected"])


class ToolError(Exception):
    """A tool was called and failed; the text is what it said."""


class ToolRejected(ToolError):
    """A call was not allowed, and nothing of it was done."""


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


_session = None


def session():
    """The tools of the session that started this process, without asking which there are."""
    global _session
    if _session is None:
        path, token = os.environ.get("JUNTO_TOOLS_SOCKET"), os.environ.get("JUNTO_TOOLS_TOKEN")
        if not path or not token:
            raise ToolsUnavailable("JUNTO_TOOLS_SOCKET and JUNTO_TOOLS_TOKEN are not set")
        _session = Tools(path, token)
    return _session


def list_categories():
    """The modules with tools that can be imported, and how many tools each has."""
    return {found["module"]: found["tools"] for found in session().ask("categories")["found"]}


def list_tools(module):
    """The tools of a module, and what each does."""
    return _summaries(session().ask("tools", module=module))


def search_tools(query, limit=10):
    """The tools that fit some words best, and what each does."""
    return _summaries(session().ask("search", query=query, limit=limit))


def signature(name):
    """How a tool is imported and called, and what it gives: `signature("mcptools.github.create_issue")`."""
    return session().ask("signature", name=name)["found"]


def save_tool(category, name, code):
    """Keeps code as `gentools.<category>.<name>`: the text of a module with a function `run`."""
    compile(code, "<%s.%s>" % (category, name), "exec")
    said = session().call("save_code_tool", {"category": category, "name": name, "code": code})
    forget_tool("gentools.%s.%s" % (category, name))
    return said


def forget_tool(module):
    """Has a tool that was kept imported anew, with all that is in its package, of which this may be one module."""
    tool = ".".join(module.split(".")[:3])
    for loaded in [loaded for loaded in sys.modules if loaded == tool or loaded.startswith(tool + ".")]:
        del sys.modules[loaded]
    category, _, name = tool.rpartition(".")
    # There it would be found without being imported.
    if category in sys.modules:
        vars(sys.modules[category]).pop(name, None)


def _summaries(reply):
    return {found["name"]: found["summary"] for found in reply["found"]}


class Tools:
    """The tools, as functions. Names with an underscore in front are never tools."""

    def __init__(self, path, token):
        self._path = path
        self._token = token
        self._lock = threading.Lock()
        self._connection = None
        self._specs = {}
        os.register_at_fork(after_in_child=self._forked)

    def refresh(self):
        """Asks anew which tools there are, and gives their names."""
        reply = self.ask("list")
        self._specs = {spec["name"]: spec for spec in reply["tools"]}
        return list(self._specs)

    def call(self, name, arguments=None):
        """Calls a tool and returns its output."""
        outcome = self.invoke(name, arguments)
        return checked(outcome).output

    def invoke(self, name, arguments=None):
        """Calls a tool and returns everything it gave, also a failure."""
        return _outcome(self._connected().ask(_call(name, arguments)))

    async def invoke_async(self, name, arguments=None):
        """The same, for tasks: others go on meanwhile. A task that is cancelled ends the call."""
        return _outcome(await self._connected().ask_async(_call(name, arguments)))

    def ask(self, op, **what):
        """Asks the socket for something else than a call."""
        return self._connected().ask(dict(what, op=op))

    def close(self):
        """Ends the connection, and with it every call under way."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connected(self):
        with self._lock:
            connection = self._connection
            if connection is None or connection.is_over:
                connection = self._connection = _Connection(self._path, self._token)
            return connection

    def _forked(self):
        # A connection belongs to one process: after a fork two would read the same replies. The lock may be
        # held by a thread that this process does not have.
        self._lock = threading.Lock()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abandon()

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


def checked(outcome):
    """The outcome, unless it is a failure."""
    if outcome.is_error:
        raise (ToolRejected if outcome.is_rejected else ToolError)(outcome.output)
    return outcome


def _call(name, arguments):
    return {"op": "call", "name": name, "arguments": {} if arguments is None else arguments}


def _outcome(reply):
    return Outcome(
        reply["output"], reply.get("is_error", False), reply.get("images", []),
        reply.get("data"), reply.get("rejected", False),
    )


class _Slots:
    """So many at a time; the rest wait in the order in which they came."""

    def __init__(self, count):
        self._free = count
        self._lock = threading.Lock()
        self._waiting = collections.deque()

    def take(self, wake):
        """Whether there is one now; if not, `wake` is called when there is."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            self._waiting.append(wake)
            return False

    def leave(self, wake):
        """Waits no longer, or gives back what it has got."""
        with self._lock:
            if wake in self._waiting:
                self._waiting.remove(wake)
                return
        self.give()

    def give(self):
        with self._lock:
            wake = self._waiting.popleft() if self._waiting else None
            if wake is None:
                self._free += 1
        if wake is not None:
            wake(None)


class _Connection:
    """One connection of this process: a thread reads the replies and hands each to who waits for it."""

    def __init__(self, path, token):
        # Whether it ended in the middle of a line, because who sent it was interrupted.
        self._is_cut = False
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
        except BaseException:
            self._socket.close()
            raise
        welcome = json.loads(first) if first else {"error": "the tool socket closed the connection"}
        if "error" in welcome:
            self.close()
            raise ToolsUnavailable(welcome["error"])
        self._longest = welcome["line"]
        self._slots = _Slots(welcome["calls"])
        threading.Thread(target=self._read, name="junto-tools", daemon=True).start()

    def ask(self, request):
        """Sends a request and waits for its reply."""
        number, line = self._numbered(request)
        box = queue.SimpleQueue()
        try:
            if not self._slots.take(box.put):
                box.get()
            self._start(number, line, box.put)
            reply = box.get()
        except BaseException:
            # For instance a KeyboardInterrupt: nobody waits for the call any more.
            self._end(number)
            raise
        finally:
            self._slots.leave(box.put)
        return _taken(reply)

    async def ask_async(self, request):
        """The same, for a task."""
        import asyncio

        number, line = self._numbered(request)
        loop = asyncio.get_running_loop()
        box = asyncio.Queue()

        def put(reply):
            try:
                loop.call_soon_threadsafe(box.put_nowait, reply)
            except RuntimeError:
                pass  # The loop has ended, and with it whoever waited.

        try:
            if not self._slots.take(put):
                await box.get()
            self._start(number, line, put)
            reply = await box.get()
        except BaseException:
            self._end(number)
            raise
        finally:
            self._slots.leave(put)
        return _taken(reply)

    @property
    def is_over(self):
        """Whether nothing can be asked any more: the next call needs another connection."""
        return self._is_cut or self._over is not None

    def close(self):
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # It was closed from the other side.
        self._socket.close()

    def abandon(self):
        """Lets go of a connection that belongs to the parent process, without ending it."""
        number = self._socket.detach()
        if number >= 0:
            os.close(number)

    def _numbered(self, request):
        number = next(self._ids)
        line = _line(dict(request, id=number))
        if len(line) - 1 > self._longest:
            raise ToolsUnavailable("the call has %d bytes; at most %d" % (len(line), self._longest))
        return number, line

    def _start(self, number, line, deliver):
        with self._lock:
            if self._over is not None:
                raise ToolsUnavailable(self._over)
            self._waiting[number] = deliver
        self._send(line)

    def _end(self, number):
        with self._lock:
            waited = self._waiting.pop(number, None)
        if waited is not None and not self._is_cut:
            self._send(_line({"id": number, "op": "cancel"}))

    def _send(self, line):
        try:
            with self._sending:
                self._socket.sendall(line)
        except OSError:
            pass  # The reader sees it, too, and tells everybody who waits.
        except BaseException:
            # Who knows how much of the line was sent; what follows would be taken for the rest of it.
            self._is_cut = True
            self.close()
            raise

    def _read(self):
        reason = "the tool socket closed the connection"
        try:
            for line in self._replies:
                reply = json.loads(line)
                if reply.get("id") is None:
                    reason = reply.get("error", reason)
                    break
                with self._lock:
                    deliver = self._waiting.pop(reply["id"], None)
                if deliver is not None:
                    deliver(reply)
        except MemoryError:
            reason = "there was no memory left for an answer of a tool"
        except (OSError, ValueError) as error:
            reason = "the connection to the tool socket broke: %s" % error
        finally:
            # Whatever has happened: nobody waits for an answer that nobody reads.
            with self._lock:
                self._over = reason
                waiting, self._waiting = self._waiting, {}
            for deliver in waiting.values():
                deliver({"ok": False, "error": reason})
            self._replies.close()
            self.close()


def _taken(reply):
    if not reply["ok"]:
        raise ToolsUnavailable(reply["error"])
    return reply


def _line(message):
    text = json.dumps(message, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain)
    if _LONG_NUMBER.search(text):
        # Read on the way, it would become another number.
        json.loads(text, parse_int=_whole)
    return text.encode() + b"\n"


# As many digits as it takes not to fit.
_LONG_NUMBER = re.compile("[0-9]{19}")


def _whole(digits):
    if not -(1 << 63) <= int(digits) < 1 << 64:
        raise ToolsUnavailable("%s does not fit into 64 bits, so no tool can be given it: pass it as a text" % digits)


def is_rounded(outcome):
    """Whether a tool gave a whole number that does not fit into 64 bits, and so is another one among its data.

    There it looks like any large number; its text says which it is.
    """
    return _has_vast(outcome.data) and _tells_vast(outcome.output)


def _has_vast(data):
    if isinstance(data, dict):
        return any(_has_vast(value) for value in data.values())
    if isinstance(data, list):
        return any(_has_vast(value) for value in data)
    return isinstance(data, float) and data.is_integer() and abs(data) >= 1 << 63


def _tells_vast(text):
    if not _LONG_NUMBER.search(text):
        return False
    try:
        json.loads(text, parse_int=_whole)
    # Of what is no JSON it is not known where its numbers are.
    except (RecursionError, ToolsUnavailable, ValueError):
        return True
    return False


def _plain(value):
    """What JSON has no word for, in words it has."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (set, frozenset, collections.deque)):
        return list(value)
    if hasattr(value, "item"):  # A number of numpy's.
        return value.item()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise TypeError("%r cannot be passed to a tool" % type(value).__name__)
