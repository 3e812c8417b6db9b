"""Keeps the variables of a kernel, and brings them back into another.

Modules are kept by their names, functions and classes that a cell has defined by their sources, everything else
pickled: variables that have something in common in one piece, so that they have it in common again. What can be kept
in none of these ways is named.
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
        # What was met that can be changed, held so that nothing else comes to be in its place.
        self.met = {}

    def reducer_override(self, value):
        if _bytes(value) > self._most:
            raise OverflowError("too large to be kept")
        return NotImplemented

    def persistent_id(self, value):
        if _can_change(value):
            self.met[id(value)] = value


def _can_change(value):
    """Whether a change of this may be seen by everything that has it: unless it is known to be a constant."""
    if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)):
        return False
    kind = type(value)
    return kind not in _CONSTANTS and not _is_constant(kind)


_CONSTANTS = {type(None), type(...), type(NotImplemented), bool, int, float, complex, str, bytes, tuple, frozenset, range, slice}


def _is_constant(kind):
    """Whether C code says that all there is to a value of this kind is what it is hashed by, as a date or numpy's kinds."""
    hashed = isinstance(kind.__hash__, types.WrapperDescriptorType) and kind.__hash__ is not object.__hash__
    return hashed and kind.__dictoffset__ == 0 and not any(vars(base).get("__slots__") for base in kind.__mro__)


def _pickled(value, most):
    """The value as bytes, and what of it can be changed."""
    if _bytes(value) > most:
        raise OverflowError("too large to be kept")
    into = _Room(most)
    pickler = _Pickler(into, most)
    pickler.dump(value)
    return into.getvalue(), pickler.met


class _Groups:
    """Variables, those together that have something in common."""

    def __init__(self):
        self.groups = []
        self._of = {}

    def add(self, name, value, data, met):
        group = {"names": {name: value}, "data": data, "met": dict(met)}
        others = {id(other): other for other in map(self._of.get, met) if other is not None}
        for other in others.values():
            group["names"] = {**other["names"], **group["names"]}
            group["met"].update(other["met"])
            group["data"] = None
            self.groups.remove(other)
        self.groups.append(group)
        self._of.update(dict.fromkeys(group["met"], group))

    def kept(self, most):
        """Each with its names and its bytes; those of which no bytes can be made have none."""
        for group in self.groups:
            names, data = group["names"], group["data"]
            if len(names) > 1:
                try:
                    data = _pickled(names, most)[0]
                    pickle.loads(data)
                except (Exception, SystemExit):
                    data = None
            yield list(names), data


def save(most):
    """Tells the host everything that can be kept in so many bytes."""
    modules, sources, values, left = {}, {}, [], []
    groups = _Groups()
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
                size = len(source)
            else:
                data, met = _pickled({name: value}, room)
                pickle.loads(data)
                # As it is told, in base64.
                size = (len(data) + 2) // 3 * 4
        except (Exception, SystemExit):
            left.append(name)
            continue
        if size > room:
            left.append(name)
            continue
        room -= size
        if source is not None:
            sources[name] = source
        else:
            groups.add(name, value, data, met)
    for names, data in groups.kept(most):
        if data is None:
            left.extend(names)
        else:
            values.append({"names": names, "pickled": base64.b64encode(data).decode("ascii")})
    _tell({"junto_snapshot": 2, "modules": modules, "sources": sources, "values": values, "left": left})


def take(piece):
    """Takes a piece of what was kept."""
    _taken.append(piece)


def load():
    """Brings back what was taken, and tells the host what is missing."""
    kept = json.loads("".join(_taken))
    _taken.clear()
    shell = _shell()
    left = set(kept["left"])

    def module(name, what):
        shell.user_ns[name] = importlib.import_module(what)

    def source(what):
        # As a cell of its own, so that its source is known again.
        cell = shell.transform_cell(what)
        code = shell.compile(cell, shell.compile.cache(cell, shell.execution_count, raw_code=what), "exec")
        exec(code, shell.user_global_ns, shell.user_ns)

    def value(what):
        shell.user_ns.update(pickle.loads(base64.b64decode(what)))

    for name, what in kept["modules"].items():
        try:
            module(name, what)
        except (Exception, SystemExit):
            left.add(name)
    # Each may need others: a value its class, a class a decorator, a function what its defaults are.
    values = [(value, each["names"], each["pickled"]) for each in kept["values"]]
    waiting = values + [(source, [name], what) for name, what in kept["sources"].items()]
    while waiting:
        failed = []
        for make, names, what in waiting:
            try:
                make(what)
            except (Exception, SystemExit):
                failed.append((make, names, what))
        if len(failed) == len(waiting):
            left.update(name for _, names, _ in failed for name in names)
            break
        waiting = failed
    for make, names, what in values:
        # What a decorator has changed that was run again.
        if left.isdisjoint(names) and _differs(shell.user_ns, names, what):
            make(what)
    _tell({"junto_restored": sorted(left)})


def _differs(space, names, what):
    try:
        return pickle.dumps({name: space[name] for name in names}) != base64.b64decode(what)
    except (Exception, SystemExit):
        return True
