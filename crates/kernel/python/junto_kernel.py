"""Becomes an IPython kernel that loses nothing it says.

What differs from a kernel as it comes:
- everything is given on the standard input: no file holds the key,
- what processes and libraries write to the descriptors 1 and 2 is read before Python goes on writing, and
  before a cell is over, so that it stands where it belongs and in the cell it belongs to,
- whoever writes faster than the other side reads waits, and nothing is dropped,
- what is published at once has a limit, and is JSON that everybody can read,
- streams that code has put away or closed are back for the next cell,
- `exit()` and `quit()` raise, and the kernel lives,
- an interrupt is for one cell, and is heeded by its code: also one that comes before the code has begun.
"""

import asyncio
import codecs
import collections
import contextlib
import faulthandler
import functools
import io
import itertools
import json
import os
import select
import signal
import sys
import tempfile
import threading
import warnings

import junto_watch

# How many characters are published at once, and how many may wait.
CHUNK = 1 << 16
WAITING = 1 << 18
# How many messages ZeroMQ holds for the other side.
MESSAGES = 64
# The most bytes of one message that is no stream.
LARGEST = 24 << 20
# How deep JSON may be nested that the other side reads, and the whole numbers that stay what they are there.
DEEPEST = 100
LEAST, MOST = -(1 << 63), (1 << 64) - 1
# How many bytes are read at once of what processes write.
READ = 1 << 16
# The signals that end the process, and that code may send itself.
DEADLY = (signal.SIGKILL, signal.SIGTERM, signal.SIGABRT)
# How long the other side may take to say that it has what was published last, in seconds.
LAST_WORDS = 1
# How long after an interrupt, and after each other, the main thread is woken, in seconds.
NUDGES = (0.002, 0.01, 0.05, 0.1, 0.2, 0.5)


class Capture:
    """Reads what is written to the descriptors 1 and 2, and gives it to the streams."""

    def __init__(self):
        self.lock = threading.RLock()
        self.streams = {}
        # The pipes that somebody may still write to.
        self.readers = []
        # What is for the streams, in its order, and whether it is being handed on.
        self.queue = collections.deque()
        self.busy = False
        # Whether the process ends in the middle of that.
        self.ending = False

    def add(self, stream, number):
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        os.dup2(writer, number)
        os.close(writer)
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.streams[reader] = (stream, decoder)
        self.readers.append(reader)

    def drain(self):
        """Everything that was written before this was called is with the streams afterwards."""
        self.say(None, "")

    def say(self, stream, text):
        """Gives a stream a text, behind everything that was written before.

        What a signal handler or a finalizer says while its thread is handing on here comes when that goes on.
        """
        with self.lock:
            while self.read() and not self.busy:
                self.hand_on()
            self.queue.append((stream, text))
            if not self.busy:
                self.hand_on()

    def read(self):
        """Reads what is there, and says whether there was anything."""
        # A poll object cannot be used while it is.
        ready = select.select(self.readers, (), (), 0)[0]
        for reader in ready:
            # In one call, so that no signal handler reads more before this is in its place.
            with contextlib.suppress(BlockingIOError):
                self.queue.extend(zip((reader,), map(os.read, (reader,), (READ,))))
        return bool(ready)

    def hand_on(self):
        self.busy = True
        try:
            while self.queue:
                self.take(*self.queue.popleft())
        finally:
            self.busy = False

    def take(self, where, what):
        if where in self.streams:
            if not what and where in self.readers:
                # Somebody has closed the last descriptor that writes here.
                self.readers.remove(where)
            where, decoder = self.streams[where]
            what = decoder.decode(what)
        if where is not None:
            where.take(what)

    def is_interrupted(self):
        """Whether this is called by a signal handler or a finalizer that has come while its thread was handing on."""
        with self.lock:
            return self.busy

    @contextlib.contextmanager
    def ended(self):
        """While the process ends: what was interrupted does not go on, and is not waited for."""
        with self.lock:
            self.ending = self.busy
            self.read()
            self.hand_on()
        try:
            yield
        finally:
            self.ending = False

    def finish(self):
        """At the end of a cell: what is left of a character never becomes one."""
        with self.lock:
            self.drain()
            for stream, decoder in self.streams.values():
                self.say(stream, decoder.decode(b"", final=True))
                decoder.reset()

    def watch(self):
        poll = select.poll()
        for reader in self.streams:
            poll.register(reader, select.POLLIN)
        while True:
            for reader, event in poll.poll():
                if event & select.POLLIN == 0:
                    poll.unregister(reader)
            self.drain()


