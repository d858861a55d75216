"""Arrays that are sent from one process to another by MPI, each message in two steps: start, and wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Op, Variable, batch_rule, describe, format_error, generic, shape_rule

from .._core._convert import as_tensor_variable
from .._core._dtypes import DTypeLike, TensorLike
from .._core._ops import DiscreteOp
from .._core._type import TensorType
from .._lazy import mpi

# ---- Calls of MPI, and its errors


def on_wire(array: Any) -> Any:
    """Return a view of an array for MPI, which has no half floats."""
    return array.view(np.uint16) if array.dtype == np.float16 else array


def started(call: Callable[[], Any], op: Op, rank: int | None) -> Any:
    """Return the result of an MPI call.

    Raises
    ------
    ValueError
        If there is no process of that rank, or the message does not fit.
    RuntimeError
        If MPI fails in another way.
    """
    size = mpi().COMM_WORLD.Get_size()
    if rank is not None and rank >= size:
        raise ValueError(
            format_error(
                f"{op}: there is no process {rank} among {size}",
                hint=f"start more processes (mpiexec -n {rank + 1} ...), or give a rank below {size}",
            )
        )
    try:
        return call()
    except mpi().Exception as error:
        if error.Get_error_class() == mpi().ERR_TRUNCATE:
            raise ValueError(
                format_error(
                    f"{op}: more bytes came than expected",
                    hint="receive with the shape and the dtype of the sent array",
                )
            ) from error
        raise RuntimeError(format_error(f"{op}: MPI failed: {error}", hint="look at the other processes")) from error


# ---- Arrays that are sent from one process to another by MPI, each message in two steps: start, and wait


class MessageOp(DiscreteOp):
    """Base of the steps of a message.

    Invariants
    ----------
    An object stands for one message: it equals only itself, so that two messages which look the same are never merged.
    Messages are never computed ahead of time.
    """

    tag: int

    def do_constant_folding(self, node: Apply) -> bool:
        """Never: the other process waits for each message."""
        return False

    def __str__(self) -> str:
        peer = next((f"{name}: {getattr(self, name)}, " for name in ("source", "dest") if hasattr(self, name)), "")
        return f"{type(self).__name__}{{{peer}tag: {self.tag}}}"


def number(given: Any, what: str) -> int:
    """Return a rank or a tag as an int; TypeError or ValueError if it is none."""
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)):
        raise TypeError(format_error(f"a message's {what} is {given!r}", hint="give a whole number"))
    if given < 0:
        raise ValueError(format_error(f"a message's {what} is {given}", hint="give a number from 0 on"))
    return int(given)


class MPISend(MessageOp):
    """Start to send an array; its outputs are the request and the array.

    Parameters
    ----------
    dest : int
        The rank of the process that receives.
    tag : int
        The same as there.

    Raises
    ------
    TypeError, ValueError
        If one of them is no whole number from 0 on.

    See Also
    --------
    isend, MPISendWait

    Notes
    -----
    Non-differentiable.
    """

    view_map = {1: [0]}

    def __init__(self, dest: int, tag: int) -> None:
        self.dest = number(dest, "destination")
        self.tag = number(tag, "tag")

    def make_node(self, data: TensorLike) -> Apply[Self]:
        """Apply to an array."""
        variable = as_tensor_variable(data)
        return Apply(self, [variable], [generic.make_variable(), variable.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Start; ImportError without MPI."""
        data = np.asarray(inputs[0])
        buffer = on_wire(np.ascontiguousarray(data))
        world = mpi().COMM_WORLD
        output_storage[0][0] = started(lambda: world.Isend(buffer, self.dest, self.tag), self, self.dest)
        output_storage[1][0] = data


