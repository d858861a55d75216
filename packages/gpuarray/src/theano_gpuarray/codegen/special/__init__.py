"""Special functions on devices: their text, and which of it some other text needs.

On the CPU these are functions of SciPy. Here they are written from published formulas, whose numbers are those of the
Digital Library of Mathematical Functions; all compute with doubles, without recursion, for which devices have no stack.
The last argument of what is called ``theano_special_<name>`` is not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from theano_graph import compose

from .._form import NoDeviceForm
from ._bessel import BESSEL
from ._errors import ERRORS
from ._gamma import GAMMA
from ._incomplete import INCOMPLETE

__all__ = ["SPECIAL", "special_definitions"]

#: All functions by name; what one calls may stand anywhere.
SPECIAL: Mapping[str, str] = MappingProxyType(
    {name: text.strip("\n") for part in (GAMMA, ERRORS, BESSEL, INCOMPLETE) for name, text in part.items()}
)
_CALL = re.compile(r"\b(theano_\w+)\(")
_NEEDED = re.compile(r"\btheano_special_\w+(?=\()")


def special_definitions(texts: Iterable[str]) -> list[str]:
    """Return the definitions of the special functions that some text calls; what they call comes first.

    Raises
    ------
    NoDeviceForm
        If there is no text of one of them.

    Examples
    --------
    >>> len(special_definitions(["theano_special_gammaln(x, 0)"]))
    2
    """
    found: dict[str, str] = {}
    for text in texts:
        for name in _NEEDED.findall(text):
            if name not in SPECIAL:
                raise NoDeviceForm(
                    compose(
                        f"the special function {name.removeprefix('theano_special_')} has no form on devices",
                        mend="leave this operation to the CPU",
                    )
                )
            _define(name, found)
    return list(found.values())


def _define(name: str, found: dict[str, str]) -> None:
    if name in found:
        return
    for other in _CALL.findall(SPECIAL[name]):
        if other != name and other in SPECIAL:
            _define(other, found)
    found[name] = SPECIAL[name]
