"""Names that are imported on first use, so that `import theano` goes without them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ._borrowed import BORROWED

FROM_TESTING = frozenset({"GradientError", "numeric_grad", "verify_grad"})


def from_testing(module: str, name: str) -> object:
    """Return a helper for tests, or raise the error of a module without the name."""
    if name in FROM_TESTING:
        return getattr(importlib.import_module("theano_testing.tensor"), name)
    return borrowed(module, name)


def borrowed(module: str, name: str) -> Any:
    """Return a name that a module of Theano merely imported, or raise the error of a module without the name."""
    if name not in _places(BORROWED.get(module, {})):
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
        `theano._borrowed` are there as well.

    Examples
    --------
    >>> find, names = lazy_names(__name__, __package__, {"math": "pi root=sqrt"})
    >>> find("root")(9.0)
    3.0
    """
    places = _places(BORROWED.get(module, {})) | _places(sources)

    def find(name: str) -> Any:
        if name == "__all__":
            # While the library itself is imported, a star takes the names at hand and loads nothing.
            if sources or hasattr(sys.modules["theano"], "__getattr__"):
                return names()
        if name not in places:
            raise AttributeError(
                f"module {module!r} has no attribute {name!r}{_elsewhere(module, name)}",
                name=name,
                obj=sys.modules.get(module),
            )
        source, original = places[name]
        found = importlib.import_module(source, package)
        # A package's attribute for a lazy submodule is the answer of this function.
        if found.__name__ != module and hasattr(found, original):
            value = getattr(found, original)
        else:
            value = importlib.import_module(f"{found.__name__}.{original}")
        setattr(sys.modules[module], name, value)
        return value

    def names() -> list[str]:
        return sorted({name for name in [*vars(sys.modules[module]), *places] if _is_public(name)})

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
