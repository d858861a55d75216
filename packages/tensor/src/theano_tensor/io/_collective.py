"""Operations that all processes take part in: sums over processes, and copies to all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import Apply, Op, batch_rule, describe, format_error

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from ._lazy import mpi
from ._messages import number
from ._transport import started

#: Operation -> its name in MPI.
OPERATIONS = {"sum": "SUM", "prod": "PROD", "max": "MAX", "min": "MIN"}


class CollectiveOp(Op):
    """Base of computations by all processes together; each of them has to run it, in the same order."""

    tag: int

    def make_node(self, data: TensorLike) -> Apply[Self]:
        """Apply to an array, of one shape and dtype in all processes."""
        variable = as_tensor_variable(data)
        if variable.type.dtype in ("bool", "float16"):
            raise TypeError(
                format_error(
                    f"{self}: {variable.type.dtype} cannot be combined by MPI",
                    context=[describe(variable)],
                    hint="cast it to float32, or to an integer type",
                )
            )
        return Apply(self, [variable], [variable.type.make_variable()])

    def do_constant_folding(self, node: Apply[Self]) -> bool:
        """Never: the other processes wait."""
        return False


def _checked(operation: str) -> str:
    if operation not in OPERATIONS:
        raise ValueError(
            format_error(f"processes cannot be combined by {operation!r}", hint=f"give one of {', '.join(OPERATIONS)}")
        )
    return operation


class MPIAllReduce(CollectiveOp):
    """Combine the arrays of all processes, element by element; each process gets the result.

    Parameters
    ----------
    operation : {'sum', 'prod', 'max', 'min'}
    tag : int
        Of two such operations that could be first, the one with the lower tag is, in each process.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("operation", "tag")

    def __init__(self, operation: str = "sum", tag: int = 0) -> None:
        self.operation = _checked(operation)
        self.tag = number(tag, "tag")

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Combine; ImportError without MPI."""
        data = np.ascontiguousarray(inputs[0]).reshape(np.shape(inputs[0]))
        result = np.empty_like(data)
        world, kind = mpi().COMM_WORLD, getattr(mpi(), OPERATIONS[self.operation])
        started(lambda: world.Allreduce(data, result, kind), self, None)
        output_storage[0][0] = result


class MPIReduce(CollectiveOp):
    """Combine the arrays of all processes, element by element; one process gets the result, the others zeros.

    Parameters
    ----------
    root : int
        The rank of the process that gets it.
    operation : {'sum', 'prod', 'max', 'min'}
    tag : int
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("root", "operation", "tag")

    def __init__(self, root: int = 0, operation: str = "sum", tag: int = 0) -> None:
        self.root = number(root, "root")
        self.operation = _checked(operation)
        self.tag = number(tag, "tag")

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Combine; ImportError without MPI."""
        data = np.ascontiguousarray(inputs[0]).reshape(np.shape(inputs[0]))
        result = np.zeros_like(data)
        world, kind = mpi().COMM_WORLD, getattr(mpi(), OPERATIONS[self.operation])
        started(lambda: world.Reduce(data, result, kind, self.root), self, self.root)
        output_storage[0][0] = result


class MPIBroadcast(CollectiveOp):
    """The array of one process, in all of them.

    Parameters
    ----------
    root : int
        The rank of the process whose array it is; the arrays of the others give only its shape.
    tag : int
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("root", "tag")

    def __init__(self, root: int = 0, tag: int = 0) -> None:
        self.root = number(root, "root")
        self.tag = number(tag, "tag")

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Copy; ImportError without MPI."""
        result = np.array(inputs[0], order="C")
        started(lambda: mpi().COMM_WORLD.Bcast(result, self.root), self, self.root)
        output_storage[0][0] = result


def allreduce(var: Any, operation: str = "sum", tag: int = 0) -> Any:
    """Combine the arrays of all processes, element by element; each process gets the result.

    Parameters
    ----------
    var : Tensor
        Of one shape and dtype in all processes.
    operation : {'sum', 'prod', 'max', 'min'}
        Sums are differentiated, the others are not.
    tag : int
        All processes have to run such operations in the same order: of two that could be first, the one with the lower
        tag is.

    Returns
    -------
    Tensor
        Of the type of `var`.

    Raises
    ------
    ValueError
        For other operations, or a tag below 0.
    TypeError
        If the dtype is bool or float16.
    ImportError
        When a function runs, if there is no mpi4py or no MPI.

    Notes
    -----
    The gradient is that of the sum of the costs of all processes: the sum of their gradients by the result.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import io
    >>> io.allreduce(T.dvector("x")).type
    TensorType(float64, vector)
    """
    return MPIAllReduce(operation, tag)(var)


def reduce(var: Any, root: int = 0, operation: str = "sum", tag: int = 0) -> Any:
    """Combine the arrays of all processes; process `root` gets the result, the others zeros.

    Parameters and errors are those of :func:`allreduce`.
    """
    return MPIReduce(root, operation, tag)(var)


def broadcast(var: Any, root: int = 0, tag: int = 0) -> Any:
    """Return the array that process `root` has, in all processes.

    Parameters
    ----------
    var : Tensor
        Of one shape and dtype in all processes.
    root : int
    tag : int
        As for :func:`allreduce`.

    Returns
    -------
    Tensor
        Of the type of `var`.

    Raises
    ------
    ValueError
        If a number is below 0; when a function runs, if there is no process `root`.
    ImportError
        When a function runs, if there is no mpi4py or no MPI.

    Notes
    -----
    The gradient goes to process `root`, summed over processes; that of the others is zero.
    """
    return MPIBroadcast(root, tag)(var)


batch_rule.declare_absent(CollectiveOp, "all processes have to take part in one exchange after the other")
