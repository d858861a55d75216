"""Names for programs that run on Python 2 and 3; today they are built in."""

import operator
import os
from collections import (
    defaultdict,
)
from collections.abc import Iterable

python_all = all
python_any = any
izip = zip
imap = map
ifilter = filter
operator_div = operator.truediv

#: Sets and dictionaries keep the order in which things were put in.
DefaultOrderedDict = defaultdict


def exc_message(e: BaseException) -> object:
    """Return the argument of an exception: the only one, or all."""
    return e.args[0] if len(e.args) == 1 else e.args


def cmp(a: float, b: float) -> int:
    """Return -1, 0 or 1 for `a` below, equal to or above `b`."""
    return (a > b) - (a < b)


def decode(x: bytes | str) -> str:
    """Return bytes as text in UTF-8, and text as it is."""
    return x.decode() if isinstance(x, bytes) else x


def decode_iter(items: Iterable[bytes | str]) -> Iterable[str]:
    """Decode each of `items`."""
    return map(decode, items)


def decode_with(x: bytes | str, encoding: str) -> str:
    """Return bytes as text in an encoding, and text as it is."""
    return x.decode(encoding) if isinstance(x, bytes) else x


def maybe_add_to_os_environ_pathlist(var: str, newpath: str) -> None:
    """Add a folder to an environment variable that lists folders, unless it is there or no absolute path."""
    if os.path.isabs(newpath):
        listed = os.environ.get(var, "").split(os.pathsep)
        if newpath not in listed:
            os.environ[var] = os.pathsep.join([newpath, *filter(None, listed)])
