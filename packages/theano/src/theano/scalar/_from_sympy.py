"""A scalar op whose C code SymPy writes. SymPy is imported when such an op is made."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from theano_graph import format_error
from theano_linker_c.scalar import ScalarOp, ScalarType, Second

imported_sympy = find_spec("sympy") is not None
_NUMBERS = itertools.count()
_DTYPES = {"double": "float64", "float": "float32", "int": "int64"}


def include_line(line: str) -> bool:
    """Tell whether a line of C includes a header."""
    return "#include" in line


def sympy_dtype(expr: Any) -> str:
    """Return the C type of a formula's value."""
    dtype: str = importlib.import_module("sympy.utilities.codegen").get_default_datatype(expr).cname
    return dtype


def theano_dtype(expr: Any) -> ScalarType:
    """Return the scalar type of a formula's value."""
    return ScalarType(_DTYPES[sympy_dtype(expr)])


class SymPyCCode(ScalarOp):
    """Compute a formula of SymPy.

    Parameters
    ----------
    inputs : list of sympy.Symbol
        The symbols for the inputs of the op.
    expr : sympy.Expr
    name : str, optional
        Of the function in C; made up by default.

    Examples
    --------
    ::

        from sympy.abc import x, y
        xt, yt = theano.scalar.floats("xy")
        total = SymPyCCode([x, y], x + y)(xt, yt)
    """

    def __init__(self, inputs: Sequence[Any], expr: Any, name: str | None = None) -> None:
        super().__init__(name=name or f"sympy_func_{next(_NUMBERS)}")
        self.inputs = list(inputs)
        self.nin = len(self.inputs)
        self.expr = expr

    def _lines(self) -> list[str]:
        codegen = importlib.import_module("sympy.utilities.codegen").codegen
        (_, code), _ = codegen((self.name, self.expr), "C", "project_name", header=False, argument_sequence=self.inputs)
        lines: list[str] = code.split("\n")
        return lines

    def c_support_code(self) -> str:
        """Return the function that SymPy writes."""
        return "\n".join(line for line in self._lines() if not include_line(line))

    def c_headers(self) -> list[str]:
        """Return the headers that it needs."""
        lines = [line for line in self._lines() if include_line(line) and "project_name" not in line]
        return [line.replace("#include", "").strip() for line in lines]

    def c_code(self, node: Any, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Any) -> str:
        """Call the function."""
        return f"{outputs[0]} = {self.name}({', '.join(inputs)});"

    def impl(self, *values: Any) -> Any:
        """Compute the formula for numbers."""
        sympy = importlib.import_module("sympy")
        function = sympy.lambdify(self.inputs, self.expr, "math")
        return np.dtype(theano_dtype(self.expr).dtype).type(function(*values))

    def output_types(self, types: Sequence[ScalarType]) -> list[ScalarType]:
        """Return the type that SymPy gives the formula."""
        if len(types) != self.nin:
            what = f"{self} takes {self.nin} inputs, not {len(types)}"
            raise TypeError(format_error(what, hint="pass one for each symbol"))
        return [theano_dtype(self.expr)]

    def grad(self, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
        """Return the formula's derivatives, as such ops, times the gradient of the result."""
        parts = [
            SymPyCCode(self.inputs, self.expr.diff(symbol), name=f"{self.name}_grad_{i}")(*inputs)
            for i, symbol in enumerate(self.inputs)
        ]
        (gradient,) = output_gradients
        return [part if _is_one(gradient) else gradient * part for part in parts]

    def _info(self) -> tuple[Any, ...]:
        return type(self), self.name, tuple(self.inputs), self.expr

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymPyCCode) and self._info() == other._info()

    def __hash__(self) -> int:
        return hash(self._info())


def _is_one(variable: Any) -> bool:
    """Tell whether a gradient is the number 1, with which differentiating begins: perhaps filled into another value."""
    node = variable.owner
    filled = node.inputs[1] if node is not None and isinstance(node.op, Second) else variable
    return bool(getattr(filled, "data", None) == 1)
