"""Scalar ops as users write them: one number at a time in Python, lines of C, a preference for the type of results."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from theano_graph import Apply, compose

from ._cvalue import CValue, NoNativeForm, c_type
from ._dtypes import is_complex, is_discrete, upcast
from ._op import ScalarOp, ScalarTypeError, dtype_name, quiet
from ._type import ScalarType

TypePreference = Callable[..., Sequence[ScalarType]]

_FAIL = "theano_scalar_fail"
_PYTHON = re.compile(r"\bPy[A-Z_]")
_CPLUSPLUS = re.compile(r"\bstd::|\btemplate\s*<|_cast\s*<|#include\s*<\w+>")
_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMPY_TYPES = "\n".join(
    f"typedef {c} npy_{dtype};"
    for dtype, c in {
        "bool": "uint8_t",
        **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
        "float32": "float",
        "float64": "double",
    }.items()
)


class UserScalarOp(ScalarOp):
    """Base of scalar ops that work on one number at a time.

    Parameters
    ----------
    output_types_preference : callable, optional
        Takes the `ScalarType` of each input, returns those of the outputs: `upcast_out` (the default),
        `upgrade_to_float`, `same_out`, ``transfer_type(0)``, ...
    name : str, optional
        Name for printing; that of the class by default.

    Notes
    -----
    A subclass defines at least one of

    - ``impl(self, *numbers)``, which is called for each element unless ``nfunc_spec`` names a NumPy function; it gets
      floats as NumPy scalars and integers as Python's;
    - ``c_code(self, node, name, inputs, outputs, sub)``, statements in C that set the outputs from the inputs. They
      become part of the loops that also hold the ops around. C++, code that refers to Python or to ``sub["fail"]``, and
      float16 and complex numbers are left to `impl`; so is an op that needs libraries or arguments of the compiler.

    and maybe ``grad(self, inputs, output_gradients)`` (or ``L_op``), which returns scalar expressions, and
    ``c_support_code`` and ``c_headers``.

    Examples
    --------
    >>> class Triple(UnaryScalarOp):
    ...     def impl(self, x):
    ...         return 3 * x
    >>> float(Triple(upgrade_to_float).evaluate(np.float64(2.0)))
    6.0
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("output_types_preference",)
    output_types_preference: Any = None
    #: ``(name, nin, nout)`` of a NumPy function that does the same on arrays.
    nfunc_spec: Any = None
    cost = 20

    def __init__(self, output_types_preference: TypePreference | None = None, name: str | None = None) -> None:
        if output_types_preference is not None:
            if not callable(output_types_preference):
                raise ScalarTypeError(
                    compose(
                        f"{type(self).__name__}: {output_types_preference!r} is no preference for the type of results",
                        mend="pass a function from types to types, such as upgrade_to_float",
                    )
                )
            self.output_types_preference = output_types_preference
        self.name = name or type(self).name or type(self).__name__

    def __str__(self) -> str:
        return self.name or type(self).__name__

    def output_types(self, types: Sequence[ScalarType]) -> Sequence[ScalarType]:
        """Return the types of the outputs for inputs of `types`."""
        return (self.output_types_preference or upcast_out)(*types)

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """Follow the preference."""
        self.check_count(len(dtypes))
        found = tuple(t.dtype for t in self.output_types([ScalarType(dtype) for dtype in dtypes]))
        if len(found) != self.nout:
            raise self.refuse(dtypes, f"{len(found)} output types for {self.nout} outputs", "return one for each")
        return found

    @quiet
    def evaluate(self, *values: Any) -> Any:
        """Run the NumPy function of ``nfunc_spec``, or `impl` on each element."""
        dtypes = self.result_dtypes(*map(dtype_name, values))
        function = _numpy_function(self.nfunc_spec, len(values), self.nout)
        if function is not None:
            found = function(*values)
            parts = found if self.nout > 1 else (found,)
            results = [np.asarray(part).astype(dtype)[()] for part, dtype in zip(parts, dtypes, strict=True)]
        else:
            results = self._each(values, dtypes)
        return tuple(results) if self.nout > 1 else results[0]

    def _each(self, values: Sequence[Any], dtypes: Sequence[str]) -> list[Any]:
        arrays = np.broadcast_arrays(*values)
        # NumPy takes functions of small integers in half precision; of Python's numbers in double, like C.
        arrays = tuple(a.astype(object) if a.dtype.kind in "biu" else a for a in arrays)
        results = [np.empty(arrays[0].shape, dtype) for dtype in dtypes]
        for index in np.ndindex(*arrays[0].shape):
            found = self.impl(*(array[index] for array in arrays))
            for result, part in zip(results, found if self.nout > 1 else (found,), strict=True):
                result[index] = part
        return [result[()] for result in results]

    def c_statements(self, args: Sequence[CValue], names: Sequence[str]) -> list[str]:
        """Put the op's C code into a block of its own."""
        node = self._node([arg.dtype for arg in args])
        statements, given = [], []
        for i, arg in enumerate(args):
            text = arg.text
            if not _NAME.fullmatch(text):
                text = f"{names[0]}_{i}"
                statements.append(f"const {c_type(arg.dtype)} {text} = {arg.text};")
            given.append(text)
        statements += [f"{c_type(v.type.dtype)} {name};" for v, name in zip(node.outputs, names, strict=True)]
        return [*statements, f"{{ {self._code(node, names[0], given, list(names))} }}"]

    def c_preamble(self, dtypes: Sequence[str]) -> tuple[str, ...]:
        """Give headers and support code."""
        node = self._node(dtypes)
        code = self._code(node, "n", [f"i{i}" for i in range(len(dtypes))], [f"o{i}" for i in range(self.nout)])
        support = [*_listed(_ask(self, "c_support_code")), *_listed(_ask(self, "c_support_code_apply", node, "n"))]
        headers = ["<math.h>", *_listed(_ask(self, "c_headers"))]
        includes = [f"#include {h if h[:1] in '<' + chr(34) else f'<{h}>'}" for h in headers]
        types = [_NUMPY_TYPES] if "npy_" in "\n".join([code, *support]) else []
        _check_plain(self, "\n".join([*includes, *support]))
        return (*types, *includes, *support)

    def _node(self, dtypes: Sequence[str]) -> Apply:
        node = self.make_node(*(ScalarType(dtype).make_variable() for dtype in dtypes))
        kinds = [v.type.dtype for v in (*node.inputs, *node.outputs)]
        if any(is_complex(kind) or kind == "float16" for kind in kinds):
            raise NoNativeForm(f"the C code of {self} is for real numbers of 32 and 64 bits")
        return node

    def _code(self, node: Apply, name: str, inputs: list[str], outputs: list[str]) -> str:
        method = getattr(self, "c_code", None)
        if method is None or any(_ask(self, part) for part in _BEYOND):
            raise NoNativeForm(f"{self} has no C code that can be part of a loop")
        try:
            code = str(method(node, name, inputs, outputs, {"fail": f"{_FAIL};"}))
        except NotImplementedError as error:
            raise NoNativeForm(f"{self} has no C code for these types: {error}") from error
        _check_plain(self, code)
        return code


