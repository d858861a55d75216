"""The forms of users' scalar ops: one number at a time in Python, lines of C."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano_graph import Apply

from ._cvalue import CValue, NoNativeForm, c_type
from ._dtypes import is_complex
from ._type import ScalarType

_FAIL = "theano_scalar_fail"
_PYTHON = re.compile(r"\bPy[A-Z_]")
_CPLUSPLUS = re.compile(r"\bstd::|\btemplate\s*<|_cast\s*<|#include\s*<\w+>")
_NUMPY_TYPES = "\n".join(
    f"typedef {c} npy_{dtype};"
    for dtype, c in {
        "bool": "uint8_t",
        **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
        "float32": "float",
        "float64": "double",
    }.items()
)
#: Methods of an op whose C code cannot be part of a loop in plain C.
_BEYOND = ("c_libraries", "c_lib_dirs", "c_header_dirs", "c_compile_args", "c_no_compile_args", "c_init_code")


def number_by_number(op: Any, values: Sequence[Any], dtypes: Sequence[str]) -> Any:
    """Compute a user's op elementwise: with the NumPy function of its ``nfunc_spec``, or its `impl` on each element."""
    function = _numpy_function(op.nfunc_spec, len(values), op.nout)
    if function is not None:
        result = function(*values)
        parts = result if op.nout > 1 else (result,)
        results = [np.asarray(part).astype(dtype)[()] for part, dtype in zip(parts, dtypes, strict=True)]
    else:
        results = _each(op, values, dtypes)
    return tuple(results) if op.nout > 1 else results[0]


def _each(op: Any, values: Sequence[Any], dtypes: Sequence[str]) -> list[Any]:
    arrays = np.broadcast_arrays(*values)
    # NumPy takes functions of small integers in half precision; of Python's numbers in double, like C.
    arrays = tuple(a.astype(object) if a.dtype.kind in "biu" else a for a in arrays)
    results = [np.empty(arrays[0].shape, dtype) for dtype in dtypes]
    for index in np.ndindex(*arrays[0].shape):
        outcome = op.impl(*(array[index] for array in arrays))
        for result, part in zip(results, outcome if op.nout > 1 else (outcome,), strict=True):
            result[index] = part
    return [result[()] for result in results]


def native_statements(op: Any, args: Sequence[CValue], names: Sequence[str]) -> list[str]:
    """Put the C code of a user's op into a block of its own."""
    node = _node(op, [arg.dtype for arg in args])
    statements, arguments = [], []
    for i, arg in enumerate(args):
        text = arg.text
        if not text.isidentifier():
            text = f"{names[0]}_{i}"
            statements.append(f"const {c_type(arg.dtype)} {text} = {arg.text};")
        arguments.append(text)
    statements += [f"{c_type(v.type.dtype)} {name};" for v, name in zip(node.outputs, names, strict=True)]
    return [*statements, f"{{ {_code(op, node, _name(op, node), arguments, list(names))} }}"]


def support_code(op: Any, dtypes: Sequence[str]) -> tuple[str, ...]:
    """Give headers and support code of a user's op."""
    node = _node(op, dtypes)
    code = _sample(op, node)
    own = _ask(op, "c_support_code_apply", node, _name(op, node))
    support = [*_listed(_ask(op, "c_support_code")), *_listed(own)]
    headers = ["<math.h>", *_listed(_ask(op, "c_headers"))]
    includes = [f"#include {h if h[:1] in '<' + chr(34) else f'<{h}>'}" for h in headers]
    types = [_NUMPY_TYPES] if "npy_" in "\n".join([code, *support]) else []
    _check_plain(op, "\n".join([*includes, *support]))
    return (*types, *includes, *support)


def _sample(op: Any, node: Apply) -> str:
    inputs, outputs = (
        [f"{letter}{i}" for i in range(len(side))]
        for letter, side in zip("io", (node.inputs, node.outputs), strict=True)
    )
    return _code(op, node, "n", inputs, outputs)


def _name(op: Any, node: Apply) -> str:
    """Return the name under which a node's code and its support code know each other; other code has other names."""
    support = _ask(op, "c_support_code_apply", node, "n")
    if not support:
        return "n"
    text = "\n".join([_sample(op, node), *_listed(support)])
    return f"n{hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:12]}"


def _node(op: Any, dtypes: Sequence[str]) -> Apply:
    node: Apply = op.make_node(*(ScalarType(dtype).make_variable() for dtype in dtypes))
    kinds = [v.type.dtype for v in (*node.inputs, *node.outputs)]
    if any(is_complex(kind) or kind == "float16" for kind in kinds):
        raise NoNativeForm(f"the C code of {op} is for real numbers of 32 and 64 bits")
    return node


def _code(op: Any, node: Apply, name: str, inputs: list[str], outputs: list[str]) -> str:
    if any(_ask(op, part) for part in _BEYOND):
        raise NoNativeForm(f"{op} has no C code that can be part of a loop")
    try:
        code = str(op.c_code(node, name, inputs, outputs, {"fail": f"{_FAIL};"}))
    except NotImplementedError as error:
        raise NoNativeForm(f"{op} has no C code for these types: {error}") from error
    _check_plain(op, code)
    return code


def _check_plain(op: Any, code: str) -> None:
    """Raise where code cannot be part of a loop in plain C that knows nothing of Python."""
    if _FAIL in code or _PYTHON.search(code):
        raise NoNativeForm(f"the C code of {op} refers to Python")
    if _CPLUSPLUS.search(code):
        raise NoNativeForm(f"the C code of {op} is C++")


def _ask(op: Any, method: str, *arguments: Any) -> Any:
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
    function: Callable[..., Any] | None = getattr(np, name, None)
    return function if (count, results) == (nin, nout) else None
