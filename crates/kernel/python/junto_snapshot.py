"""Keeps the variables of a kernel, and brings them back into another.

Modules are kept by their names, functions and classes that a cell has defined by their sources, everything else
pickled. What can be kept in none of these ways is named.
"""

import ast
import base64
import importlib
import inspect
import io
import json
import linecache
import pickle
import types

_taken = []


def _shell():
    from IPython import get_ipython

    return get_ipython()


def _tell(value):
    from IPython.display import display

    display({"application/json": value}, raw=True)


def _wanted(shell):
    hidden = shell.user_ns_hidden
    for name, value in list(shell.user_ns.items()):
        if not name.startswith("_") and name not in hidden:
            yield name, value


def _source(value):
    """The source of something that a cell has defined; None if it is not such a thing."""
    if not isinstance(value, (types.FunctionType, type)) or value.__module__ != "__main__":
        return None
    if isinstance(value, type):
        return _class_source(value)
    return inspect.getsource(value)


def _class_source(cls):
    """The source of a class, which is looked for in the cells of its methods and then in all others, the last first."""
    functions = [value for value in vars(cls).values() if isinstance(value, types.FunctionType)]
    files = [function.__code__.co_filename for function in functions]
    files += reversed(list(getattr(_shell().compile, "_filename_map", {})))
    files += reversed([file for file in linecache.cache if "ipykernel" in file or file.startswith("<ipython")])
    for file in files:
        lines = linecache.getlines(file)
        try:
            nodes = ast.parse("".join(lines)).body
        except SyntaxError:
            continue
        for node in nodes:
            if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
                first = min([node.lineno] + [decorator.lineno for decorator in node.decorator_list])
                return "".join(lines[first - 1 : node.end_lineno])
    raise OSError("its source is not known")


class _Room(io.BytesIO):
    """Takes so many bytes; what has more is not pickled to its end."""

    def __init__(self, most):
        super().__init__()
        self._left = most

    def write(self, data):
        self._left -= len(data)
        if self._left < 0:
            raise OverflowError("too large to be kept")
        return super().write(data)


def _bytes(value):
    """How many bytes a value has that is little else than bytes; 0 if it is more than that."""
    if isinstance(value, str):
        return len(value)
    try:
        with memoryview(value) as view:
            return view.nbytes
    except (BufferError, TypeError, ValueError):
        pass
    # Some arrays are such and do not show it: those of dates, those on other devices.
    if type(value).__module__.partition(".")[0] not in ("numpy", "torch"):
        return 0
    size = getattr(value, "nbytes", 0)
    return size if isinstance(size, int) else 0


class _Pickler(pickle.Pickler):
    """Does not begin with what is too large: an array is copied as a whole before any of it is written."""

    def __init__(self, into, most):
        super().__init__(into)
        self._most = most

    def reducer_override(self, value):
        if _bytes(value) > self._most:
            raise OverflowError("too large to be kept")
        return NotImplemented


def _pickled(value, most):
    if _bytes(value) > most:
        raise OverflowError("too large to be kept")
    into = _Room(most)
    _Pickler(into, most).dump(value)
    return into.getvalue()


def save(most):
    """Tells the host everything that can be kept in so many bytes."""
    modules, sources, values, left = {}, {}, {}, []
    room = most
    for name, value in _wanted(_shell()):
        try:
            if isinstance(value, types.ModuleType):
                modules[name] = value.__name__
                continue
            source = _source(value)
            if source is not None:
                if value.__name__ != name or source.startswith((" ", "\t")):
                    left.append(name)
                    continue
                kept, text = sources, source
            else:
                data = _pickled(value, room)
                pickle.loads(data)
                kept, text = values, base64.b64encode(data).decode("ascii")
        except Exception:
            left.append(name)
            continue
        if len(text) > room:
            left.append(name)
            continue
        room -= len(text)
        kept[name] = text
    _tell({"junto_snapshot": 1, "modules": modules, "sources": sources, "values": values, "left": left})


def take(piece):
    """Takes a piece of what was kept."""
    _taken.append(piece)


def load():
    """Brings back what was taken, and tells the host what is missing."""
    kept = json.loads("".join(_taken))
    _taken.clear()
    shell = _shell()
    left = list(kept["left"])

    def bring(part, make):
        for name, what in kept[part].items():
            try:
                make(name, what)
            except Exception:
                left.append(name)

    def module(name, what):
        shell.user_ns[name] = importlib.import_module(what)

    def source(name, what):
        # As a cell of its own, so that its source is known again.
        result = shell.run_cell(what, store_history=False, silent=True)
        result.raise_error()

    def value(name, what):
        shell.user_ns[name] = pickle.loads(base64.b64decode(what))

    bring("modules", module)
    bring("sources", source)
    bring("values", value)
    _tell({"junto_restored": left})