_BEYOND = ("c_libraries", "c_lib_dirs", "c_header_dirs", "c_compile_args", "c_no_compile_args", "c_init_code")


class UnaryScalarOp(UserScalarOp):
    """Base of users' ops of one number; see `UserScalarOp`."""

    nin = 1


class BinaryScalarOp(UserScalarOp):
    """Base of users' ops of two numbers; see `UserScalarOp`."""

    nin = 2


def _check_plain(op: ScalarOp, code: str) -> None:
    """Raise where code cannot be part of a loop in plain C that knows nothing of Python."""
    if _FAIL in code or _PYTHON.search(code):
        raise NoNativeForm(f"the C code of {op} refers to Python")
    if _CPLUSPLUS.search(code):
        raise NoNativeForm(f"the C code of {op} is C++")


def _ask(op: ScalarOp, method: str, *arguments: Any) -> Any:
    """Call a method of the op that says something about its C code; None where it has none."""
    function = getattr(op, method, None)
    try:
        return None if function is None else function(*arguments)
    except NotImplementedError:
        return None


def _listed(text: Any) -> list[str]:
    return [] if not text else [text] if isinstance(text, str) else list(text)


def _numpy_function(spec: Any, nin: int, nout: int) -> Callable[..., Any] | None:
    if spec is None:
        return None
    name, count, results = spec
    found: Callable[..., Any] | None = getattr(np, name, None)
    return found if (count, results) == (nin, nout) else None


