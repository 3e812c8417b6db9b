"""Tools as modules: `from mcptools.github import create_issue`.

Modules below `mcptools` and `gentools` are not files: junto is asked for each when it is imported, and once
more for a name that is not in it, so that a tool which comes late is there at once. The first call needs
nothing but the standard library; what types are made of is loaded when a type is asked for.
"""

import importlib
import importlib.abc
import importlib.machinery
import inspect
import linecache
import os
import sys
import types
import warnings

import junto_tools

ROOTS = ("mcptools", "gentools")


def install():
    """Makes the modules importable."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        # Before what looks into folders: the project may have one of that name.
        sys.meta_path.insert(0, _Finder())


class Tool(types.ModuleType):
    """A tool. Call it, or `run` it, with its arguments or with `Params`; `await run_async(...)` in tasks.

    It is also the module of its types: `from mcptools.github.create_issue import run, Params, Result`.
    """

    def __init__(self, function, call, wire, optional, typed, free):
        super().__init__("%s.%s" % (function.__module__, function.__name__), inspect.cleandoc(function.__doc__))
        self.__signature__ = inspect.signature(function)
        self.__qualname__ = function.__name__
        self._call = call
        self._wire = wire
        self._names = {name: own for own, name in wire.items()}
        self._optional = frozenset(optional)
        self._typed = typed
        self._free = free
        self._loaded = False

    def __call__(self, /, *args, **kwargs):
        return self._given(junto_tools.session().invoke(self._call, self._arguments(args, kwargs)))

    run = __call__

    async def run_async(self, /, *args, **kwargs):
        """The same, for tasks."""
        session = junto_tools.session()
        return self._given(await session.invoke_async(self._call, self._arguments(args, kwargs)))

    def _arguments(self, args, kwargs):
        if len(args) == 1 and not kwargs and hasattr(args[0], "model_dump"):
            return args[0].model_dump(mode="json", by_alias=True, exclude_unset=True)
        # A name that Python does not take may be given as it is: `tool(**{"from": 1})`.
        named = {self._names.get(name, name): value for name, value in kwargs.items()}
        bound = self.__signature__.bind(*args, **named).arguments
        if self._free:
            return str(bound["text"])
        given = dict(bound.pop("_more", {}), **bound)
        return {
            self._wire.get(name, name): value
            for name, value in given.items()
            if value is not ... and not (value is None and name in self._optional)
        }

    def _given(self, outcome):
        junto_tools.checked(outcome)
        if not self._typed or outcome.data is None:
            return outcome.output
        if junto_tools.is_rounded(outcome):
            warnings.warn(
                "what %s gave has a number that does not fit into 64 bits: this is its text" % self.__name__, stacklevel=3
            )
            return outcome.output
        import junto_types

        try:
            return junto_types.build(self.Result, outcome.data)
        # Whatever is wrong with its types: the tool was called, and what it gave must not be lost.
        except Exception as error:
            warnings.warn("what %s gave does not fit its own schema: %s" % (self.__name__, error), stacklevel=3)
            return outcome.data

    def __getattr__(self, name):
        if not name.startswith("_") and not self._loaded:
            doc = self.__doc__
            _run(self, _source(self.__name__))
            self.__doc__, self._loaded = doc, True
            if name in self.__dict__:
                return self.__dict__[name]
        raise AttributeError("the tool %s has no %r" % (self.__name__, name))

    def __repr__(self):
        return "<tool %s%s>" % (self.__name__, self.__signature__)


def tool(call, wire=None, optional=(), typed=False, free=False):
    """Makes a tool of a function that has its signature and no body."""

    def make(function):
        made = Tool(function, call, wire or {}, optional, typed, free)
        sys.modules[made.__name__] = made
        return made

    return make


# The modules below `gentools` that were found, and the state of their files then.
_found = {}


def forget_changed():
    """Has tools that were kept run anew when they are imported next, if a file of theirs has changed: between cells."""
    for name, (file, stamp) in list(_found.items()):
        if _stamp(file) != stamp:
            del _found[name]
            junto_tools.forget_tool(name)


def _stamp(file):
    """Which state a file is in; None if it is not seen from here."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        root, _, below = name.partition(".")
        if root not in ROOTS:
            return None
        if root == "mcptools" and "." in below:
            # A tool is made by the module that it is in.
            _renew(sys.modules[name.rpartition(".")[0]])
            if name not in sys.modules:
                return None
            return importlib.machinery.ModuleSpec(name, _Made())
        source = _source(name)
        spec = importlib.machinery.ModuleSpec(name, _Loader(source), is_package=source["is_package"])
        if "file" in source:
            spec.origin, spec.has_location = source["file"], True
            _found[name] = (source["file"], _stamp(source["file"]))
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, source):
        self._source = source

    def exec_module(self, module):
        _run(module, self._source)
        if module.__name__.startswith("mcptools"):
            module.__getattr__ = lambda name: _late(module, name)


class _Made(importlib.abc.Loader):
    """For a tool, which is there already."""

    def create_module(self, spec):
        return sys.modules[spec.name]

    def exec_module(self, module):
        pass


def _source(name):
    try:
        return junto_tools.session().ask("module", name=name)["source"]
    except junto_tools.ToolsUnavailable as error:
        raise ModuleNotFoundError(str(error), name=name) from None


def _run(module, source):
    text, file = source["text"], source.get("file", "<%s>" % module.__name__)
    # For tracebacks and `inspect.getsource`.
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    with warnings.catch_warnings():
        if "file" not in source:
            # A field may be called like something that pydantic has.
            warnings.simplefilter("ignore")
        exec(compile(text, file, "exec"), module.__dict__)


def _renew(module):
    before = set(getattr(module, "__all__", ()))
    _run(module, _source(module.__name__))
    for gone in before.difference(module.__all__):
        module.__dict__.pop(gone, None)
        sys.modules.pop("%s.%s" % (module.__name__, gone), None)


def _late(module, name):
    """A name that was not in the module when it was imported."""
    if not name.startswith("_"):
        if module.__name__ == "mcptools":
            try:
                return importlib.import_module("mcptools.%s" % name)
            except ModuleNotFoundError as error:
                raise AttributeError(str(error)) from None
        _renew(module)
        if name in module.__dict__:
            return module.__dict__[name]
    raise AttributeError("module %r has no tool %r; it has %s" % (module.__name__, name, ", ".join(module.__all__)))
