"""A file from which the compilation of a function can be repeated elsewhere."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from typing import Any

from theano_graph import Tag, Variable

from ..modes import Mode


def function_dump(
    filename: str | os.PathLike[str],
    inputs: Sequence[Any],
    outputs: Any = None,
    mode: str | Mode | None = None,
    updates: Any = None,
    givens: Any = None,
    no_default_updates: bool | Sequence[Variable] = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: Any = None,
    on_unused_input: str | None = None,
    extra_tag_to_remove: Sequence[str] = (),
) -> None:
    """Write the arguments of :func:`function` to a file instead of compiling, values of shared variables included.

    The file is a pickle of a dictionary `d`; ``function(**d)`` does the compilation. Set shared variables to zeros
    first if their values are not to be given away.

    Parameters
    ----------
    filename : path
    extra_tag_to_remove : sequence of str
        Attributes of tags that are left out of the file, besides test values.
    others
        As for :func:`function`.

    Examples
    --------
    >>> import theano
    >>> import pickle, tempfile, os
    >>> x = theano.generic("x")
    >>> path = os.path.join(tempfile.mkdtemp(), "dump.pkl")
    >>> theano.function_dump(path, [x], x)
    >>> with open(path, "rb") as file:
    ...     arguments = pickle.load(file)
    >>> theano.function(**arguments)(1)
    1
    """
    arguments = {
        "inputs": inputs,
        "outputs": outputs,
        "mode": mode,
        "updates": updates,
        "givens": givens,
        "no_default_updates": no_default_updates,
        "accept_inplace": accept_inplace,
        "name": name,
        "rebuild_strict": rebuild_strict,
        "allow_input_downcast": allow_input_downcast,
        "profile": profile,
        "on_unused_input": on_unused_input,
    }
    with open(filename, "wb") as file:
        _StripPickler(file, {"test_value", *(extra_tag_to_remove or ())}).dump(arguments)


class _StripPickler(pickle.Pickler):
    """A pickler that leaves some attributes of tags out."""

    def __init__(self, file: Any, removed: set[str]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._removed = removed

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is Tag:
            state = {k: v for k, v in vars(obj).items() if k not in self._removed}
            return Tag, (), state
        return NotImplemented