def upcast_out(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the common type of the inputs."""
    return (ScalarType(upcast(*(t.dtype for t in types))),)


def upcast_out_nobool(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the common type of the inputs; TypeError where that is bool."""
    (result,) = upcast_out(*types)
    if result.dtype == "bool":
        raise ScalarTypeError(compose("bool is not supported", mend="cast to int8 first"))
    return (result,)


def upcast_out_min8(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the common type of the inputs; int8 for bool."""
    (result,) = upcast_out(*types)
    return (ScalarType("int8"),) if result.dtype == "bool" else (result,)


def same_out(first: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the type of the input."""
    return (first,)


def same_out_nocomplex(first: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the type of the input; TypeError where it is complex."""
    return same_out(_not_complex(first))


def same_out_float_only(first: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the type of the input; TypeError where it is no float."""
    if is_discrete(_not_complex(first).dtype):
        raise ScalarTypeError(compose(f"only floats are supported, not {first.dtype}", mend="cast to a float first"))
    return (first,)


def same_out_min8(first: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the type of the input; int8 for bool."""
    return upcast_out_min8(first)


def upgrade_to_float(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the common type of the inputs, where integers up to 16 bits count as float32 and others as float64."""
    return upcast_out(*(ScalarType(_FLOATS.get(t.dtype, t.dtype)) for t in types))


_FLOATS = {
    **dict.fromkeys(("bool", "int8", "int16", "uint8", "uint16"), "float32"),
    **dict.fromkeys(("int32", "int64", "uint32", "uint64"), "float64"),
}


def upgrade_to_float64(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer float64; complex numbers stay."""
    (result,) = upcast_out(*types)
    return (result,) if is_complex(result.dtype) else (ScalarType("float64"),)


def upgrade_to_float_no_complex(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer a float as `upgrade_to_float`; TypeError for complex numbers."""
    return upgrade_to_float(*map(_not_complex, types))


def _not_complex(given: ScalarType) -> ScalarType:
    if is_complex(given.dtype):
        raise ScalarTypeError(compose("complex numbers are not supported", mend="take the real part first"))
    return given


class transfer_type:  # used as a function, with values that compare
    """Prefer for each output the type of the input of the given number.

    Examples
    --------
    >>> transfer_type(1)(ScalarType("int8"), ScalarType("float32"))
    (Scalar(float32),)
    """

    def __init__(self, *transfer: int) -> None:
        self.transfer = transfer

    def __call__(self, *types: ScalarType) -> tuple[ScalarType, ...]:
        return tuple(types[i] for i in self.transfer)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, transfer_type) and other.transfer == self.transfer

    def __hash__(self) -> int:
        return hash((transfer_type, self.transfer))


class specific_out:  # as above
    """Prefer given types, whatever the inputs.

    Examples
    --------
    >>> specific_out(ScalarType("int8"))(ScalarType("float32"))
    (Scalar(int8),)
    """

    def __init__(self, *spec: ScalarType) -> None:
        self.spec = spec

    def __call__(self, *types: ScalarType) -> tuple[ScalarType, ...]:
        return self.spec

    def __eq__(self, other: object) -> bool:
        return isinstance(other, specific_out) and other.spec == self.spec

    def __hash__(self) -> int:
        return hash((specific_out, self.spec))


class unary_out_lookup:  # as above
    """Prefer the type that a table gives for that of the input.

    Parameters
    ----------
    type_table : mapping of ScalarType to (ScalarType or sequence of ScalarType)
    """

    def __init__(self, type_table: Any) -> None:
        self.type_table = dict(type_table)

    def __call__(self, *types: ScalarType) -> tuple[ScalarType, ...]:
        (given,) = types
        found = self.type_table.get(given)
        if found is None:
            raise ScalarTypeError(
                compose(f"{given} is not supported", mend=f"cast to one of {', '.join(map(str, self.type_table))}")
            )
        return tuple(found) if isinstance(found, (list, tuple)) else (found,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, unary_out_lookup) and other.type_table == self.type_table

    def __hash__(self) -> int:
        return hash((unary_out_lookup, frozenset(self.type_table)))