class LastWords:
    """Waits until the other side has everything that was published, which threads of ZeroMQ's write."""

    def __init__(self, kernel, buffers):
        self.kernel = kernel
        self.numbers = itertools.count()
        self.known = set()
        # Whoever waits lets go of the streams' buffers: a write may have been interrupted that has them.
        self.told = threading.Condition(buffers)

    def wait(self):
        """Asks it to say so, behind everything else. Between cells nobody may listen."""
        number = next(self.numbers)
        self.kernel.session.send(self.kernel.iopub_socket, "last_words", {"number": number})
        with self.told:
            self.told.wait_for(lambda: number in self.known, LAST_WORDS)

    def heard(self, number):
        with self.told:
            self.known.add(number)
            self.told.notify_all()


class Interrupts:
    """Interrupts reach the code of a cell, and nothing else.

    Raised in what surrounds the code, a KeyboardInterrupt would leave a cell without an answer, or without the
    traceback that tells where it was. So SIGINT raises only while code runs. One that comes earlier is noted, and
    raises as soon as the code begins; one that comes later is about a cell that is ending anyhow.
    """

    def __init__(self):
        # The cell that runs, and the last one that was to be interrupted: written by one thread each.
        self.current = None
        self.asked = None
        self.noted = False
        # What the code of the cell that runs has SIGINT do.
        self.handler = signal.default_int_handler

    def begin(self, cell):
        self.handler = signal.default_int_handler
        self.noted = False
        self.current = cell
        # Whoever asks notes the cell before he looks whether it runs: one of the two sees the other.
        if self.asked == cell:
            self.noted = True

    def end(self):
        self.current = None
        # An interrupt that came as the code ended may have kept it from being switched back.
        with contextlib.suppress(KeyboardInterrupt):
            self.switch(self.note)

    def ask(self, cell):
        """Whether a cell that is to be interrupted runs; if it is still to begin it is interrupted then."""
        self.asked = cell
        return self.current == cell

    def note(self, *_):
        self.noted = True

    @contextlib.contextmanager
    def heeded(self):
        """While code runs. Statements of one cell are run one by one, and each may set a handler for the next."""
        before = signal.signal(signal.SIGINT, self.handler)
        try:
            self.check()
            yield
        finally:
            self.handler = self.handles()
            self.switch(before)

    @contextlib.contextmanager
    def cancelling(self):
        """While code awaits something, and a loop runs beside it."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop(*_):
            if asyncio.current_task(loop) is task:
                # It does not wait just now.
                raise KeyboardInterrupt
            # Raised here it would end the loop. If the task is about to go on, its next statement sees the note.
            self.noted = True
            loop.call_soon_threadsafe(task.cancel)

        before = signal.signal(signal.SIGINT, stop)
        try:
            self.check()
            yield
        finally:
            self.switch(before)

    @contextlib.contextmanager
    def deferred(self):
        """While a traceback is made: that another interrupt has come just before changes nothing."""
        before = self.handles()
        with contextlib.suppress(KeyboardInterrupt):
            self.switch(self.note)
        try:
            yield
        finally:
            self.switch(before)

    def handles(self):
        """What SIGINT does; what was not set by Python cannot be set by it again."""
        handler = signal.getsignal(signal.SIGINT)
        return signal.default_int_handler if handler is None else handler

    def check(self):
        if self.noted:
            self.noted = False
            raise KeyboardInterrupt

    def switch(self, handler):
        try:
            return signal.signal(signal.SIGINT, handler)
        except KeyboardInterrupt:
            # One that had come just before; then nothing was switched.
            signal.signal(signal.SIGINT, handler)
            raise

    async def nudge(self, cell):
        """Wakes the main thread until a cell is over.

        A signal that comes just before a thread goes to sleep in a system call, or that another thread has taken, does
        not wake it. What Python would do about the signal is then done only when the call ends, unless another one
        interrupts it.
        """
        main = threading.main_thread().ident
        for pause in NUDGES:
            await asyncio.sleep(pause)
            if self.current != cell:
                break
            signal.pthread_kill(main, signal.SIGCONT)

    def watch(self, shell):
        """Has the code that a shell runs heed interrupts."""
        run_code, show_traceback = shell.run_code, shell.showtraceback

        async def run(code, result=None, *, async_=False):
            if threading.current_thread() is not threading.main_thread():
                return await run_code(code, result, async_=async_)
            with self.cancelling() if async_ else self.heeded():
                return await run_code(code, result, async_=async_)

        def show(*args, **kwargs):
            if threading.current_thread() is not threading.main_thread():
                return show_traceback(*args, **kwargs)
            with self.deferred():
                # They are flushed before it is published.
                put_back(*shell.kernel.streams)
                return show_traceback(*args, **kwargs)

        shell.run_code, shell.showtraceback = run, show


def kernel_classes():
    """Imported here, after the memory has its limit."""
    import zmq
    from ipykernel import kernelapp
    from ipykernel.iostream import IOPubThread, OutStream
    from ipykernel.ipkernel import IPythonKernel
    from ipykernel.kernelapp import IPKernelApp
    from IPython.core.autocall import ZMQExitAutocall

    capture = Capture()
    # Of the buffers of both streams.
    buffers = threading.RLock()

    def leave(self, code=None):
        """As `sys.exit`: the kernel itself would end under the next cell."""
        raise SystemExit(code)

    ZMQExitAutocall.__call__ = leave

    class Publisher(IOPubThread):
        """Without the port that forks would connect to: they write to the descriptors, as processes do."""

        def __init__(self, socket, pipe=False, **kwargs):
            super().__init__(socket, pipe=False, **kwargs)

    kernelapp.IOPubThread = Publisher

    class Binary(io.BufferedIOBase):
        """The bytes of a stream."""

        def __init__(self, stream):
            self.stream = stream
            self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

        def writable(self):
            return True

        def fileno(self):
            return self.stream.fileno()

        def write(self, data):
            data = bytes(data)
            if self.stream.is_elsewhere():
                self.stream.write_down(data)
            else:
                capture.say(self.stream, self.decoder.decode(data))
            return len(data)

        def flush(self):
            self.stream.flush()

    class Stream(OutStream):
        """The standard output or the standard error of the kernel's code."""

        flush_interval = 0.05
        errors = "strict"
        newlines = None
        line_buffering = False

        def __init__(self, session, pub_thread, name, *args, **kwargs):
            kwargs["watchfd"] = False
            super().__init__(session, pub_thread, name, *args, **kwargs)
            self._buffer_lock = buffers
            self.number = {"stdout": 1, "stderr": 2}[name]
            self.waiting = 0
            self.buffer = Binary(self)
            capture.add(self, self.number)

        def fileno(self):
            return self.number

        def is_elsewhere(self):
            """Whether this is a fork of the kernel."""
            return os.getpid() != self._master_pid

        def write_down(self, data):
            while data:
                data = data[os.write(self.number, data) :]

        def write(self, text):
            if not isinstance(text, str):
                raise TypeError(f"write() argument must be str, not {type(text).__name__}")
            length = len(text)
            if not text.isascii():
                # As a terminal would: the output refuses what is no text, and errors are shown anyhow.
                how = "strict" if self.number == 1 else "backslashreplace"
                text = text.encode("utf-8", how).decode("utf-8")
            if self.is_elsewhere():
                self.write_down(text.encode("utf-8"))
            else:
                capture.say(self, text)
            return length

        def take(self, text):
            for start in range(0, len(text), CHUNK):
                piece = text[start : start + CHUNK]
                super().write(piece)
                self.waiting += len(piece)
                if self.waiting >= WAITING:
                    self.send()

        def close(self):
            """It belongs to the kernel, whose next cell writes here, too."""
            self.flush()

        def flush(self):
            if self.is_elsewhere():
                return
            capture.drain()
            # What is on its way already is sent before anything that comes after it; in a signal handler, when the
            # write goes on that it has interrupted.
            if self.waiting and not capture.is_interrupted():
                self.send()

        def send(self):
            """Has everything sent, and waits until it is."""
            thread = self.pub_thread.thread if self.pub_thread else None
            alive = thread is not None and thread.is_alive()
            if capture.ending or not alive or thread is threading.current_thread():
                self._flush()
                return
            done = threading.Event()
            self.pub_thread.schedule(self._flush)
            self.pub_thread.schedule(done.set)
            # However long the other side takes; an interrupt ends it.
            while not done.wait(1) and thread.is_alive():
                pass

        def _flush(self):
            self.waiting = 0
            super()._flush()

    class NoThread:
        """In place of the thread that hands requests on to subshells, of which there are none: each hop from thread
        to thread takes about as long as a small cell."""

        parent_thread = threading.main_thread()

        def __bool__(self):
            return False

    class Kernel(IPythonKernel):
        _supports_kernel_subshells = False
        control_msg_types = [*IPythonKernel.control_msg_types, "heard_request"]

        def _publish_execute_input(self, code, parent, execution_count):
            """Whoever sent the code knows it."""

        def _publish_status(self, status, channel, parent=None):
            # That it is busy is known, too: it was sent a cell.
            if status != "busy":
                super()._publish_status(status, channel, parent)

        # Everything is on its way before the answer is: there is nothing to wait for.
        _execute_sleep = 0

        def start(self):
            super().start()
            self.streams = (sys.stdout, sys.stderr)
            self.last_words = LastWords(self, buffers)
            flush_before_the_end(capture, self.last_words, *self.streams)
            self.interrupts = Interrupts()
            self.interrupts.watch(self.shell)
            signal.signal(signal.SIGINT, self.interrupts.note)
            # A loop that sleeps is woken by any signal, so that an interrupt is heeded at once.
            asyncio.get_event_loop().add_signal_handler(signal.SIGCONT, lambda: None)
            # By each signal a byte, which nobody reads while a cell runs: a few hundred are enough, and no fault.
            signal.set_wakeup_fd(signal.set_wakeup_fd(-1), warn_on_full_buffer=False)
            # So is a system call, which would otherwise go on after this one.
            signal.siginterrupt(signal.SIGCONT, True)

        def pre_handler_hook(self):
            """An interrupt has nothing to interrupt before there is code."""

        def post_handler_hook(self):
            """Nothing was changed before."""

        def _cancel_on_sigint(self, future):
            """What runs the code does so."""
            return contextlib.nullcontext()

        async def execute_request(self, stream, ident, parent):
            self.interrupts.begin(parent["header"]["msg_id"])
            try:
                await super().execute_request(stream, ident, parent)
            finally:
                self.interrupts.end()

        async def do_execute(self, *args, **kwargs):
            try:
                return await super().do_execute(*args, **kwargs)
            finally:
                # What calls this flushes them, and without that there is no answer.
                put_back(*self.streams)

        async def interrupt_request(self, stream, ident, parent):
            cell = parent["content"].get("cell")
            if self.interrupts.ask(cell):
                await super().interrupt_request(stream, ident, parent)
                self.nudging = asyncio.ensure_future(self.interrupts.nudge(cell))
            else:
                self.session.send(stream, "interrupt_reply", {"status": "ok"}, parent, ident=ident)

        async def heard_request(self, stream, ident, parent):
            self.last_words.heard(parent["content"].get("number"))

    class App(IPKernelApp):
        def _bind_socket(self, s, port):
            if s.type in (zmq.PUB, zmq.XPUB):
                s.setsockopt(zmq.XPUB_NODROP, 1)
                s.setsockopt(zmq.SNDHWM, MESSAGES)
            return super()._bind_socket(s, port)

        def init_control(self, context):
            super().init_control(context)
            self.shell_channel_thread = NoThread()

        def init_connection_file(self):
            """There is none: what would be in it has been given."""

        def write_connection_file(self, **kwargs):
            """It would tell the key to everybody who can read files."""

    return capture, Stream, Kernel, App


