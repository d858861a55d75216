"""How the elements of an array lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from theano_graph import format_error

__all__ = ["ArrayFlags"]

#: Letters by which NumPy knows flags, too.
_SHORT = {
    "C": "C_CONTIGUOUS",
    "F": "F_CONTIGUOUS",
    "A": "ALIGNED",
    "W": "WRITEABLE",
    "O": "OWNDATA",
    "CA": "CARRAY",
    "FA": "FARRAY",
    "B": "BEHAVED",
}


class ArrayFlags(Mapping[str, bool]):
    """Flags of an array, by their names in NumPy, and as attributes in lower case.

    ``IS_C_CONTIGUOUS`` and ``IS_F_CONTIGUOUS`` are names for the same as without ``IS_``.

    Parameters
    ----------
    c_contiguous, f_contiguous : bool
        Whether elements lie one behind the other, the last or the first index running fastest.
    aligned : bool
        Whether each lies at a multiple of its size.
    owndata : bool
        Whether the array has all of its memory.

    Examples
    --------
    >>> from theano_gpuarray.arrays import ArrayFlags
    >>> flags = ArrayFlags(True, False, True, True)
    >>> flags["IS_C_CONTIGUOUS"], flags.f_contiguous, flags["CARRAY"]
    (True, False, True)
    """

    def __init__(self, c_contiguous: bool, f_contiguous: bool, aligned: bool, owndata: bool) -> None:
        self._values = {
            "C_CONTIGUOUS": c_contiguous,
            "F_CONTIGUOUS": f_contiguous,
            "OWNDATA": owndata,
            "WRITEABLE": True,
            "ALIGNED": aligned,
            "FNC": f_contiguous and not c_contiguous,
            "FORC": c_contiguous or f_contiguous,
            "BEHAVED": aligned,
            "CARRAY": aligned and c_contiguous,
            "FARRAY": aligned and f_contiguous and not c_contiguous,
        }

    def __getitem__(self, name: str) -> bool:
        long = _SHORT.get(name, name).removeprefix("IS_")
        if long not in self._values:
            raise KeyError(format_error(f"arrays have no flag {name!r}", hint=f"one of {', '.join(self._values)}"))
        return self._values[long]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> bool:
        values = self.__dict__.get("_values", {})
        if name.upper() not in values:
            raise AttributeError(f"flags of arrays have no attribute {name!r}")
        return bool(values[name.upper()])

    def __repr__(self) -> str:
        return "\n".join(f"  {name} : {value}" for name, value in self._values.items())
