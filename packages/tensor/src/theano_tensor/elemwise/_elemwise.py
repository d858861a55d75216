"""Scalar ops on each element of tensors, with broadcasting."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Self

import numpy as np

from theano_graph import (
    Apply,
    Op,
    Variable,
    batch_rule,
    config,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
)
from theano_linker_c.kernels import ElementwiseKernel, Kernel, native_kernel
from theano_linker_c.program import overwriting_form
from theano_linker_c.scalar import ComplexError, Composite, Expm1, Pow, ScalarOp, Sqr, transfer_type

from .._core._convert import as_tensor_variable
from .._core._dtypes import COMPLEX_DTYPES, DISCRETE_DTYPES, FLOAT_DTYPES, TensorLike
from .._core._type import Tensor, TensorConstant, TensorType, tensor_type
from .._errors import ShapeError
from .._protocols._methods import call
from ._derivatives import SLOPES, divided_slope, lifted_pullback, lifted_pushforward, stable_slope
from ._dimshuffle import DimShuffle, broadcast_static, check_broadcast, dimshuffle, refused_broadcast
from ._signature import SignatureOf, wrong_keywords


class Elemwise(Op):
    """Apply a scalar op to each element.

    Inputs with fewer dimensions get dimensions of length 1 on the left. A dimension broadcasts if its static length
    is 1; a length
    that is known at run time only does not, so 1 against n is an error there (NumPy would broadcast it).

    Parameters
    ----------
    scalar_op : ScalarOp
        Says the dtypes of the results, the value, the C form and the gradient.
    inplace_pattern : mapping of int to int, optional
        For the number of an output, that of the input whose memory it overwrites. The runtime reuses memory by itself
        where nobody sees it, and then shows such an op in the compiled graph.
    name : str, optional
        Name for printing.
    nfunc_spec : tuple of (str, int, int), optional
        Name, number of inputs and number of outputs of a NumPy function that does the same. It is kept for programs
        that ask; values are computed by the scalar op.
    openmp : bool, optional
        Kept for programs that ask; the flags ``openmp`` and ``openmp_elemwise_minsize`` decide for all loops.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> str(T.Elemwise(theano.scalar.add)(T.dmatrix("x"), T.dvector("v")).owner.op)
    'Elemwise{add,no_inplace}'
    >>> T.Elemwise(theano.scalar.add, {0: 1}).destroy_map
    {0: [1]}
    """

    __props__ = ("scalar_op", "inplace_pattern")
    __signature__ = SignatureOf()

    def __init__(
        self,
        scalar_op: ScalarOp,
        inplace_pattern: Mapping[int, int] | None = None,
        name: str | None = None,
        nfunc_spec: object = None,
        openmp: bool | None = None,
    ) -> None:
        if not isinstance(scalar_op, ScalarOp):
            raise TypeError(
                format_error(
                    f"Elemwise: {scalar_op!r} is no scalar op", hint="pass an op of theano.scalar, such as scalar.add"
                )
            )
        self.scalar_op = scalar_op
        self.inplace_pattern = _checked_pattern(scalar_op, inplace_pattern or {})
        self.destroy_map = {output: [input_index] for output, input_index in self.inplace_pattern.items()}
        self.label = name
        self.nfunc_spec = nfunc_spec
        self.openmp = openmp
        self._compared = _of_overwritten_dtype(scalar_op, self.inplace_pattern)
        self._hash = hash((Elemwise, self._compared, tuple(self.inplace_pattern.items())))
        # Types of the inputs -> those of the outputs: a graph applies an op to the same types again and again.
        self._output_types: dict[tuple[Hashable, ...], list[TensorType]] = {}

    @property
    def name(self) -> str:
        """The name that is printed: the one given, else made of the scalar op."""
        return str(self)

    @name.setter
    def name(self, name: str | None) -> None:
        self.label = name

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(self) is type(other)
            and isinstance(other, Elemwise)
            and self._compared == other._compared
            and self.inplace_pattern == other.inplace_pattern
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        # The kept hash holds for one process only, so a pickle builds the op anew.
        return type(self), (self.scalar_op, self.inplace_pattern, self.label, self.nfunc_spec, self.openmp)

    def make_node(self, *inputs: TensorLike) -> Apply[Self, Tensor]:
        """Apply to tensors.

        Static lengths that differ, where neither is 1, are an error when the node runs: a branch that is never taken
        may contain such a node.

        Raises
        ------
        TypeError
            If the number of inputs or a dtype does not fit the scalar op.
        """
        operands = [as_tensor_variable(x) for x in inputs]
        padded = _same_ndim(operands)
        key: tuple[Hashable, ...] = tuple([x.type.exact for x in padded])
        if self.scalar_op.follows_floatx:
            key = (config.floatX, *key)
        types = self._output_types.get(key)
        if types is None:
            dtypes = self._result_dtypes(operands)
            try:
                shape = broadcast_static(self.scalar_op, padded, operands)
            except ShapeError as error:
                return refused_broadcast(error, padded, dtypes)
            types = self._output_types[key] = [tensor_type(dtype, shape) for dtype in dtypes]
        outputs = [t.make_variable() for t in types]
        for output, overwritten in self.inplace_pattern.items():
            _check_inplace(self, outputs[output], padded[overwritten])
        return Apply(self, padded, outputs)

    def get_output_info(
        self, dim_shuffle: type[DimShuffle], *inputs: Any
    ) -> tuple[list[str], list[tuple[bool, ...]], list[Tensor]]:
        """Return dtypes and broadcast patterns of the outputs, and the inputs with equal numbers of dimensions.

        Parameters
        ----------
        dim_shuffle : callable
            Makes the op that inserts dimensions: `DimShuffle`, or one with the same arguments.
        *inputs : tensor_like
        """
        operands = [as_tensor_variable(x) for x in inputs]
        dtypes = list(self._result_dtypes(operands))
        padded = _same_ndim(operands, dim_shuffle)
        shape = broadcast_static(self.scalar_op, padded, operands)
        return dtypes, [tuple(length == 1 for length in shape)] * len(dtypes), padded

    def python_constant_folding(self, node: Apply[Self, Tensor]) -> bool:
        """Say whether constants are folded without compiling C code: always, one element costs less than a compiler."""
        return True

    def _result_dtypes(self, inputs: Sequence[Tensor]) -> tuple[str, ...]:
        nin = self.scalar_op.nin
        if nin is not None and nin >= 0 and len(inputs) != nin:
            raise TypeError(
                format_error(
                    f"{self.scalar_op.name} takes {nin} argument{'s' * (nin != 1)}, got {len(inputs)}",
                    context=[describe(x) for x in inputs],
                )
            )
        try:
            return self.scalar_op.result_dtypes(*(x.type.dtype for x in inputs))
        except TypeError as error:
            first, *details = str(error).split("\n  Hint: ")
            hint = details[0] if details else "convert the operands with T.cast"
            kind = ComplexError if isinstance(error, ComplexError) else TypeError
            raise kind(format_error(first, context=[describe(x) for x in inputs], hint=hint)) from error

    def __call__(self, *inputs: TensorLike, **kwargs: Any) -> Tensor:
        """Return the result on tensors (for scalar ops with several results: the list of them)."""
        if kwargs and type(self).make_node is Elemwise.make_node:
            unknown = kwargs.keys() - {"name", "return_list"}
            if unknown:
                raise wrong_keywords(self, unknown)
        result: Tensor = super().__call__(*inputs, **kwargs)
        return result

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute with NumPy, after the check of lengths."""
        shape = check_broadcast([x.shape for x in inputs], [x.type.broadcastable for x in node.inputs])
        with np.errstate(all="ignore"):
            results = self.scalar_op.evaluate(*inputs)
        if len(node.outputs) == 1:
            results = (results,)
        outcomes: list[Any] = []
        for k, (output, result) in enumerate(zip(node.outputs, results, strict=True)):
            array = np.asarray(result, dtype=output.type.dtype)
            if array.shape != shape:
                array = np.array(np.broadcast_to(array, shape))
            elif array.base is not None or any(array is x for x in (*inputs, *outcomes)):
                # Equal results of a fused op, too, are arrays of their own: a later op may overwrite one of them.
                array = array.copy() if k not in self.inplace_pattern or len(results) > 1 else array
            outcomes.append(array)
        for k, (array, storage) in enumerate(zip(outcomes, output_storage, strict=True)):
            if k in self.inplace_pattern:
                storage[0] = inputs[self.inplace_pattern[k]]
                storage[0][...] = array
            else:
                storage[0] = array

    def __str__(self) -> str:
        if self.label is not None:
            return self.label
        fused = isinstance(self.scalar_op, Composite)
        if self.inplace_pattern:
            return f"Elemwise{{{_class_name(self.scalar_op)}}}{list(self.inplace_pattern.items())}"
        return f"Elemwise{{{self.scalar_op}}}" if fused else f"Elemwise{{{self.scalar_op},no_inplace}}"