def put_back(stdout, stderr):
    """Has streams in their places again in whose place is something that cannot be flushed: None, or a closed file."""
    for name, own in (("stdout", stdout), ("stderr", stderr)):
        try:
            stream = getattr(sys, name)
            stream.flush()
            usable = not getattr(stream, "closed", False)
        except Exception:
            usable = False
        if not usable:
            setattr(sys, name, own)


def flush_before_the_end(capture, last_words, *streams):
    """Has what was printed heard before code ends the process in a way that lets nothing else run."""

    own = os.getpid()

    def flushing(function, ends=lambda *_: True):
        @functools.wraps(function)
        def flushed(*args, **kwargs):
            if os.getpid() == own and ends(*args, **kwargs):
                # Code may have closed the sockets; the process ends all the same.
                with contextlib.suppress(Exception), capture.ended():
                    for stream in streams:
                        stream.flush()
                    last_words.wait()
            return function(*args, **kwargs)

        return flushed

    os._exit = flushing(os._exit)
    os.abort = flushing(os.abort)
    # Not for an interrupt, which waits for nobody.
    os.kill = flushing(os.kill, lambda process=None, number=None: process == own and number in DEADLY)


def readable(pack):
    """Packs messages so that the other side can read them: texts that are none, vast numbers, and depth are told as text."""

    def packed(content):
        if is_shown(content) and not is_plain(content["data"]):
            content = dict(content, data=as_text(content["data"]))
        try:
            data = pack(content)
            data.decode()
        except UnicodeError:
            data = pack(spelled(content))
        return data

    return packed


