"""Which dimensions broadcast; C code of the ops on shapes for values of other types than tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

from theano_graph import Apply, Type, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.cop import RegisteredCodeOp, TypeCodeTable

from .._core._convert import as_tensor_variable
from .._core._dtypes import AxisLike, TensorLike
from .._core._ops import one_axis, refused
from .._core._type import Tensor, TensorType, tensor_type
from .._errors import ShapeError

# ---- C code of the ops on shapes for values of other types than tensors, which the author of a type registers

SHAPE_CODE = TypeCodeTable("Shape")
SHAPE_I_CODE = TypeCodeTable("Shape_i")
SPECIFY_SHAPE_CODE = TypeCodeTable("SpecifyShape")
REBROADCAST_CODE = TypeCodeTable("Rebroadcast")


def is_other(x: TensorLike, table: TypeCodeTable) -> bool:
    """Tell whether `x` is a variable of another type than tensors that has a shape, or registered C code."""
    if not isinstance(x, Variable) or isinstance(x.type, TensorType):
        return False
    return hasattr(x.type, "ndim") or table.get(x.type) is not None


def shaped_operand(x: TensorLike, table: TypeCodeTable) -> Any:
    """Return `x` as the operand of an op on shapes: a variable of a type with a shape as it is, else a tensor."""
    return x if is_other(x, table) else as_tensor_variable(x)


class ShapeCode(RegisteredCodeOp):
    """C code of `ShapeOf`."""

    type_code: ClassVar[TypeCodeTable] = SHAPE_CODE


class ShapeICode(RegisteredCodeOp):
    """C code of `ShapeI`: ``%(i)s`` is the dimension."""

    type_code: ClassVar[TypeCodeTable] = SHAPE_I_CODE
    i: int

    def c_code_names(
        self, node: Apply, inputs: Sequence[str], outputs: Sequence[str], sub: Mapping[str, str]
    ) -> dict[str, str]:
        """Return the names of the base class, and ``i``."""
        return {**super().c_code_names(node, inputs, outputs, sub), "i": str(self.i)}


class RebroadcastCode(RegisteredCodeOp):
    """C code of `Rebroadcast`: a check for each ``%(axis)s`` that is to broadcast; the result is the input itself."""

    type_code: ClassVar[TypeCodeTable] = REBROADCAST_CODE
    pattern: tuple[tuple[int, bool], ...]

    def c_code(
        self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Mapping[str, str]
    ) -> str:
        """Return the checks, and code that hands the object on."""
        code, names = self.type_code_of(node).code, self.c_code_names(node, inputs, outputs, sub)
        checks = "".join(code % {**names, "axis": axis} for axis, flag in self.pattern if flag)
        hand_on = "Py_XDECREF(%(oname)s);\n%(oname)s = %(iname)s;\nPy_XINCREF(%(oname)s);\n"
        return f"{checks}\n{hand_on % names}"


class SpecifyShapeCode(RegisteredCodeOp):
    """C code of `SpecifyShape`: ``%(shape)s`` is the vector of int64 of all lengths."""

    type_code: ClassVar[TypeCodeTable] = SPECIFY_SHAPE_CODE
    axes: tuple[int, ...]

    def c_code(
        self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Mapping[str, str]
    ) -> str:
        """Return code that makes the vector, and the registered code; all lengths must be given."""
        code = self.type_code_of(node)
        if self.axes != tuple(range(len(self.axes))):
            raise NotImplementedError("C code of SpecifyShape wants the whole shape")
        shape = f"theano_shape_{name}"
        stores = "".join(
            f"((npy_int64 *)PyArray_DATA({shape}))[{k}] = (npy_int64)((dtype_{length} *)PyArray_DATA({length}))[0];\n"
            for k, length in enumerate(inputs[1:])
        )
        names = {**self.c_code_names(node, inputs, outputs, sub), "shape": shape, "name": name}
        return f"""