def _class_name(scalar_op: ScalarOp) -> str:
    """Return the text of in-place forms: the class of an op without parameters, as in Theano 1.0."""
    return str(scalar_op) if isinstance(scalar_op, Composite) or scalar_op.__props__ else type(scalar_op).__name__


def _of_overwritten_dtype(scalar_op: ScalarOp, pattern: Mapping[int, int]) -> ScalarOp:
    """Return the op without a preference for the dtypes of overwritten operands: only these have room for results."""
    preference = scalar_op.output_types_preference
    if pattern and isinstance(preference, transfer_type) and dict(enumerate(preference.transfer)) == pattern:
        return scalar_op.usual
    return scalar_op


def _checked_pattern(scalar_op: ScalarOp, pattern: Mapping[int, int]) -> dict[int, int]:
    if not isinstance(pattern, Mapping):
        raise TypeError(
            format_error(
                f"Elemwise: {pattern!r} is no in-place pattern",
                hint="pass a dict from outputs to inputs, such as {0: 0}",
            )
        )
    for output, input_index in pattern.items():
        inside = (
            0 <= output < scalar_op.nout and input_index >= 0 and (scalar_op.nin < 0 or input_index < scalar_op.nin)
        )
        if not inside or list(pattern.values()).count(input_index) > 1:
            raise ValueError(
                format_error(
                    f"Elemwise: output {output} cannot overwrite input {input_index} of {scalar_op}",
                    hint="name each output and each input of the op once at most",
                )
            )
    return {int(output): int(given) for output, given in sorted(pattern.items())}


