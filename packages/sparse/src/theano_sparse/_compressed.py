"""Ops in C on the arrays of compressed sparse matrices: data, indices and indptr.

The code is in the folder ``c``: each file defines functions whose names `NAME` makes the node's own, for elements of
the type `ELEMENT`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar

from theano_graph import Apply, compose, pullback, pushforward
from theano_tensor import as_tensor_variable

from ._op import SparseOp
from ._type import CLASSES

#: The dtypes of elements that the C code is written for.
NATIVE_DTYPES = ("float32", "float64")


@cache
def _text(file: str) -> str:
    return files(__package__ or "").joinpath("c", file).read_text(encoding="utf-8")


def c_source(name: str, *names: str, **types: str) -> str:
    """Return the text of files of C code with macros for names and types around it.

    Parameters
    ----------
    name : str
        Of the node; the functions end in it.
    names : str
        Files, without their ending.
    types : str
        Macros and the C types that they stand for.
    """
    macros = [("NAME(f)", f"f##_{name}"), *types.items()]
    begin = "".join(f"#define {macro} {text}\n" for macro, text in macros)
    end = "".join(f"#undef {macro.partition('(')[0]}\n" for macro, _ in macros)
    return begin + "\n".join(_text(f"{file}.h") for file in names) + end


def minor_length(name: str) -> str:
    """Return the C text of the number in an input."""
    return f"(npy_intp)*(npy_int64 *)PyArray_DATA({name})"


class CompressedOp(SparseOp):
    """Base of the ops on ``data, indices, indptr`` and the length of the minor axis. Put in by rewrites."""

    files: ClassVar[tuple[str, ...]] = ("compressed",)
    #: Where `data` stands among the inputs.
    first: ClassVar[int] = 0

    def check(self, inputs: Sequence[Any], dtype: str) -> list[Any]:
        """Return the inputs with the integers as the C code reads them, and all else in a dtype."""
        kinds = ["int32", "int32", "int64"]
        found = []
        for position, given in enumerate(inputs):
            variable = as_tensor_variable(given)
            place = position - self.first - 1
            wanted = kinds[place] if 0 <= place < 3 else dtype
            found.append(variable if variable.type.dtype == wanted else variable.astype(wanted))
        return found

    def c_code_cache_version(self) -> tuple[int, ...]:
        """Return the version of the C code."""
        return (1,)

    def c_compile_args(self) -> list[str]:
        """Return the options that make vector code of inner loops."""
        return ["-O3"]

    def c_support_code_apply(self, node: Apply, name: str) -> str:
        """Return the functions that `c_call` calls."""
        return c_source(name, *self.files, ELEMENT=self.element(node))

    def c_code(self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: dict[str, str]) -> str:
        """Return the call; NotImplementedError where there is no code for the elements, so that `perform` runs."""
        self.element(node)
        return self.c_call(node, name, inputs, outputs, sub)

    def c_call(self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: dict[str, str]) -> str:
        """Return the call of a function, and what is done where that fails."""
        raise TypeError(f"{type(self).__name__} is only a base")

    def element(self, node: Apply) -> str:
        """Return the C type of the elements; NotImplementedError where there is no code for it."""
        kind: Any = node.inputs[self.first].type
        if kind.dtype not in NATIVE_DTYPES:
            raise NotImplementedError(f"no C code for {kind.dtype}")
        return f"npy_{kind.dtype}"


def assembled(format: str, data: Any, indices: Any, indptr: Any, other: Any) -> Any:
    """Return SciPy's matrix of some arrays; ValueError where they make none."""
    n_major, length = len(indptr) - 1, int(other)
    try:
        found = CLASSES[format](
            (data, indices, indptr), shape=(n_major, length) if format == "csr" else (length, n_major)
        )
        found.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(
            compose(
                f"the arrays do not make a sparse matrix: {error}",
                mend="take them from csm_properties(x) of one matrix",
            )
        ) from None
    return found


def not_differentiated(*ops: type[CompressedOp]) -> None:
    """Say that ops have no derivatives."""
    for op in ops:
        for table in (pullback, pushforward):
            table.declare_absent(op, "it is put in by rewriting, after differentiation")