typedef npy_int64 dtype_{shape};
PyArrayObject *{shape};
{{
    npy_intp theano_count[1] = {{{len(self.axes)}}};
    {shape} = (PyArrayObject *)PyArray_SimpleNew(1, theano_count, NPY_INT64);
}}
if ({shape} == NULL)
    {sub["fail"]}
{stores}{code.code % names}
"""

    def c_code_cleanup(
        self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Mapping[str, str]
    ) -> str:
        """Return code that frees the vector."""
        return f"Py_XDECREF((PyObject *)theano_shape_{name});"


def register_shape_c_code(type: type[Type], code: str, version: object = ()) -> None:
    """Say how `Shape` is written in C for values of a type.

    Parameters
    ----------
    type : type
        Class of the type, not an instance.
    code : str
        C code that makes ``%(oname)s`` an array of int64, the shape of ``%(iname)s``; ``%(fail)s`` leaves it with an
        exception set.
    version : int or tuple
        Version of the code; with an empty one it is compiled in every process.

    Raises
    ------
    TypeError
        If `type` is no class of types.
    """
    SHAPE_CODE.register(type, code, version)


def register_shape_i_c_code(typ: type[Type], code: str, check_input: str, version: object = ()) -> None:
    """Say how `Shape_i` is written in C: ``%(oname)s`` becomes the length of dimension ``%(i)s`` of ``%(iname)s``.

    Parameters
    ----------
    typ : type
        Class of the type, not an instance.
    code, check_input : str
        C code; `check_input` comes first and sees to it that the value has such a dimension.
    version : int or tuple

    Raises
    ------
    TypeError
        If `typ` is no class of types.
    """
    SHAPE_I_CODE.register(typ, code, version, check_input)


def register_rebroadcast_c_code(typ: type[Type], code: str, version: object = ()) -> None:
    """Say how `Rebroadcast` checks in C that dimension ``%(axis)s`` of ``%(iname)s`` has length 1.

    Parameters
    ----------
    typ : type
        Class of the type, not an instance. Its values are Python objects in C.
    code : str
        C code of the check; it is put there once for each dimension that is to broadcast.
    version : int or tuple

    Raises
    ------
    TypeError
        If `typ` is no class of types.
    """
    REBROADCAST_CODE.register(typ, code, version)


def register_specify_shape_c_code(
    typ: type[Type], code: str, version: object = (), c_support_code_apply: str | None = None
) -> None:
    """Say how `SpecifyShape` is written in C for values of a type.

    Parameters
    ----------
    typ : type
        Class of the type, not an instance.
    code : str
        C code that compares the shape of ``%(iname)s`` with the vector of int64 ``%(shape)s``, its length included, and
        makes ``%(oname)s`` a view of the value.
    version : int or tuple
    c_support_code_apply : str, optional
        C code for the global scope; ``%(name)s`` is a name that no other node has.

    Raises
    ------
    TypeError
        If `typ` is no class of types.
    """
    SPECIFY_SHAPE_CODE.register(typ, code, version, support_code=c_support_code_apply)


# ---- Which dimensions broadcast: claimed, or taken back


class Rebroadcast(RebroadcastCode):
    """The input itself, with other dimensions that broadcast.

    Parameters
    ----------
    *pattern : pair of (int, bool)
        An axis and whether it broadcasts in the result. A claim is checked when it runs.

    Examples
    --------
    ``Rebroadcast((0, True), (1, False))`` makes axis 0 broadcastable and axis 1 not.
    """

    __props__ = ("pattern",)
    view_map = {0: [0]}

    def __init__(self, *pattern: tuple[int, bool]) -> None:
        self.pattern = tuple(sorted((int(axis), bool(flag)) for axis, flag in pattern))

    def make_node(self, x: TensorLike) -> Apply[Self]:
        """Apply to a tensor; ShapeError if an axis does not exist."""
        variable = shaped_operand(x, REBROADCAST_CODE)
        if not isinstance(variable.type, TensorType):
            return Apply(self, [variable], [variable.type.make_variable()])
        shape = list(variable.type.shape)
        for axis, flag in self.pattern:
            if not 0 <= axis < variable.type.ndim:
                raise ShapeError(format_error(f"Rebroadcast: there is no axis {axis}", context=[describe(variable)]))
            if flag and shape[axis] not in (None, 1):
                error = ShapeError(
                    format_error(
                        f"Rebroadcast: axis {axis} has length {shape[axis]}, not 1", context=[describe(variable)]
                    )
                )
                variable = refused(error, variable, [None if i == axis else n for i, n in enumerate(shape)])
            shape[axis] = 1 if flag else (None if shape[axis] == 1 else shape[axis])
        return Apply(self, [variable], [tensor_type(variable.type.dtype, shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Check and return the input; ValueError if a dimension that is to broadcast is longer than 1."""
        (x,) = inputs
        for axis, flag in self.pattern:
            if flag and x.shape[axis] != 1:
                raise ValueError(
                    format_error(
                        f"Dimension {axis} in Rebroadcast's input was supposed to be 1 (got {x.shape[axis]} instead)",
                        context=[describe(node.inputs[0])],
                        hint="pass an array of length 1 there, or do not make this dimension broadcastable",
                    )
                )
        output_storage[0][0] = x

    def __str__(self) -> str:
        flags = dict(self.pattern)
        places = [str(int(flags[axis])) if axis in flags else "?" for axis in range(max(flags, default=-1) + 1)]
        return f"Rebroadcast{{{','.join(places)}}}"