def _check_inplace(op: Elemwise, output: Tensor, given: Tensor) -> None:
    if output.type.dtype != given.type.dtype:
        raise TypeError(
            format_error(
                f"{op}: a result of dtype {output.type.dtype} cannot overwrite an input of dtype {given.type.dtype}",
                context=[describe(given)],
                hint="cast the inputs, or use the op that does not overwrite",
            )
        )
    if output.type.broadcastable != given.type.broadcastable:
        raise ShapeError(
            format_error(
                f"{op}: a result of shape {output.type.shape} cannot overwrite an input of shape {given.type.shape}",
                context=[describe(given)],
                hint="use the op that does not overwrite: this input is broadcast",
            )
        )


def _same_ndim(given: Sequence[Tensor], dim_shuffle: type[DimShuffle] = DimShuffle) -> list[Tensor]:
    """Insert dimensions of length 1 on the left where inputs have fewer dimensions than others."""
    ndims = [len(x.type.shape) for x in given]
    ndim = max(ndims, default=0)
    if ndims.count(ndim) == len(ndims):
        return list(given)
    padded = []
    for x in given:
        have = x.type.ndim
        order = ["x"] * (ndim - have) + list(range(have))
        if have == ndim:
            padded.append(x)
        elif dim_shuffle is DimShuffle:
            padded.append(dimshuffle(x, order))
        else:
            padded.append(dim_shuffle(x.type.broadcastable, order)(x))
    return padded


@lru_cache(maxsize=1024)
def _plain(scalar_op: ScalarOp) -> Elemwise:
    return Elemwise(scalar_op)


@lru_cache(maxsize=1024)
def _in_place(op: Elemwise, given: int) -> Elemwise:
    return type(op)(op.scalar_op, {0: given})


@overwriting_form.register(Elemwise)
def _overwriting(op: Op, given: int) -> Op | None:
    return _in_place(op, given) if type(op) is Elemwise else None