class MPISendWait(MessageOp):
    """Wait until an array has been sent; True afterwards.

    Parameters
    ----------
    tag : int

    See Also
    --------
    send, MPISend

    Notes
    -----
    Non-differentiable.
    """

    def __init__(self, tag: int) -> None:
        self.tag = number(tag, "tag")

    def make_node(self, request: Variable, data: Variable) -> Apply[Self]:
        """Apply to the outputs of an `MPISend`."""
        return Apply(self, _request_and_array(self, request, data), [generic.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Wait."""
        inputs[0].Wait()
        output_storage[0][0] = True


class MPIRecv(MessageOp):
    """Start to receive an array; its outputs are the request and the array, which has its values after the wait.

    Parameters
    ----------
    source : int
        The rank of the process that sends.
    tag : int
        The same as there.
    shape : sequence of int
    dtype : str or dtype
        Shape and dtype of the array that is sent.

    Raises
    ------
    TypeError, ValueError
        If a number is none, or below 0.

    See Also
    --------
    irecv, MPIRecvWait

    Notes
    -----
    Non-differentiable.
    """

    def __init__(self, source: int, tag: int, shape: Sequence[int], dtype: DTypeLike) -> None:
        self.source = number(source, "source")
        self.tag = number(tag, "tag")
        self.shape = tuple(number(n, "length") for n in shape)
        self.dtype = str(np.dtype(dtype))

    def make_node(self) -> Apply[Self]:
        """Apply to nothing."""
        kind = TensorType(self.dtype, shape=self.shape)
        return Apply(self, [], [generic.make_variable(), kind.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Start; ImportError without MPI."""
        data = np.zeros(self.shape, self.dtype)
        world = mpi().COMM_WORLD
        output_storage[0][0] = started(lambda: world.Irecv(on_wire(data), self.source, self.tag), self, self.source)
        output_storage[1][0] = data


class MPIRecvWait(MessageOp):
    """Wait until an array has been received, and return it.

    Parameters
    ----------
    tag : int

    See Also
    --------
    recv, MPIRecv

    Notes
    -----
    Non-differentiable.
    """

    view_map = {0: [1]}

    def __init__(self, tag: int) -> None:
        self.tag = number(tag, "tag")

    def make_node(self, request: Variable, data: Variable) -> Apply[Self]:
        """Apply to the outputs of an `MPIRecv`."""
        operands = _request_and_array(self, request, data)
        return Apply(self, operands, [data.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Wait; ValueError if the array that came has another size."""
        request, data = inputs
        messages = mpi()
        status = messages.Status()
        started(lambda: request.Wait(status), self, None)
        size = status.Get_count(messages.BYTE)
        if size != data.nbytes:
            raise ValueError(
                format_error(
                    f"{self}: {size} bytes came, and {data.nbytes} are expected ({data.dtype}{data.shape})",
                    hint="receive with the shape and the dtype of the sent array",
                )
            )
        output_storage[0][0] = data


def _request_and_array(op: MessageOp, request: Any, data: Any) -> list[Variable]:
    if not isinstance(request, Variable) or request.type != generic or not isinstance(data.type, TensorType):
        given = (request, data)
        raise TypeError(
            format_error(
                f"{op} takes a request and an array",
                context=[describe(v) if isinstance(v, Variable) else repr(v) for v in given],
                hint="pass a result of isend or irecv",
            )
        )
    return [request, data]


def isend(var: Any, dest: int, tag: int) -> list[Any]:
    """Start to send an array, and go on.

    Parameters
    ----------
    var : Tensor
    dest : int
        The rank of the process that receives.
    tag : int
        Of two messages that could be first, the one with the lower tag is.

    Returns
    -------
    list of Variable
        The request, and the array, which must not be changed meanwhile: ``MPISendWait(tag)(*isend(...))`` waits.
    """
    results: list[Any] = MPISend(dest, tag)(var)
    return results


def send(var: Any, dest: int, tag: int) -> Variable:
    """Send an array, and wait until that is done.

    Parameters
    ----------
    var : Tensor
    dest : int
        The rank of the process that receives.
    tag : int

    Returns
    -------
    Variable
        Of type Generic, True when the array has been sent. A function that should send has to compute it.

    Raises
    ------
    TypeError, ValueError
        If `dest` or `tag` is no whole number from 0 on.
    ImportError
        When the function runs, if there is no mpi4py or no MPI.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.send(T.dvector("x"), dest=1, tag=7).type
    Generic
    """
    result: Variable = MPISendWait(tag)(*isend(var, dest, tag))
    return result


def irecv(shape: Sequence[int], dtype: DTypeLike, source: int, tag: int) -> list[Any]:
    """Start to receive an array, and go on.

    Parameters
    ----------
    shape : sequence of int
    dtype : str or dtype
    source : int
        The rank of the process that sends.
    tag : int

    Returns
    -------
    list of Variable
        The request, and the array, which is there after the wait: ``MPIRecvWait(tag)(*irecv(...))``.
    """
    results: list[Any] = MPIRecv(source, tag, shape, dtype)()
    return results


def recv(shape: Sequence[int], dtype: DTypeLike, source: int, tag: int) -> Any:
    """Receive an array.

    Parameters
    ----------
    shape : sequence of int
    dtype : str or dtype
        Shape and dtype of the array that is sent.
    source : int
        The rank of the process that sends.
    tag : int

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError, ValueError
        If a number is none, or below 0.
    ImportError
        When a function runs, if there is no mpi4py or no MPI.
    ValueError
        When a function runs, if the message has another size.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.recv((2, 3), "float64", source=0, tag=7).type
    TensorType(float64, (2, 3))
    """
    return MPIRecvWait(tag)(*irecv(shape, dtype, source, tag))


@shape_rule.register(MPISend)
def _sent_shape(node: Apply[MPISend], input_shapes: list[Any]) -> list[Any]:
    return [None, input_shapes[0]]


@shape_rule.register(MPIRecv)
def _expected_shape(node: Apply[MPIRecv], input_shapes: list[Any]) -> list[Any]:
    return [None, node.op.shape]


@shape_rule.register(MPISendWait)
def _no_shape(node: Apply[MPISendWait], input_shapes: list[Any]) -> list[Any]:
    return [None]


@shape_rule.register(MPIRecvWait)
def _received_shape(node: Apply[MPIRecvWait], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[1]]


batch_rule.declare_absent(MessageOp, "each message is sent and received once")
