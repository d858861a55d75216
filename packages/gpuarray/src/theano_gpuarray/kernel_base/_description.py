"""An op's description of a kernel of its own: text, parameters and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theano_graph import format_error

from ..arrays import SIZE, SSIZE, GpuArray, dtype_to_ctype

__all__ = ["Kernel"]

_FLAGS = ("have_double", "have_small", "have_complex", "have_half")
_C_FLAGS = {
    "have_double": "GA_USE_DOUBLE",
    "have_small": "GA_USE_SMALL",
    "have_complex": "GA_USE_COMPLEX",
    "have_half": "GA_USE_HALF",
}
#: The names of parameters in ``#kernel`` lines that are no dtypes.
_WORDS: Mapping[str, Any] = {"*": GpuArray, "size": SIZE, "ssize": SSIZE}
#: Bytes of the smallest type that is not small.
_SMALL = 4


class Kernel:
    """A kernel of an op.

    Parameters
    ----------
    code : str
        The text, in which the words of ``cluda.h`` may be used: ``KERNEL``, ``GLOBAL_MEM``, ``LID_0``, ``ga_float``,
        ``ga_size``, ...
    params : sequence
        The kind of each parameter: `GpuArray` for memory, `SIZE` and `SSIZE` for lengths, dtypes for numbers. With the
        flag ``ctypes`` these are texts of C.
    name : str
        The name of the function in the text.
    flags : dict
        ``have_double``, ``have_small`` (types of less than 4 bytes), ``have_complex``, ``have_half``: whether the
        kernel uses such variables; ``ctypes``; and ``cflags``, a text such as ``"GA_USE_DOUBLE|GA_USE_SMALL"`` in place
        of these. :meth:`get_flags` makes them.
    codevar, objvar, fname, sname : str, optional
        Names in C code: of the text (``kcode_<name>``), of the kernel (``k_<name>``), and of the functions that launch
        it with given numbers of work-items (``<name>_call``) and for a number of elements (``<name>_scall``).

    Raises
    ------
    ValueError
        For a flag that does not exist.

    Examples
    --------
    >>> from theano_gpuarray.arrays import SIZE, GpuArray
    >>> text = "KERNEL void f(GLOBAL_MEM ga_float *x, ga_size n) {}"
    >>> k = Kernel(text, [GpuArray, SIZE], "f", Kernel.get_flags("float32"))
    >>> k.objvar, k.sname, k.parameters
    ('k_f', 'f_scall', ('*', 'size'))
    """

    def __init__(
        self,
        code: str,
        params: Sequence[Any],
        name: str,
        flags: Mapping[str, Any],
        codevar: str | None = None,
        objvar: str | None = None,
        fname: str | None = None,
        sname: str | None = None,
    ) -> None:
        unknown = sorted(set(flags) - {*_FLAGS, "ctypes", "cflags", "cluda"})
        if unknown:
            raise ValueError(
                format_error(
                    f"kernel {name!r}: there is no flag {unknown[0]!r}",
                    hint=f"use {', '.join(_FLAGS)}, ctypes and cflags, or Kernel.get_flags(dtype, ...)",
                )
            )
        self.code = code
        self.params = list(params)
        self.name = name
        self.flags = dict(flags)
        self.codevar = f"kcode_{name}" if codevar is None else codevar
        self.objvar = f"k_{name}" if objvar is None else objvar
        self.fname = f"{name}_call" if fname is None else fname
        self.sname = f"{name}_scall" if sname is None else sname

    @staticmethod
    def get_flags(*types: Any) -> dict[str, bool]:
        """Return the flags for a kernel with variables of some dtypes.

        Parameters
        ----------
        *types : dtype, or numbers of dtypes

        Examples
        --------
        >>> Kernel.get_flags("float64", "int8")["have_small"]
        True
        """
        flags = dict.fromkeys(_FLAGS, False)
        for kind in types:
            if kind in (SIZE, SSIZE) or kind is GpuArray:
                continue
            dtype = np.dtype(kind)
            flags["have_double"] |= dtype.name in ("float64", "complex128")
            flags["have_small"] |= dtype.itemsize < _SMALL
            flags["have_complex"] |= dtype.kind == "c"
            flags["have_half"] |= dtype.name == "float16"
        return flags

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters by name: ``*``, ``size``, ``ssize``, or a dtype."""
        if self.flags.get("ctypes"):
            raise TypeError(
                format_error(
                    f"the parameters of kernel {self.name!r} are known to its C code only",
                    hint="leave out the flag `ctypes` for kernels that are launched from Python",
                )
            )
        return tuple(map(_parameter_name, self.params))

    def c_flags(self) -> str:
        """Return the flags as C code has them."""
        flags = self.flags.get("cflags")
        if flags:
            return str(flags)
        return "|".join(_C_FLAGS[flag] for flag in _FLAGS if self.flags.get(flag)) or "0"

    def c_type(self, position: int) -> str:
        """Return the type of a parameter in C: ``ga_size``, ``ga_float``, or ``void *`` for memory."""
        name = self.parameters[position]
        return {"*": "void *", "size": "ga_size", "ssize": "ga_ssize"}.get(name) or dtype_to_ctype(name)

    def key(self) -> tuple[Any, ...]:
        """Return the key that is equal for equal kernels."""
        return self.code, self.name, tuple(map(str, self.params)), tuple(sorted(self.flags.items()))


def _parameter_name(kind: Any) -> str:
    if isinstance(kind, type) and issubclass(kind, GpuArray):
        return "*"
    if isinstance(kind, int) and kind in (SIZE, SSIZE):
        return "size" if kind == SIZE else "ssize"
    if isinstance(kind, str) and kind in _WORDS:
        return kind
    name: str = np.dtype(kind).name
    return name


def parameter_of(word: str) -> Any:
    """Return a parameter as :class:`Kernel` has it, of its word in a ``#kernel`` line.

    Raises
    ------
    ValueError
        If there is no such dtype.
    """
    if word in _WORDS:
        return _WORDS[word]
    try:
        return np.dtype(word).name
    except TypeError:
        raise ValueError(
            format_error(
                f"{word!r} is no parameter of a kernel", hint="use `*`, `size`, `ssize`, or the name of a dtype"
            )
        ) from None
