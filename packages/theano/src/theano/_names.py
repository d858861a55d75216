"""Names of other places: their table, modules of Theano 1.0 that are only names, and names imported on first use.

The table `names.tsv` says what modules have without importing it themselves: module, source, names. A row with an empty
source is the docstring of a module that has no file: it is made when somebody imports it. A row with the names `=` says
that the source is the module itself, under another name; the source `!` has the warning of an old place. The word
`name=original` is another name for what the source has, and `name=.` one for the source itself.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial, wraps
from importlib.machinery import ModuleSpec
from inspect import cleandoc
from types import MappingProxyType, ModuleType
from typing import Any, TypeVar

from theano_graph import Apply, FunctionGraph
from theano_linker_c.modes import optdb
from theano_optimize import NodeRewriter, RewriteInfo

ROOT = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(ROOT, "names.tsv")
_DOCSTRING, _SAME, _MODULE = "", "=", "."
#: Sources of rows with a warning about an old place, and its category.
_WARNINGS: dict[str, type[Warning]] = {"!": DeprecationWarning, "!user": UserWarning}
#: Package -> modules of the table that are hidden by functions or values in it.
_SHADOWED = {
    "theano.compile": "function pfunc",
    "theano.gof": "null_type",
    "theano.scan_module": "scan scan_checkpoints",
    "theano.tensor": "sort",
}
FROM_TESTING = frozenset({"GradientError", "numeric_grad", "verify_grad"})


def from_testing(module: str, name: str) -> object:
    """Return a helper for tests, or raise the error of a module without the name."""
    if name in FROM_TESTING:
        return getattr(importlib.import_module("theano_testing.tensor"), name)
    return borrowed(module, name)


def borrowed(module: str, name: str) -> Any:
    """Return a name that a module of Theano merely imported, or raise the error of a module without the name."""
    if name not in _places(further_names(module)):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return lazy_names(module, None, {})[0](name)


def from_module(module: str, sources: Mapping[str, str], name: str) -> object:
    """Look up an attribute of another module by name; a submodule's name returns the submodule.

    Parameters
    ----------
    module : str
        Who is asked.
    sources : mapping of str to str
        For each name the module that is imported for it.
    name : str

    Raises
    ------
    AttributeError
        The error of a module without the name.
    """
    if name not in sources:
        return borrowed(module, name)
    found = importlib.import_module(sources[name])
    return found if sources[name] == f"{module}.{name}" else getattr(found, name)


def devices() -> Any:
    """Return `theano_gpuarray.contexts`; functions and shared variables use devices from then on."""
    importlib.import_module("theano_tensor.device")
    importlib.import_module("theano_scan.device")
    return importlib.import_module("theano_gpuarray.contexts")


def functions_of_gradients(function: Callable[..., Any], argnums: Any) -> Any:
    """Return the result of `theano.functional.grad`."""
    return importlib.import_module("theano.functional").grad(function, argnums)


# ---- The table of names, and modules that are made from it
@cache
def table() -> dict[str, dict[str, str]]:
    """Return the rows of `names.tsv`: for each module its sources, with the names from each."""
    rows: dict[str, dict[str, str]] = {}
    with open(TABLE, encoding="utf-8") as file:
        for line in file:
            module, source, names = line.rstrip("\n").split("\t")
            rows.setdefault(module, {})[source] = names
    return rows


def further_names(module: str) -> dict[str, str]:
    """Return for each source in the table the names that a module has from it."""
    row = table().get(module, {})
    return {key: names for key, names in row.items() if key not in (_DOCSTRING, *_WARNINGS) and names != _SAME}


def _has_no_file(module: str) -> bool:
    row = table().get(module, {})
    return _DOCSTRING in row or _SAME in row.values()


class _Finder:
    """Finds the modules of one folder of this package: files, and after them the modules of the table."""

    def __init__(self, path: str) -> None:
        self.package = path.removeprefix(ROOT).replace(os.sep, ".")
        self.files = next(filter(None, map(partial(_finder_by, path), list(sys.path_hooks))), None)

    def find_spec(self, name: str, target: ModuleType | None = None) -> ModuleSpec | None:
        """Describe a module, by its full name."""
        spec = self.files.find_spec(name, target) if self.files else None
        if (spec is None or spec.loader is None) and _has_no_file(name):
            spec = ModuleSpec(name, _LOADER, origin=TABLE, is_package=_LOADER.is_package(name))
            if spec.submodule_search_locations is not None:
                spec.submodule_search_locations.append(os.path.join(ROOT, *name.split(".")[1:]))
        return spec

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        """Yield what `pkgutil` asks for: names of modules, and whether they are packages."""
        if self.files:
            yield from importlib.import_module("pkgutil").iter_importer_modules(self.files, prefix)
        for name in table():
            package, _, last = name.rpartition(".")
            if package == f"theano{self.package}" and _has_no_file(name):
                yield prefix + last, _LOADER.is_package(name)

    def invalidate_caches(self) -> None:
        """Look at the folder anew."""
        if self.files:
            self.files.invalidate_caches()


class _Loader:
    """Makes modules of the table."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its docstring and a list of its names; each of them is imported when asked for."""
        name = module.__name__
        row = table()[name]
        for source, names in row.items():
            if names == _SAME:
                sys.modules[name] = importlib.import_module(source)
                return
        find, directory = lazy_names(name, None, {})
        module.__doc__ = row[_DOCSTRING]
        places = _places(further_names(name)).items()
        below = {other for other in table() if other.startswith(f"{name}.")}
        public = [
            item
            for item, place in places
            if place[1] != _MODULE and not item.startswith("_") and f"{name}.{item}" not in below
        ]
        vars(module).update(__getattr__=find, __dir__=directory, __all__=sorted(public))
        for mark, category in _WARNINGS.items():
            if mark in row:
                warnings.warn(row[mark], category, stacklevel=2)

    def is_package(self, name: str) -> bool:
        """Tell whether a module has modules below it."""
        return any(other.startswith(f"{name}.") for other in table())

    def get_code(self, name: str) -> None:
        """Return none: there is nothing to run."""

    def get_source(self, name: str) -> str:
        """Return the empty source of a module that has no file."""
        return ""


