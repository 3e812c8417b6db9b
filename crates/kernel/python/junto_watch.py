"""Ends what a host that was killed has left.

A host that ends in good order ends its kernel. One that is killed outright cannot: all that happens then is that its ends
of pipes are closed. A process of its own waits for that, because the kernel may be in the middle of a call that lets no
thread run, and kills the kernel and everything that cells have started.
"""

import os
import select
import signal

# By this variable everything is known that was started for the kernel.
MARK = b"JUNTO_TREE"
# How often what keeps forking is looked for.
LOOKS = 100
# More descriptors than an interpreter has that has just begun.
MOST = 256
# How often the kernel is looked at where its end cannot be waited for, in milliseconds.
PAUSE = 1000


def over_me(pipe, folder):
    """Has this process, and all it starts, killed when the other end of a pipe is closed, and its folder removed."""
    kernel = os.getpid()
    between = os.fork()
    if between:
        os.waitpid(between, 0)
        return
    try:
        # Nobody's child: code may wait for all children of the kernel.
        if os.fork() == 0:
            os.setsid()
            watch(kernel, pipe, folder)
    finally:
        os._exit(0)


def watch(kernel, pipe, folder):
    known = start(kernel)
    # What it held of the kernel's would keep others from seeing the kernel's end.
    os.dup2(pipe, 0)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os.closerange(3, MOST)
    poll = select.poll()
    poll.register(0, select.POLLHUP)
    ended = pidfd(kernel)
    if ended is not None:
        poll.register(ended, select.POLLIN)
    while True:
        for number, _ in poll.poll(None if ended is not None else PAUSE):
            if number == 0:
                end(kernel, known)
                return tidy(folder)
        if start(kernel) != known:
            # Its host, which lives, ends what it has left.
            return


def pidfd(process):
    try:
        return os.pidfd_open(process)
    except (AttributeError, OSError):
        return None


def end(kernel, known):
    """Kills the kernel and whatever belongs to it."""
    mark = os.environb.get(MARK, b"").rpartition(b":")[2]
    belong = {kernel} if start(kernel) == known else set()
    for _ in range(LOOKS):
        found = members(mark, belong)
        if not found:
            break
        for process in found:
            try:
                os.kill(process, signal.SIGKILL)
            except OSError:
                pass  # It has ended by itself.


def tidy(folder):
    """Removes the kernel's folder, which its host would have removed; links in it are not followed."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    try:
        leave_no_socket(os.environ.get("JUNTO_TOOLS_SOCKET", ""), os.path.dirname(folder))
    except OSError:
        pass


def leave_no_socket(path, parent):
    """Removes the tool socket and the folder for both, if nobody listens any more: a host that lives ends kernels, too."""
    import socket

    if os.path.dirname(os.path.dirname(path)) != parent:
        return
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
    except ConnectionRefusedError:
        os.unlink(path)
        os.rmdir(os.path.dirname(path))
        # It may have been made for more than this: then it is not empty.
        os.rmdir(parent)
        # What said whose the folder was.
        os.unlink(parent + ".lock")


def members(mark, belong):
    """What lives of the kernel, its session, what these have started, and what bears its mark.

    What was found to belong is kept: what it has started is known by it also after it was killed.
    """
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            fields = stat(int(name))
            if fields is not None:
                table[int(name)] = (fields[0], int(fields[1]), int(fields[3]))
    size = -1
    while len(belong) != size:
        size = len(belong)
        for process, (_, parent, session) in table.items():
            if parent in belong or session in belong or (mark and bears(process, mark)):
                belong.add(process)
    return [process for process in belong if process in table and table[process][0] not in (b"Z", b"X")]


def bears(process, mark):
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            variables = file.read().split(b"\0")
    except OSError:
        return False
    values = [value[len(MARK) + 1 :] for value in variables if value.startswith(MARK + b"=")]
    return any(mark in value.split(b":") for value in values)


def start(process):
    """When a process started; with its number that is which one it is."""
    fields = stat(process)
    return fields and fields[19]


def stat(process):
    """What the system says of a process, from its state on."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return None
