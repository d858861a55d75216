"""Special functions as text in C, for exported code and for devices; on the CPU they are functions of SciPy.

They are written from published formulas, whose numbers are those of the Digital Library of Mathematical Functions. All
compute with doubles, without recursion, for which devices have no stack. The text is C99, CUDA and OpenCL alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

from ..._c_names import called
from ..._functions_in_c import function_name, functions_of, read_code, with_called

__all__ = [
    "called_special_functions",
    "special_arguments",
    "special_definitions",
    "special_functions",
]

_FILES = ("gamma.h", "errors.h", "bessel.h", "incomplete.h", "hypergeometric.h")
_PREFIX = "theano_special_"
#: Name in `scipy.special` -> number of arguments, as the classes of ops declare it.
_arguments: dict[str, int] = {}


def declare_special(name: str, count: int) -> None:
    """Declare the number of arguments of a special function."""
    _arguments[name] = count


def special_arguments(name: str) -> int:
    """Return how many arguments a special function has, by its name in `scipy.special`.

    Examples
    --------
    >>> special_arguments("gammainc")
    2
    """
    return _arguments.get(name, 1)


@cache
def special_functions() -> Mapping[str, str]:
    """Return the text of each function by its name; their callees have names of their own.

    Examples
    --------
    >>> "theano_special_gammaln" in special_functions()
    True
    """
    parts = [part for name in _FILES for part in functions_of(read_code("special", name))]
    return MappingProxyType({function_name(part): part for part in parts})


def called_special_functions(text: str) -> list[str]:
    """Return the special functions that a text calls, by their names in `scipy.special`.

    Examples
    --------
    >>> called_special_functions("y = theano_special_gammaln(x, 0);")
    ['gammaln']
    """
    return [name.removeprefix(_PREFIX) for name in called(text) if name.startswith(_PREFIX)]


def special_definitions(names: Iterable[str]) -> list[str]:
    """Return the definitions of special functions; callees come first.

    Parameters
    ----------
    names : iterable of str
        As :func:`called_special_functions` gives them.

    Raises
    ------
    KeyError
        If there is no text of one of them: its name.

    Examples
    --------
    >>> len(special_definitions(["gammaln"]))
    2
    """
    names_needed = list(names)
    for name in names_needed:
        if _PREFIX + name not in special_functions():
            raise KeyError(name)
    return with_called([_PREFIX + name for name in names_needed], special_functions())