#: It has no base class, since the module with that of loaders is slow to import.
_LOADER: Any = _Loader()


def _finder_by(path: str, hook: Callable[[str], Any]) -> Any:
    """Return the finder that a hook has for a folder, or None."""
    if hook is _finder_of_folder:
        return None
    try:
        return hook(path)
    except ImportError:
        return None


def _finder_of_folder(path: str) -> _Finder:
    """Return the finder of a folder of this package; Python asks for each folder once."""
    # `runpy` asks with the path of a script, which is a file.
    if (path != ROOT and not path.startswith(ROOT + os.sep)) or os.path.isfile(path):
        raise ImportError(f"{path} is no folder of theano", path=path)
    return _Finder(path)


def find_modules_of_table() -> None:
    """From now on, imports from this package find the modules of the table."""
    sys.path_hooks.insert(0, _finder_of_folder)
    for path in [path for path in sys.path_importer_cache if path == ROOT or path.startswith(ROOT + os.sep)]:
        del sys.path_importer_cache[path]


def load_shadowed_modules() -> None:
    """Import the modules of the table by whose names their packages have functions, so that these stay there."""
    for package, names in _SHADOWED.items():
        for name in names.split():
            value = getattr(sys.modules[package], name)
            importlib.import_module(f"{package}.{name}")
            setattr(sys.modules[package], name, value)


