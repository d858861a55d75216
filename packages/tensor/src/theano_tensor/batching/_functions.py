"""Functions of one entry become functions of batches; signatures of functions on arrays."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from theano_graph import Variable, describe, format_error, record

from .._core._convert import as_tensor_variable
from .._core._type import StaticShape, Tensor, tensor_type
from .._errors import BatchError
from ..creation import alloc
from ..elemwise import dimshuffle
from ..shape import lengths_of, moveaxis, shape_i, specify_shape
from ._graph import entry_of, vectorize_graph

# ---- Signatures of functions on arrays, as NumPy writes them: ``(n),(n,m)->(m)``

_NAME = r"(?:[A-Za-z_]\w*|\d+)"
_CORE = rf"\((?:{_NAME}(?:,{_NAME})*)?\)"
_LIST = rf"{_CORE}(?:,{_CORE})*"

#: A dimension: a name, or a length.
Dimension = str | int


@record
class Signature:
    """Which dimensions the arguments and results of a function have.

    Attributes
    ----------
    text : str
    inputs, outputs : tuple of tuple of (str or int)
        For each argument and result its dimensions: names, of which equal ones have equal lengths, or lengths.
    """

    text: str
    inputs: tuple[tuple[Dimension, ...], ...]
    outputs: tuple[tuple[Dimension, ...], ...]


def parse_signature(text: str) -> Signature:
    """Return a signature.

    Raises
    ------
    ValueError
        If the text is none.

    Examples
    --------
    >>> parse_signature("(n),(n,3)->()").inputs
    (('n',), ('n', 3))
    """
    compact = re.sub(r"\s+", "", text)
    if re.fullmatch(rf"{_LIST}->{_LIST}", compact) is None:
        raise ValueError(
            format_error(
                f"{text!r} is no signature",
                hint="write the dimensions of each argument and result, as in '(n),(n,m)->(m)'",
            )
        )
    arguments, results = compact.split("->")
    return Signature(compact, _cores(arguments), _cores(results))


def _cores(text: str) -> tuple[tuple[Dimension, ...], ...]:
    cores = []
    for core in re.findall(_CORE, text):
        names = [name for name in core[1:-1].split(",") if name]
        cores.append(tuple(int(name) if name.isdigit() else name for name in names))
    return tuple(cores)


class Lengths:
    """The lengths of the dimensions of one call of a function with a signature.

    Parameters
    ----------
    signature : Signature
    """

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        #: Name -> its length, an int or a scalar variable, and the tensor that has it.
        self._lengths: dict[Dimension, tuple[Any, Tensor]] = {}

    def checked(self, tensors: Sequence[Tensor], cores: Sequence[tuple[Dimension, ...]]) -> list[Tensor]:
        """Return tensors whose last dimensions are those of `cores`, with checks of the lengths that are not known.

        Raises
        ------
        BatchError
            If a tensor has too few dimensions, or lengths are known and differ.
        """
        pairs = list(zip(tensors, cores, strict=True))
        for tensor, core in pairs:
            self._note(tensor, core)
        return [self._specified(tensor, core) for tensor, core in pairs]

    def _note(self, tensor: Tensor, core: tuple[Dimension, ...]) -> None:
        if tensor.type.ndim < len(core):
            raise BatchError(
                format_error(
                    f"`{tensor}` has {tensor.type.ndim} dimensions, {len(core)} at least are needed for "
                    f"{_core_text(core)} in {self.signature.text}",
                    context=[describe(tensor)],
                    hint="pass a tensor that has the dimensions of the signature last",
                )
            )
        first = tensor.type.ndim - len(core)
        for axis, name in enumerate(core):
            length = tensor.type.shape[first + axis]
            expected, source = self._lengths.get(name, (name if isinstance(name, int) else None, tensor))
            if length is not None and isinstance(expected, int) and length != expected:
                raise BatchError(
                    format_error(
                        f"dimension {name} of {self.signature.text} has length {expected}, and {length} in `{tensor}`",
                        context=[describe(v) for v in dict.fromkeys((source, tensor))],
                        hint="give the dimensions of one name one length",
                    )
                )
            if isinstance(expected, int):
                self._lengths[name] = expected, source
            elif length is not None:
                self._lengths[name] = length, tensor
            else:
                self._lengths.setdefault(name, (shape_i(tensor, first + axis), tensor))

    def _specified(self, tensor: Tensor, core: tuple[Dimension, ...]) -> Tensor:
        first = tensor.type.ndim - len(core)
        lengths: list[Any] = [None] * tensor.type.ndim
        for axis, name in enumerate(core):
            length, source = self._lengths[name]
            if tensor.type.shape[first + axis] is None and (isinstance(length, int) or source is not tensor):
                lengths[first + axis] = length
            elif name in core[:axis] and tensor.type.shape[first + axis] is None:
                # A name stands several times in one argument, as in "(n,n)->()".
                lengths[first + axis] = length
        return specify_shape(tensor, lengths) if any(n is not None for n in lengths) else tensor


def core_shape(tensor: Tensor, ndim: int) -> StaticShape:
    """Return the static lengths of the last dimensions of a tensor."""
    return tensor.type.shape[tensor.type.ndim - ndim :]


def _core_text(core: tuple[Dimension, ...]) -> str:
    return f"({','.join(map(str, core))})"


# ---- Functions of one entry become functions of batches

Axes = int | None | Sequence[int | None]


def vectorize(fn: Callable[..., Any], signature: str | None = None) -> Callable[..., Any]:
    """Return a function that applies `fn` to each entry of a batch.

    Parameters
    ----------
    fn : callable
        Takes tensor variables, those of one entry, and returns a variable, or a list or tuple of them.
    signature : str, optional
        The dimensions of the arguments and results of `fn`, as for ``numpy.vectorize``: ``"(n),(n,m)->(m)"``. Equal
        names have equal lengths, numbers are lengths. Without it all arguments of `fn` are scalars.

    Returns
    -------
    callable
        Its arguments have any dimensions in front of those of the signature, which broadcast as in NumPy: from the
        right, where a declared length of 1 broadcasts. All results have the dimensions of the whole batch in front.
        Keyword arguments are handed to `fn` as they are.

    Raises
    ------
    ValueError
        If `signature` is none.
    BatchError
        When the function is called: if arguments or results do not fit the signature, as far as lengths are known.
        Other lengths are checked when the compiled function runs.

    See Also
    --------
    vmap : with the dimension of the batch anywhere.
    vectorize_graph : of an expression that there is already.

    Examples
    --------
    >>> import theano.tensor as T
    >>> projected = T.vectorize(lambda v, w: v * T.dot(v, w) / T.dot(v, v), "(n),(n)->(n)")
    >>> v, ws = T.dvector("v"), T.dmatrix("ws")
    >>> projected(v, ws).eval({v: [1.0, 0.0], ws: [[2.0, 3.0], [4.0, 5.0]]}).tolist()
    [[2.0, 0.0], [4.0, 0.0]]
    """
    parsed = None if signature is None else parse_signature(signature)

    @functools.wraps(fn, updated=())
    def vectorized(*arguments: Any, **options: Any) -> Any:
        tensors = [as_tensor_variable(a) for a in arguments]
        cores = _cores_of(parsed, len(tensors))
        lengths = None if parsed is None else Lengths(parsed)
        if lengths is not None:
            tensors = lengths.checked(tensors, cores)
        entries = [
            entry_of(x, tensor_type(x.type.dtype, core_shape(x, len(core))))
            for x, core in zip(tensors, cores, strict=True)
        ]
        result = fn(*entries, **options)
        outputs = [as_tensor_variable(v) for v in _as_list(result)]
        if lengths is not None:
            outputs = _checked_results(lengths, outputs)
        ndims = [v.type.ndim for v in outputs]
        batches = vectorize_graph(outputs, dict(zip(entries, tensors, strict=True)))
        fronts = [(x, x.type.ndim - len(core)) for x, core in zip(tensors, cores, strict=True)]
        return _in_form(result, [_over_batch(v, ndim, fronts) for v, ndim in zip(batches, ndims, strict=True)])

    return vectorized


def _cores_of(signature: Signature | None, count: int) -> Sequence[tuple[str | int, ...]]:
    if signature is None:
        return [()] * count
    if len(signature.inputs) != count:
        raise BatchError(
            format_error(
                f"{count} arguments for the signature {signature.text}, which has {len(signature.inputs)}",
                hint="pass all that are stacked by position, options by name",
            )
        )
    return signature.inputs


def _checked_results(lengths: Lengths, outputs: list[Tensor]) -> list[Tensor]:
    signature = lengths.signature
    ndims = [len(core) for core in signature.outputs]
    if [v.type.ndim for v in outputs] != ndims:
        raise BatchError(
            format_error(
                f"the function returned tensors of {', '.join(str(v.type.ndim) for v in outputs)} dimensions, the "
                f"signature {signature.text} says {', '.join(map(str, ndims))}",
                context=[describe(v) for v in outputs],
                hint="change the signature or the function",
            )
        )
    return lengths.checked(outputs, signature.outputs)


def _over_batch(value: Tensor, core: int, fronts: Sequence[tuple[Tensor, int]]) -> Tensor:
    """Return a result with all dimensions of the batch, repeated where it does not depend on one."""
    depth = max((ndim for _, ndim in fronts), default=0)
    missing = depth - (value.type.ndim - core)
    full = dimshuffle(value, ["x"] * missing + list(range(value.type.ndim))) if missing else value
    lengths: list[Any] = []
    repeats = False
    for axis_of_batch in range(depth):
        sources = [(x, axis_of_batch - depth + ndim) for x, ndim in fronts if axis_of_batch - depth + ndim >= 0]
        wide = [(x, axis) for x, axis in sources if x.type.shape[axis] != 1]
        static = [n for n in (x.type.shape[axis] for x, axis in wide) if n is not None]
        repeats |= bool(wide) and full.type.shape[axis_of_batch] == 1
        lengths.append(static[0] if static else shape_i(*wide[0]) if wide else 1)
    return alloc(full, *lengths, *lengths_of(full)[depth:]) if repeats else full


def vmap(fn: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0) -> Callable[..., Any]:
    """Return a function that applies `fn` to each entry along a dimension of its arguments, as ``jax.vmap`` does.

    Parameters
    ----------
    fn : callable
        Takes tensor variables, those of one entry, and returns a variable, or a list or tuple of them.
    in_axes : int or None, or sequence of these
        The dimension of the arguments that numbers the entries; None for an argument that is the same for all. A
        sequence has one for each argument.
    out_axes : int or None, or sequence of these
        Where that dimension is in the results; None for a result that does not depend on the entry.

    Returns
    -------
    callable
        Keyword arguments are handed to `fn` as they are.

    Raises
    ------
    BatchError
        When the function is called: if a dimension does not exist, no argument is mapped, lengths are known and
        differ, or a result depends on the entry that `out_axes` says not to.

    See Also
    --------
    vectorize : for any number of dimensions in front, which broadcast.

    Examples
    --------
    >>> import theano.tensor as T
    >>> matrix, columns = T.dmatrix("matrix"), T.dmatrix("columns")
    >>> products = T.vmap(T.dot, in_axes=(None, 1), out_axes=1)(matrix, columns)
    >>> products.eval({matrix: [[1.0, 2.0]], columns: [[1.0, 0.0], [0.0, 1.0]]}).tolist()
    [[1.0, 2.0]]
    """

    @functools.wraps(fn, updated=())
    def mapped(*arguments: Any, **options: Any) -> Any:
        tensors = [as_tensor_variable(a) for a in arguments]
        axes = _axes("in_axes", in_axes, len(tensors))
        stacks = _one_length(
            [
                x if axis is None else moveaxis(x, _axis(x, axis, "in_axes"), 0)
                for x, axis in zip(tensors, axes, strict=True)
            ],
            axes,
        )
        batches: dict[Tensor, Tensor] = {}
        entries = []
        for stack, axis in zip(stacks, axes, strict=True):
            if axis is None:
                entries.append(stack)
                continue
            entry = entry_of(stack, tensor_type(stack.type.dtype, stack.type.shape[1:]))
            batches[entry] = stack
            entries.append(entry)
        result = fn(*entries, **options)
        outputs = [as_tensor_variable(v) for v in _as_list(result)]
        first = next(iter(batches.values()))
        results = []
        for output, value, axis in zip(
            outputs, vectorize_graph(outputs, batches), _axes("out_axes", out_axes, len(outputs)), strict=True
        ):
            depends = value.type.ndim > output.type.ndim
            if axis is None:
                if depends:
                    raise _depends(output)
                results.append(value)
                continue
            static = first.type.shape[0]
            length = shape_i(first, 0) if static is None else static
            stacked = value if depends else alloc(value, length, *lengths_of(value))
            results.append(moveaxis(stacked, 0, _axis(stacked, axis, "out_axes")))
        return _in_form(result, results)

    return mapped


def _axes(name: str, axes: Axes, count: int) -> list[int | None]:
    if axes is None or isinstance(axes, int):
        listed: list[int | None] = [axes] * count
    else:
        listed = list(axes)
    if len(listed) != count:
        raise BatchError(
            format_error(
                f"{name} has {len(listed)} entries for {count} tensors", hint="give one for each, or one for all"
            )
        )
    if name == "in_axes" and all(axis is None for axis in listed):
        raise BatchError(
            format_error("vmap: in_axes maps no argument", hint="give a dimension for one argument at least")
        )
    return listed


def _axis(x: Tensor, axis: int, name: str) -> int:
    ndim = x.type.ndim
    if not -ndim <= axis < ndim:
        raise BatchError(
            format_error(
                f"{name}: there is no dimension {axis} of {ndim}",
                context=[describe(x)],
                hint=f"use a dimension from {-ndim} to {ndim - 1}" if ndim else "use None for scalars",
            )
        )
    return axis % ndim


def _one_length(stacks: Sequence[Tensor], axes: Sequence[int | None]) -> list[Tensor]:
    """Return stacks; all mapped ones have one length, nothing broadcasts."""
    mapped = [x for x, axis in zip(stacks, axes, strict=True) if axis is not None]
    measured = [x for x in mapped if x.type.shape[0] is not None]
    lengths = {n for n in (x.type.shape[0] for x in measured) if n is not None}
    if len(lengths) > 1:
        raise BatchError(
            format_error(
                f"vmap: the arguments have {' and '.join(map(str, sorted(lengths)))} entries",
                context=[describe(x) for x in measured],
                hint="map dimensions of one length, and use None for an argument that is the same for all",
            )
        )
    source = measured[0] if measured else mapped[0]
    length: Any = lengths.pop() if lengths else shape_i(source, 0)

    def checked(x: Tensor, axis: int | None) -> Tensor:
        if axis is None or x is source or x.type.shape[0] is not None:
            return x
        return specify_shape(x, [length, *[None] * (x.type.ndim - 1)])

    return [checked(x, axis) for x, axis in zip(stacks, axes, strict=True)]


def _depends(output: Variable) -> BatchError:
    return BatchError(
        format_error(
            "vmap: out_axes is None for a result that depends on the entry",
            context=[describe(output)],
            hint="give the dimension of the entries in the result",
        )
    )


def _as_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _in_form(result: Any, values: list[Tensor]) -> Any:
    """Return values in the form of the result of a function: alone, in a list or in a tuple."""
    if not isinstance(result, (list, tuple)):
        return values[0]
    return tuple(values) if isinstance(result, tuple) else values