def is_shown(content):
    """Whether this is a display or a result. What is said to widgets has data, too, of any kind, which nobody reads."""
    return isinstance(content, dict) and "metadata" in content and isinstance(content.get("data"), dict)


def is_plain(value):
    """Whether the other side reads this as what it is."""
    level = [value]
    for _ in range(DEEPEST):
        below = []
        for value in level:
            if isinstance(value, dict):
                below.extend(value.values())
            elif isinstance(value, (list, tuple)):
                below.extend(value)
            elif isinstance(value, int) and not LEAST <= value <= MOST:
                return False
        if not below:
            return True
        # What is there twice is looked at once: something may contain itself, and that often.
        level = list({id(value): value for value in below}.values())
    return False


def as_text(data):
    """What is displayed, with those forms as text that are not plain."""
    less = {kind: value for kind, value in data.items() if is_plain(value)}
    for kind in data.keys() - less.keys():
        try:
            less["text/plain"] = json.dumps(data[kind], ensure_ascii=False)
        except (RecursionError, TypeError, ValueError) as error:
            less["text/plain"] = f"[{kind} that cannot be shown: {type(error).__name__}: {error}]"
    return less


def spelled(value):
    """The same, with letters spelled out that no text may have: those of file names that are not UTF-8, for instance."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {spelled(key): spelled(below) for key, below in value.items()}
    if isinstance(value, (list, tuple)):
        return [spelled(below) for below in value]
    return value


def bounded(pack):
    """Packs messages; one that is too large is packed with less in it."""

    def packed(content):
        data = pack(content)
        if len(data) <= LARGEST or not isinstance(content, dict):
            return data
        note = f"[left out: {len(data)} bytes in one piece, more than the {LARGEST} that are shown]"
        return pack(shortened(content, note))

    return packed


def shortened(content, note):
    """What is left of a message that nobody would want to read."""
    less = dict(content)
    if "data" in less:
        less["data"] = {"text/plain": note}
    for name in ("evalue", "text", "code"):
        if isinstance(less.get(name), str):
            less[name] = less[name][:4096]
    if "traceback" in less:
        less["traceback"] = [note]
    if "user_expressions" in less:
        less["user_expressions"] = {}
    if "payload" in less:
        less["payload"] = []
    return less


def limit_memory(limit):
    """Soft and hard: code that may not raise a hard limit cannot have more, and what it starts neither."""
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def main():
    given = json.loads(sys.stdin.buffer.readline())
    # The other end of this is open as long as the host lives. Code reads nothing there.
    alive = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    junto_watch.over_me(alive, os.path.dirname(given["sockets"]))
    os.close(alive)
    if given["memory"]:
        limit_memory(given["memory"])
    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        # A sandbox in which nothing may be written but the kernel's own folder.
        os.environ["TMPDIR"] = os.path.dirname(given["sockets"])
    # The one thing that is still said there: that it is ready, and with what it crashed.
    outside = os.dup(1)
    crash = os.fdopen(os.dup(2), "w")

    capture, stream, kernel, app_class = kernel_classes()
    this = sys.modules[__name__]
    this.Stream = stream

    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.banner1 = ""
    app = app_class.instance(config=config, kernel_class=kernel, log_level=50)
    app.outstream_class = f"{__name__}.Stream"
    app.transport = "ipc"
    app.ip = given["sockets"]
    for name, number in given["numbers"].items():
        setattr(app, f"{name}_port", number)
    app.session.key = given["key"].encode()
    app.session.pack = bounded(readable(app.session.pack))
    app.initialize([])
    faulthandler.enable(file=crash)
    # Said of every `SystemExit`; there is no way out of here.
    warnings.filterwarnings("ignore", message="To exit: use")

    def finish(*_):
        for original in (sys.__stdout__, sys.__stderr__):
            # Code may have closed it.
            with contextlib.suppress(Exception):
                original.flush()
        capture.finish()

    app.shell.events.register("post_execute", finish)
    threading.Thread(target=capture.watch, name="junto output", daemon=True).start()
    os.write(outside, f"\n{given['ready']}\n".encode())
    os.close(outside)
    app.start()