# ---- Names that are imported when somebody asks for them
def _places(sources: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return for each name the module that has it, and its name there."""
    places = {}
    for source, words in sources.items():
        for word in words.split():
            name, _, original = word.partition("=")
            places[name] = (source, original or name)
    return places


#: Where else users look for a name of these modules, the likeliest first.
_NEAR = {
    "theano.tensor": ("nnet", "nlinalg", "slinalg", "extra_ops", "signal.pool", "signal.conv", "fft", "xlogx"),
    "theano": ("tensor", "tensor.nnet", "tensor.nlinalg", "tensor.slinalg", "tensor.extra_ops", "gof", "compile"),
}


#: Names of modules that are imported only when somebody asks for them.
_UNLOADED = {f"theano.tensor.{name}": f"theano.tensor.signal.pool.{name}" for name in ("pool_2d", "pool_3d")}
#: Names that users of other libraries look for -> what they are called here.
_OTHER_WORDS = {
    "theano.tensor.random": "theano.tensor.shared_randomstreams.RandomStreams",
    "theano.tensor.linalg": "theano.tensor.nlinalg (inverses, norms, SVD) and theano.tensor.slinalg (solve, Cholesky)",
    "theano.tensor.array": "theano.tensor.constant, or theano.shared for values that change",
    "theano.random": "theano.tensor.shared_randomstreams.RandomStreams",
    "theano.linalg": "theano.tensor.nlinalg (inverses, norms, SVD) and theano.tensor.slinalg (solve, Cholesky)",
    "theano.numpy": "theano.tensor",
    "theano.lax": "theano.scan (loops) and theano.ifelse.ifelse (conditions)",
    "theano.cond": "theano.ifelse.ifelse",
}
#: What modules of names are made with, and nobody looks for in them.
_TOOLS = frozenset(
    {
        *("TYPE_CHECKING", "also_called", "announce", "announce_words", "collector_paused", "lazy_names"),
        *("differentiate_functions_by", "functions_of_gradients", "register_library", "settle"),
    }
)


def _is_public(name: str) -> bool:
    return not name.startswith("_") and name not in _TOOLS


def _elsewhere(module: str, name: str) -> str:
    """Return a hint at another module that has a name; only modules that are imported are asked, and only directly.

    Programs ask for names that are not there (`hasattr`), so that this imports nothing.
    """
    if not name.startswith("_"):
        for path in _NEAR.get(module, ()):
            value = sys.modules.get(f"{module}.{path}")
            if value is not None and name in dir(value):
                return f"; did you mean {module}.{path}.{name}?"
    other = _UNLOADED.get(f"{module}.{name}") or _OTHER_WORDS.get(f"{module}.{name}")
    return f"; did you mean {other}?" if other else ""


def lazy_names(
    module: str, package: str | None, sources: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a module whose further names are imported when somebody asks for them.

    Parameters
    ----------
    module : str
        The module that has the names.
    package : str or None
        Its package, from which relative sources are counted.
    sources : mapping of str to str
        For each module that has names, the names; a word ``name=original`` gives `original` another name. The names in
        `names.tsv` are there as well.

    Examples
    --------
    >>> find, names = lazy_names(__name__, __package__, {"math": "pi root=sqrt"})
    >>> find("root")(9.0)
    3.0
    """

    @cache
    def places() -> dict[str, tuple[str, str]]:
        return _places(further_names(module)) | _places(sources)

    def find(name: str) -> Any:
        if name == "__all__":
            # While the library itself is imported, a star takes the names at hand and loads nothing.
            if sources or hasattr(sys.modules["theano"], "__getattr__"):
                return names()
        place = places().get(name)
        if place is None:
            raise AttributeError(
                f"module {module!r} has no attribute {name!r}{_elsewhere(module, name)}",
                name=name,
                obj=sys.modules.get(module),
            )
        source, original = place
        found = importlib.import_module(source, package)
        # A package's attribute for a lazy submodule is the answer of this function.
        if original == _MODULE:
            value = found
        elif found.__name__ != module and hasattr(found, original):
            value = getattr(found, original)
        else:
            value = importlib.import_module(f"{found.__name__}.{original}")
        setattr(sys.modules[module], name, value)
        return value

    def names() -> list[str]:
        return sorted({name for name in [*vars(sys.modules[module]), *places()] if _is_public(name)})

    return find, names


def picture_drawers() -> list[Callable[[str, str], bytes]]:
    """Return functions of (text for Graphviz, format) that draw a picture, one for each library that is installed."""
    drawers: list[Callable[[str, str], bytes]] = []
    for name, drawer in (("pydot", _draw_with_pydot), ("graphviz", _draw_with_graphviz)):
        try:
            library = importlib.import_module(name)
        except ImportError:
            continue
        drawers.append(partial(drawer, library))
    return drawers


def _draw_with_pydot(library: Any, text: str, kind: str) -> bytes:
    (graph,) = library.graph_from_dot_data(text)
    return bytes(graph.create(prog="dot", format=kind))


def _draw_with_graphviz(library: Any, text: str, kind: str) -> bytes:
    return bytes(library.Source(text).pipe(format=kind))


def pydot_library() -> Any | None:
    """Return the module pydot, or None where it is not installed."""
    try:
        return importlib.import_module("pydot")
    except ImportError:
        return None


find_modules_of_table()


# ---- Historical names of arguments

ResultT = TypeVar("ResultT")


def also_called(module: str, name: str, function: Callable[..., ResultT], /, **own: str) -> Callable[..., ResultT]:
    """Return `function` for `module`, under `name`, with further names for arguments.

    Parameters
    ----------
    module, name : str
        Where it can be found, for pickles of it.
    function : callable
    **own : str
        Names of arguments of `function`, by the historical ones.

    Examples
    --------
    >>> def twice(value):
    ...     return 2 * value
    >>> also_called(__name__, "double", twice, x="value")(x=4)
    8
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> ResultT:
        for historical in own.keys() & kwargs.keys():
            if own[historical] in kwargs:
                raise TypeError(f"{name}: `{historical}` and `{own[historical]}` are one argument; pass one of them")
            kwargs[own[historical]] = kwargs.pop(historical)
        return function(*args, **kwargs)

    if name != function.__name__ and function.__doc__ is not None:
        # Examples call the function by its own name.
        call.__doc__ = cleandoc(function.__doc__).partition("\n\nExamples\n")[0]
    call.__module__, call.__name__, call.__qualname__ = module, name, name
    return call


# ---- Homes of classes: `theano.tensor.var.TensorVariable`

#: Module -> classes that `type(x)`, profiles and pickles show with it.
HOMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "theano.gof.graph": ("Apply", "Constant", "Variable"),
        "theano.gof.op": ("Op",),
        "theano.gof.type": ("Generic", "Type"),
        "theano.gof.fg": ("FunctionGraph",),
        "theano.compile.builders": ("OpFromGraph",),
        "theano.compile.debugmode": (
            *("BadDestroyMap", "BadOptimization", "BadThunkOutput", "BadViewMap", "DebugMode", "DebugModeError"),
            *("InvalidValueError", "StochasticOrder"),
        ),
        "theano.compile.function_module": ("Function", "FunctionMaker", "UnusedInputError"),
        "theano.compile.io": ("In", "Out"),
        "theano.compile.mode": ("Mode",),
        "theano.compile.monitormode": ("MonitorMode",),
        "theano.compile.nanguardmode": ("NanGuardMode",),
        "theano.compile.ops": ("DeepCopyOp", "FromFunctionOp", "Rebroadcast", "SpecifyShape", "ViewOp"),
        "theano.compile.profiling": ("ProfileStats",),
        "theano.compile.sharedvalue": ("SharedVariable",),
        "theano.ifelse": ("IfElse",),
        "theano.printing": ("Print",),
        "theano.scan_module.scan_op": ("Scan",),
        "theano.tensor.basic": ("ARange", "Alloc", "AllocEmpty", "Dot", "Eye", "Join", "Nonzero", "Reshape", "Split"),
        "theano.tensor.blas": ("BatchedDot", "Dot22", "Dot22Scalar", "Gemm", "Gemv", "Ger"),
        "theano.tensor.elemwise": ("All", "CAReduce", "DimShuffle", "Elemwise", "Prod", "Sum"),
        "theano.tensor.sharedvar": ("ScalarSharedVariable", "TensorSharedVariable"),
        "theano.tensor.subtensor": (
            *("AdvancedIncSubtensor", "AdvancedIncSubtensor1", "AdvancedSubtensor", "AdvancedSubtensor1"),
            *("IncSubtensor", "Subtensor"),
        ),
        "theano.tensor.type": ("TensorType",),
        "theano.tensor.var": ("TensorConstant", "TensorVariable"),
    }
)


def settle() -> None:
    """Let the classes of other layers name the modules of this package as theirs, where they can be found there."""
    for module, names in HOMES.items():
        namespace = importlib.import_module(module)
        for name in names:
            cls = getattr(namespace, name, None)
            # Pickle could not look up an object that has another name elsewhere.
            if isinstance(cls, type) and cls.__qualname__ == name:
                cls.__module__ = module


# ---- Rules with a name before their package is imported: those of `theano.sparse`

#: Documented name, tags, other documented names.
_SPARSE = (("local_structured_dot", ("fast_run", "o3", "o4", "unsafe"), ("sparse_dot",)),)
_DATABASES: Any = optdb
_SPECIALIZE = _DATABASES["specialize"]


class Announced(NodeRewriter):
    """Stands for a rule in names, queries and summaries until its package is imported; it looks at no node."""

    def __init__(self, name: str) -> None:
        super().__init__(info=RewriteInfo(name))

    def tracks(self) -> tuple[()]:
        """Nothing: without the package there are no ops for the rule."""
        return ()

    def transform(self, fgraph: FunctionGraph, node: Apply) -> None:
        """Change nothing."""


def announce() -> None:
    """Register placeholders for the rules of packages that have not been imported."""
    names = optdb.names()
    for name, tags, aliases in _SPARSE:
        if name not in names:
            _SPECIALIZE.register(name, Announced(name), *tags, aliases=aliases)


def withdraw() -> None:
    """Remove the placeholders for rules of sparse matrices: the rules are there now."""
    for name, _, _ in _SPARSE:
        if name in _SPECIALIZE and isinstance(_SPECIALIZE[name], Announced):
            _SPECIALIZE.remove(name)
