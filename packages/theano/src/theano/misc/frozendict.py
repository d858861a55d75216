"""Mappings that do not change, so that they can be keys."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any


class frozendict(Mapping[Any, Any]):
    """A mapping with a hash, which nobody can change.

    Parameters
    ----------
    *args, **kwargs
        The arguments of `dict`.

    Examples
    --------
    >>> from theano.misc.frozendict import frozendict
    >>> {frozendict(a=1): "found"}[frozendict({"a": 1})]
    'found'
    """

    dict_cls: type[dict[Any, Any]] = dict

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._dict = self.dict_cls(*args, **kwargs)
        self._hash: int | None = None

    def __getitem__(self, key: Any) -> Any:
        return self._dict[key]

    def __contains__(self, key: object) -> bool:
        return key in self._dict

    def __iter__(self) -> Iterator[Any]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._dict!r}>"

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._dict.items()))
        return self._hash

    def copy(self, **add_or_replace: Any) -> frozendict:
        """Return a mapping with further keys, or other values."""
        return type(self)(self, **add_or_replace)


class FrozenOrderedDict(frozendict):
    """One that keeps the order of its keys."""

    dict_cls = OrderedDict
