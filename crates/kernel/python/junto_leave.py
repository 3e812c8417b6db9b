"""Leave for the programs that code starts.

`!ls`, `%%bash`, `subprocess`, `os.system`, `os.exec*`, `os.spawn*`, `pty`: before each of them junto is asked, with
the very line that will run, and a no raises `ToolRejected`. An audit hook sees them all and cannot be taken away, but
there are ways to start a program that Python does not see (`ctypes`): what keeps code from doing harm is the sandbox.
"""

import contextlib
import errno
import functools
import os
import shlex
import subprocess
import sys
import threading

import junto_tools

TOOL = "cell_shell"
SHELLS = ("/bin/sh", "/bin/bash", "/usr/bin/sh", "/usr/bin/bash", "sh", "bash")

_kernel = os.getpid()
# What this thread may start next without being asked again: it was asked for just before.
_granted = threading.local()
# Scripts that were asked for and that another thread will start, by their arguments.
_scripts = {}
_scripts_lock = threading.Lock()


def install(shell=None):
    """Asks from now on, in this process and those forked off it."""
    # It would tell of the same program twice.
    subprocess._USE_POSIX_SPAWN = False
    if hasattr(os, "_spawnvef"):
        os._spawnvef = _asking_spawn(os._spawnvef)
    import pty

    pty.spawn = _forgetting(pty.spawn)
    if shell is not None:
        _install_in(shell)
    sys.addaudithook(_hook)


def ask(line, cwd=None):
    """Returns if the line may run."""
    try:
        line.encode()
    except UnicodeEncodeError:
        raise junto_tools.ToolRejected("a line that is not UTF-8 cannot be shown, so nobody can allow it") from None
    cwd = os.fsdecode(cwd) if cwd is not None else os.getcwd()
    outcome = junto_tools.session().invoke(TOOL, {"line": line, "cwd": cwd})
    if outcome.is_error and os.getpid() != _kernel:
        # A child that was made only to start a program: it must not run on as a second kernel.
        raise PermissionError(errno.EACCES, outcome.output)
    junto_tools.checked(outcome)


def _hook(event, arguments):
    handler = _HANDLERS.get(event)
    if handler is not None:
        handler(*arguments)


def _on_system(command):
    line = os.fsdecode(command)
    if not _is_granted(["-c", line]):
        ask(line)


def _on_popen(executable, arguments, cwd, _env):
    argv = _texts(arguments)
    if _is_granted(argv[1:]) or _is_script(argv):
        return
    ask(_shown(executable, argv), cwd)


def _on_exec(path, arguments, env):
    # `execvp` tries one directory after another.
    if isinstance(path, int) or os.path.exists(path):
        _on_spawn("/proc/self/fd/%d" % path if isinstance(path, int) else path, arguments, env)


def _on_spawn(path, arguments, _env):
    argv = _texts(arguments)
    if not _is_granted(argv[1:]):
        ask(_shown(path, argv))


def _on_pty(argv):
    argv = _texts((argv,) if isinstance(argv, str) else argv)
    ask(_shown(argv[0], argv))
    # The child starts it.
    _granted.rest = argv[1:]


_HANDLERS = {
    "os.system": _on_system,
    "subprocess.Popen": _on_popen,
    "os.exec": _on_exec,
    "os.posix_spawn": _on_spawn,
    "pty.spawn": _on_pty,
}


def _texts(arguments):
    if isinstance(arguments, (str, bytes, os.PathLike)):
        arguments = [arguments]
    return [os.fsdecode(argument) for argument in arguments]


def _shown(program, argv):
    """A program and its arguments as a line. What runs is the program, whatever it is told that its name is."""
    program = os.fsdecode(program)
    if program in SHELLS and len(argv) == 3 and argv[1] == "-c":
        return argv[2]
    return shlex.join([program, *argv[1:]])


def _is_granted(rest):
    """Whether this was asked for just now. It holds once."""
    if getattr(_granted, "rest", None) != rest:
        return False
    _granted.rest = None
    return True


@contextlib.contextmanager
def _grant(rest):
    _granted.rest = rest
    try:
        yield
    finally:
        _granted.rest = None


def _asking_spawn(spawn):
    @functools.wraps(spawn)
    def asking(mode, file, arguments, env, function):
        argv = _texts(arguments)
        ask(_shown(file, argv))
        with _grant(argv[1:]):
            return spawn(mode, file, arguments, env, function)

    return asking


def _forgetting(spawn):
    @functools.wraps(spawn)
    def forgetting(*args, **kwargs):
        with _grant(None):
            return spawn(*args, **kwargs)

    return forgetting


def _install_in(shell):
    """Lines that IPython runs are asked for as it runs them: with its variables in them, and before it forks."""
    import IPython.core.interactiveshell
    from IPython.core.magics.script import ScriptMagics

    modules = [IPython.core.interactiveshell, sys.modules.get("ipykernel.zmqshell")]
    for module in modules:
        if hasattr(module, "system"):
            module.system = _asking_system(module.system)
    ScriptMagics.shebang = _asking_script(ScriptMagics.shebang)
    scripts = shell.magics_manager.registry.get("ScriptMagics")
    cell_magics = shell.magics_manager.magics["cell"]
    if scripts is not None and "script" in cell_magics:
        cell_magics["script"] = scripts.shebang


def _asking_system(system):
    @functools.wraps(system)
    def asking(line):
        ask(line)
        with _grant(["-c", line]):
            return system(line)

    return asking


def _asking_script(shebang):
    @functools.wraps(shebang)
    def asking(magics, line, cell):
        from IPython.utils.process import arg_split

        _, argv = shebang.parser.parse_known_args(arg_split(line, posix=True))
        ask(_script_line(argv, cell))
        with _script(argv):
            return shebang(magics, line, cell)

    return asking


def _script_line(argv, cell):
    """What a script magic runs: for a shell the cell itself, else a program that gets it on its input."""
    if len(argv) == 1 and argv[0] in SHELLS:
        return cell
    end = "END"
    while end in cell:
        end += "_"
    return "%s <<'%s'\n%s%s%s" % (shlex.join(argv), end, cell, "" if cell.endswith("\n") else "\n", end)


@contextlib.contextmanager
def _script(argv):
    key = tuple(argv)
    with _scripts_lock:
        _scripts[key] = _scripts.get(key, 0) + 1
    try:
        yield
    finally:
        _is_script(argv)


def _is_script(argv):
    """Whether a script with these arguments was asked for and has not been started. It holds once."""
    with _scripts_lock:
        left = _scripts.pop(tuple(argv), 0)
        if left > 1:
            _scripts[tuple(argv)] = left - 1
        return left > 0
