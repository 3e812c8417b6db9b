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
# By their whole paths: what is only called like one may be anything.
SHELLS = ("/bin/sh", "/bin/bash", "/usr/bin/sh", "/usr/bin/bash")

_kernel = os.getpid()
# What this process gives those it starts, which is not always what `os.environ` says, and what it was at first.
_given = dict(os.environ)
_first = dict(_given)
# Where programs are that a line names without saying where.
_usual = _first.get("PATH", os.defpath)
# Variables that have programs run what no line names; so have the functions that bash exports.
RUNNING = ("BASH_ENV", "ENV", "LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD")
FUNCTION = "BASH_FUNC_"
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
    if hasattr(os, "posix_spawnp"):
        import posix

        # What is told of both is the same, and only this one searches.
        os.posix_spawnp = posix.posix_spawnp = _searching_spawn(os.posix_spawnp)
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
        ask(_with_changes(line, None))


def _on_popen(executable, arguments, cwd, env):
    argv = _texts(arguments)
    if _is_granted(argv[1:]) or _is_script(argv):
        return
    ask(_shown(executable, _found(executable, env, cwd), argv, env), cwd)


def _on_exec(path, arguments, env):
    # `execvp` tries one directory after another.
    if isinstance(path, int) or os.path.exists(path):
        _on_spawn("/proc/self/fd/%d" % path if isinstance(path, int) else path, arguments, env)


def _on_spawn(path, arguments, env):
    argv = _texts(arguments)
    if not _is_granted(argv[1:]):
        ask(_shown(path, _here(path), argv, env))


def _on_pty(argv):
    argv = _texts((argv,) if isinstance(argv, str) else argv)
    ask(_shown(argv[0], _found(argv[0], None), argv, None))
    # The child starts it.
    _granted.rest = argv[1:]


def _on_putenv(name, value):
    _given[os.fsdecode(name)] = os.fsdecode(value)


def _on_unsetenv(name):
    _given.pop(os.fsdecode(name), None)


_HANDLERS = {
    "os.putenv": _on_putenv,
    "os.unsetenv": _on_unsetenv,
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


def _shown(program, path, argv, env):
    """A program and its arguments as a line. What runs is what is at the path, whatever it is told that its name is."""
    if path in SHELLS and len(argv) == 3 and argv[1] == "-c":
        return _with_changes(argv[2], env)
    return _with_changes(shlex.join([_named(program, path), *argv[1:]]), env)


def _here(program):
    """The path of a program that is not searched for."""
    program = os.fsdecode(program)
    return program if "/" in program else "./" + program


def _found(program, env, cwd=None):
    """The path of a program that is searched for where its environment says; if it is nowhere, its name."""
    program = os.fsdecode(program)
    if "/" not in program:
        for folder in _path(env).split(os.pathsep):
            path = _here(os.path.join(folder, program))
            # Where it starts, not where it is started from.
            there = os.path.join(os.fsdecode(cwd) if cwd is not None else "", path)
            if os.path.isfile(there) and os.access(there, os.X_OK):
                return path
    return program


def _path(env):
    try:
        return os.pathsep.join(os.get_exec_path(env))
    except (TypeError, ValueError):
        # No environment in which anything could be started.
        return ""


def _named(program, path):
    """A program as it was named, where that says which one it is; else its path."""
    program = os.fsdecode(program)
    try:
        usual = os.path.isabs(path) and os.path.samefile(path, _found(program, {"PATH": _usual}))
    except OSError:
        usual = False
    return program if usual or path == program else path


def _with_changes(line, env):
    """A line with what its environment has of its own and could have it run something else."""
    given = _environment(env)
    path = given.get("PATH", os.defpath)
    changes = []
    # What comes behind hides nothing.
    if path not in (_usual, os.defpath) and not path.startswith(_usual + os.pathsep):
        changes.append("PATH=" + shlex.quote(path))
    for name in sorted(given):
        is_running = name in RUNNING or name.startswith(FUNCTION)
        if is_running and given[name] != _first.get(name):
            is_name = name.isidentifier()
            changes.append(f"{name}={shlex.quote(given[name])}" if is_name else shlex.quote(f"{name}={given[name]}"))
    return "".join(f"export {change}; " for change in changes) + line


def _environment(env):
    """What a program gets that is given this; if that is nothing, what this process has."""
    if env is None:
        return dict(_given)
    try:
        return {os.fsdecode(name): os.fsdecode(value) for name, value in env.items()}
    except (AttributeError, TypeError):
        # No environment in which anything could be started.
        return {}


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
        searches = function.__name__ in ("execvp", "execvpe")
        ask(_shown(file, _found(file, env) if searches else _here(file), argv, env))
        with _grant(argv[1:]):
            return spawn(mode, file, arguments, env, function)

    return asking


def _searching_spawn(spawn):
    @functools.wraps(spawn)
    def asking(path, argv, env, **kwargs):
        texts = _texts(argv)
        # It searches where this process does, whatever the other one is given.
        ask(_shown(path, _found(path, _environment(None)), texts, env))
        with _grant(texts[1:]):
            return spawn(path, argv, env, **kwargs)

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
        ask(_with_changes(line, None))
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
    path = _found(argv[0], None)
    if len(argv) == 1 and path in SHELLS:
        return _with_changes(cell, None)
    argv = [_named(argv[0], path), *argv[1:]]
    end = "END"
    while end in cell:
        end += "_"
    line = "%s <<'%s'\n%s%s%s" % (shlex.join(argv), end, cell, "" if cell.endswith("\n") else "\n", end)
    return _with_changes(line, None)


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