@pullback.register(Rebroadcast)
def _pullback(node: Apply[Rebroadcast], cotangents: list[Variable]) -> list[Variable | None]:
    return [patternbroadcast(cotangents[0], node.inputs[0].type.broadcastable)]


@pushforward.register(Rebroadcast)
def _pushforward(node: Apply[Rebroadcast], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0])]


@batch_rule.register(Rebroadcast)
def _batch(node: Apply[Rebroadcast], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    return [Rebroadcast(*((axis + 1, flag) for axis, flag in node.op.pattern))(inputs[0])]


@shape_rule.register(Rebroadcast)
def _shape(node: Apply[Rebroadcast], input_shapes: list[Any]) -> list[Any]:
    shape = list(input_shapes[0])
    for axis, flag in node.op.pattern:
        if flag:
            shape[axis] = 1
    return [tuple(shape)]


def _rebroadcast(x: Tensor, flags: Iterable[tuple[int, bool]]) -> Tensor:
    changed = {axis: flag for axis, flag in flags if x.type.broadcastable[axis] != flag}
    if not changed:
        return x
    base = x
    if x.owner is not None and type(x.owner.op) is Rebroadcast:
        # One change in place of several, and none where they undo each other.
        base = as_tensor_variable(x.owner.inputs[0])
        before = dict(x.owner.op.pattern)
        changed = {**before, **changed}
        changed = {axis: flag for axis, flag in changed.items() if base.type.broadcastable[axis] != flag}
    result: Tensor = Rebroadcast(*changed.items())(base) if changed else base
    return result


def _axes(name: str, x: Tensor, axes: Sequence[Any]) -> list[int]:
    """Return axes, given one by one or as sequences of them, as numbers from 0 up."""
    listed = [a for entry in axes for a in (entry if isinstance(entry, (list, tuple)) else (entry,))]
    return [one_axis(name, a, x) for a in listed]


def addbroadcast(x: TensorLike, *axes: AxisLike) -> Tensor:
    """Return `x` with dimensions that broadcast.

    Parameters
    ----------
    x : tensor_like
    *axes : int, or sequence of int

    Raises
    ------
    ShapeError
        If there is no such axis, or its length is known and not 1.
    ValueError
        When it runs, if one of them is longer than 1.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.addbroadcast(T.dmatrix("x"), 0).broadcastable
    (True, False)
    """
    variable = as_tensor_variable(x)
    return _rebroadcast(variable, [(axis, True) for axis in _axes("addbroadcast", variable, axes)])


def unbroadcast(x: TensorLike, *axes: AxisLike) -> Tensor:
    """Return `x` with dimensions that do not broadcast; `axes` as in :func:`addbroadcast`.

    Parameters
    ----------
    x : tensor_like
    *axes : int

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.unbroadcast(T.drow(), 0).broadcastable
    (False, False)
    """
    variable = as_tensor_variable(x)
    return _rebroadcast(variable, [(axis, False) for axis in _axes("unbroadcast", variable, axes)])


def patternbroadcast(x: TensorLike, broadcastable: Iterable[bool]) -> Tensor:
    """Return `x` with the broadcastable pattern given.

    Parameters
    ----------
    x : tensor_like
    broadcastable : sequence of bool
        One entry for each dimension.

    Raises
    ------
    ShapeError
        If the pattern is for another number of dimensions, or contradicts a known length.
    ValueError
        When it runs, if a length does not fit it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.patternbroadcast(T.dmatrix(), (True, False)).broadcastable
    (True, False)
    """
    variable, pattern = as_tensor_variable(x), [bool(flag) for flag in broadcastable]
    # An empty pattern, of a scalar, says nothing of any dimension.
    if pattern and len(pattern) != variable.type.ndim:
        raise ShapeError(
            format_error(
                f"patternbroadcast: a pattern of {len(pattern)} flags for {variable.type.ndim} dimensions",
                context=[describe(variable)],
                hint="give one flag for each dimension",
            )
        )
    return _rebroadcast(variable, enumerate(pattern))