def elemwise(scalar_op: ScalarOp, inputs: Sequence[Any]) -> Sequence[Tensor]:
    """Return all outputs of a scalar op lifted to tensors."""
    op: Any = _plain(scalar_op)
    outputs: Sequence[Tensor] = op(*inputs, return_list=True)
    return outputs


def unbroadcast(value: Tensor, like: Tensor) -> Tensor:
    """Sum `value` over the dimensions in which `like` was broadcast; broadcast it where it is smaller than `like`."""
    axes = [i for i, (v, x) in enumerate(zip(value.type.shape, like.type.shape, strict=True)) if x == 1 and v != 1]
    if axes:
        value = call("sum", value, axis=axes, keepdims=True)
    if any(v == 1 and x != 1 for v, x in zip(value.type.shape, like.type.shape, strict=True)):
        value = call("second", like, value)
    return value


@pullback.register(Elemwise)
def _pullback(node: Apply[Elemwise, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    parts = partials(node.op.scalar_op, node.inputs, node.outputs, cotangents)
    return [_cotangent(node, i, part) for i, part in enumerate(parts)]


def partials(
    scalar_op: ScalarOp, inputs: Sequence[Tensor], outputs: Sequence[Tensor], cotangents: Sequence[Variable]
) -> list[Tensor | str | None]:
    """Return the cotangents of the inputs of a scalar op, not yet summed over dimensions that broadcast.

    A text says why there is no derivative, None that nothing is connected.
    """
    first = cotangents[0]
    if isinstance(first, Tensor):
        if isinstance(scalar_op, Pow):
            factor = _constant_power(scalar_op, inputs, outputs[0], first)
            if factor is not None:
                return factor
        if type(scalar_op) in SLOPES:
            stable = stable_slope(scalar_op, inputs[0], outputs[0], first)
            if stable is not None:
                return [stable]
        if isinstance(scalar_op, (Sqr, Expm1)):
            exponent = 2 if isinstance(scalar_op, Sqr) else None
            divided = divided_slope(scalar_op, inputs[0], exponent, outputs[0], first)
            if divided is not None:
                return [divided]
    # An output that the cost does not depend on has no cotangent.
    cotangents_of_outputs = [g if isinstance(g, Tensor) else _zero(outputs[0].type.ndim) for g in cotangents]
    values: list[Tensor] = [*inputs, *outputs, *cotangents_of_outputs]
    dtypes = [v.type.dtype for v in values]
    rule = lifted_pullback(scalar_op, tuple(dtypes[: len(inputs)]), tuple(dtypes[len(inputs) + len(outputs) :]))
    return rule.apply(values, outputs[0].type.ndim, elemwise)


def _constant_power(
    scalar_op: ScalarOp, inputs: Sequence[Tensor], output: Tensor, g: Tensor
) -> list[Tensor | str | None] | None:
    """Differentiate a real power whose exponent is a constant, zero or without zeros: there are no cases."""
    x, y = inputs
    source = y.owner.inputs[0] if y.owner is not None and isinstance(y.owner.op, DimShuffle) else y
    if not isinstance(source, TensorConstant) or x.type.dtype not in FLOAT_DTYPES or y.type.dtype in COMPLEX_DTYPES:
        return None
    if not np.any(source.data):
        by_x: Tensor | None = output.zeros_like()
    elif np.all(source.data):
        by_x = divided_slope(scalar_op, x, y, output, g)
    else:
        return None
    if by_x is None:
        by_x = (g * y) * x ** (y - 1)
    by_y = g * call("switch", call("eq", x, 0), 0, call("log", x) * output)
    return [by_x, by_y]


def _cotangent(node: Apply, i: int, result: Tensor | str | None) -> Variable | None:
    """Return a result of a scalar rule as a cotangent; a text says why there is none."""
    if isinstance(result, str):
        undefined: Variable = call("grad_undefined", node.op, i, node.inputs[i], result)
        return undefined
    return None if result is None else unbroadcast(result, node.inputs[i])


@pushforward.register(Elemwise)
def _pushforward(node: Apply[Elemwise, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    ndim = node.outputs[0].type.ndim
    present = [as_tensor_variable(t) for t in tangents if t is not None]
    if not present:
        return [None] * len(node.outputs)
    op = node.op.scalar_op
    dtypes = tuple(x.type.dtype for x in node.inputs)
    given = tuple(None if t is None else as_tensor_variable(t).type.dtype for t in tangents)
    rule = lifted_pushforward(op, dtypes, given)
    if rule is not None:
        results = rule.apply([*node.inputs, *node.outputs, *present], ndim, elemwise)
        return [_tangent(node, r) for r in results]
    return [_derived(node, k, tangents) for k in range(len(node.outputs))]


def _derived(node: Apply, k: int, tangents: list[Variable | None]) -> Variable | None:
    """Return the tangent of output `k`.

    The Jacobian is diagonal, so the pullback of a tangent is its pushforward too.
    """
    if node.outputs[k].type.dtype in DISCRETE_DTYPES:
        return None
    op, ndim = node.op.scalar_op, node.outputs[0].type.ndim
    dtypes = tuple(x.type.dtype for x in node.inputs)
    total: Any = None
    for i, tangent in enumerate(tangents):
        if tangent is None:
            continue
        directions = [as_tensor_variable(tangent) if j == k else _zero(ndim) for j in range(len(node.outputs))]
        rule = lifted_pullback(op, dtypes, tuple(d.type.dtype for d in directions))
        part = rule.apply([*node.inputs, *node.outputs, *directions], ndim, elemwise)[i]
        if isinstance(part, str):
            return _tangent(node, part)
        if part is not None:
            total = part if total is None else total + part
    return None if total is None else _broadcast_to_result(total, node.outputs[k])


def _tangent(node: Apply, result: Tensor | str | None) -> Variable | None:
    if isinstance(result, str):
        undefined: Variable = call("grad_undefined", node.op, 0, node.inputs[0], result)
        return undefined
    return None if result is None else _broadcast_to_result(result, node.outputs[0])


def _zero(ndim: int) -> Tensor:
    return as_tensor_variable(np.zeros((1,) * ndim, dtype="float32"))


def _broadcast_to_result(value: Tensor, like: Tensor) -> Tensor:
    if any(v == 1 and x != 1 for v, x in zip(value.type.shape, like.type.shape, strict=True)):
        broadcasted: Tensor = call("second", like, value)
        return broadcasted
    return value


@batch_rule.register(Elemwise)
def _batch(node: Apply[Elemwise, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> Sequence[Variable]:
    """Inputs have equal numbers of dimensions, so that one that is not stacked broadcasts from the left."""
    op = node.op
    # A result with more dimensions than the overwritten input does not fit into it.
    plain = op if not op.inplace_pattern else _plain(op._compared)
    results: Any = plain(*inputs, return_list=True)
    return list(results)


@batch_rule.register(ScalarOp)
def _batch_of_numbers(node: Apply[ScalarOp], inputs: list[Any], stacked: Sequence[bool]) -> Sequence[Variable]:
    """A batch of numbers is a vector."""
    results: Any = _plain(node.op)(*inputs, return_list=True)
    return list(results)


@shape_rule.register(Elemwise)
def _shape(node: Apply[Elemwise, Tensor], input_shapes: list[Any]) -> list[Any]:
    shape = []
    for axis, static in enumerate(node.outputs[0].type.shape):
        if static is not None:
            shape.append(static)
            continue
        # The first dimension that does not broadcast decides; they are all equal, or running the node is an error.
        shape.append(next(s[axis] for s, x in zip(input_shapes, node.inputs, strict=True) if x.type.shape[axis] != 1))
    return [tuple(shape)] * len(node.outputs)


@native_kernel.register(Elemwise)
def _native(node: Apply[Elemwise, Tensor]) -> Kernel | None:
    if not node.inputs:
        return None
    op = node.op.scalar_op
    dtypes = tuple(x.type.dtype for x in node.inputs)
    return ElementwiseKernel(
        scalar_op=op,
        input_dtypes=dtypes,
        output_dtypes=tuple(y.type.dtype for y in node.outputs),
        broadcast=tuple(x.type.broadcastable for x in node.inputs),
        ndim=node.outputs[0].type.ndim,
    )
