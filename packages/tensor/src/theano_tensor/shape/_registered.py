"""C code of the ops on shapes for values of other types than tensors, which the author of a type registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from theano_graph import Apply, Type, Variable
from theano_linker_c.cop import RegisteredCodeOp, TypeCodeTable

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._type import TensorType

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
