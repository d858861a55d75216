"""Ops on the arrays of compressed sparse matrices: data, indices and indptr. Each has a native kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from theano_graph import Apply, format_error, pullback, pushforward
from theano_linker_c.kernels import CompressedKernel, CompressedTask, native_kernel
from theano_tensor import as_tensor_variable

from ._op import SparseOp
from ._type import CLASSES

#: The dtypes of elements that native kernels take.
NATIVE_DTYPES = ("float32", "float64")


class CompressedOp(SparseOp):
    """Base of the ops on ``data, indices, indptr`` and the length of the minor axis. Put in by rewrites."""

    #: What the native kernel does.
    task: ClassVar[CompressedTask]
    #: Where `data` stands among the inputs.
    first: ClassVar[int] = 0

    def check(self, inputs: Sequence[Any], dtype: str) -> list[Any]:
        """Return the inputs with the integers as the C code reads them, and all else in a dtype."""
        kinds = ["int32", "int32", "int64"]
        found = []
        for position, given in enumerate(inputs):
            variable = as_tensor_variable(given)
            offset = position - self.first - 1
            wanted = kinds[offset] if 0 <= offset < 3 else dtype
            found.append(variable if variable.type.dtype == wanted else variable.astype(wanted))
        return found

    @property
    def flag(self) -> bool:
        """What the kernel is told: whether rows are the major axis."""
        return bool(getattr(self, "format", "") == "csr")


@native_kernel.register(CompressedOp)
def _native(node: Apply[CompressedOp]) -> CompressedKernel | None:
    op: Any = node.op
    kind: Any = node.inputs[op.first].type
    return CompressedKernel(op.task, kind.dtype, op.flag) if kind.dtype in NATIVE_DTYPES else None


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
            format_error(
                f"the arrays do not make a sparse matrix: {error}",
                hint="take them from csm_properties(x) of one matrix",
            )
        ) from None
    return found


def not_differentiated(*ops: type[CompressedOp]) -> None:
    """Say that ops have no derivatives."""
    for op in ops:
        for table in (pullback, pushforward):
            table.declare_absent(op, "it is put in by rewriting, after differentiation")
