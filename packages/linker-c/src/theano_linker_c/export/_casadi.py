"""Exported functions as CasADi's `external` wants them, with their derivatives.

CasADi passes an array of pointers to its arguments, and one of pointers to memory for its results: matrices of doubles
in Fortran order. A null pointer stands for zeros, or for a result that is not wanted. Derivatives of ``f`` are those
of the function ``jac_f``: it gets the arguments and, as matrices without elements, the results of ``f``; it returns a
matrix for each result and argument, of all derivatives of the one with respect to the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from theano_graph import format_error, record

from .._function import Function
from ..straight import NoStraightForm
from ._body import Body, write_body
from ._casadi_text import Matrix, casadi_text
from ._derivatives import jacobian_of
from ._files import as_json, description, header_text, source_text
from ._interface import Parameter

__all__ = ["casadi_files"]

_WORDS = ("null", "jac", "hess")


@record
class _Level:
    """A function, or derivatives of one, for CasADi.

    Attributes
    ----------
    name : str
    fn : Function
    arguments, results : tuple of Matrix
        As CasADi sees them.
    """

    name: str
    fn: Function
    body: Body
    arguments: tuple[Matrix, ...]
    results: tuple[Matrix, ...]


def casadi_files(
    fn: Function, name: str, shapes: Mapping[Any, Sequence[int]], derivatives: int
) -> tuple[dict[str, bytes], Mapping[str, Any]]:
    """Return the files of a function, and the content of the first description.

    Parameters
    ----------
    fn : Function
    name : str
        In CasADi. The function that C programs call is ``name_values``.
    shapes : mapping
        Shapes of inputs, by variable or name.
    derivatives : int
        How often it can be differentiated in CasADi: 0, 1 or 2.
    """
    if "__" in name or name in _WORDS:
        raise ValueError(format_error(f"export_c: CasADi takes no function called `{name}`", hint="use another path"))
    if fn.wiring.updates:
        raise NoStraightForm(
            format_error(
                "abi='casadi': the function updates shared variables, but CasADi calls functions as often as it likes",
                hint="use fn.copy(delete_updates=True)",
            )
        )
    if derivatives not in (0, 1, 2):
        raise ValueError(format_error(f"derivatives={derivatives!r} is not 0, 1 or 2", hint="use one of these"))
    body = write_body(fn, f"{name}_values", shapes, static="abi='casadi'", frozen=True)
    _check(body)
    level = _Level(
        name,
        fn,
        body,
        tuple(_matrix(p) for p in body.arguments),
        tuple(_matrix(p) for p in body.results),
    )
    levels = [level]
    for _ in range(derivatives):
        levels.append(_derived(levels[-1], levels[0]))
    files: dict[str, bytes] = {}
    first: Mapping[str, Any] = {}
    for level in levels:
        values = f"{level.name}_values"
        about = description(level.body, values) | {"casadi": _described(level)}
        first = first or about
        text = source_text(level.body, values) + casadi_text(level.name, level.body, level.arguments, level.results)
        files[f"{level.name}.c"] = text.encode()
        files[f"{values}.h"] = header_text(level.body, values).encode()
        files[f"{level.name}.json"] = as_json(about).encode()
    return files, first


def _check(body: Body) -> None:
    """Look whether CasADi can pass all arguments and results."""
    wrong = [
        p.described()
        for p in (*body.arguments, *body.results)
        if p.dtype != "float64" or len(p.shape) > 2 or not p.fixed
    ]
    if wrong:
        raise NoStraightForm(
            format_error(
                "abi='casadi': CasADi passes numbers, vectors and matrices of float64, whose lengths are known",
                context=wrong,
                hint="cast and reshape in the function",
            )
        )


def _matrix(parameter: Parameter) -> Matrix:
    """Return the matrix that stands for a number, a vector (a column) or a matrix."""
    rows, columns = ([n or 0 for n in parameter.shape] + [1, 1])[:2]
    # CasADi takes no name with two underscores in sequence.
    name = re.sub("_+", "_", parameter.name).strip("_")
    return Matrix(name, rows, columns, parameter, rows > 1 and columns > 1)


def _derived(level: _Level, first: _Level) -> _Level:
    """Return the function of the derivatives of one."""
    present = [(k, result) for k, result in enumerate(level.results) if result.parameter is not None]
    jacobian = jacobian_of(level.fn, [result.size for _, result in present])
    name = f"jac_{level.name}"
    variables = jacobian.fn.maker.inputs
    # Inputs are matched by position: names need not be there, nor be different.
    shapes = {item.variable: [n or 0 for n in p.shape] for item, p in zip(variables, first.body.arguments, strict=True)}
    body = write_body(jacobian.fn, f"{name}_values", shapes, static="abi='casadi'", frozen=True)
    present_blocks = {(present[k][0], i): p for (k, i), p in zip(jacobian.blocks, body.results, strict=True)}
    arguments = [
        Matrix(old.name, old.rows, old.columns, p, old.transposed)
        for old, p in zip(first.arguments, body.arguments, strict=True)
    ]
    nothing = [Matrix(x.name, x.rows, x.columns, None, False) for x in level.arguments[len(arguments) :]]
    matrices = [Matrix(f"out_{x.name}", x.rows, x.columns, None, False) for x in level.results]
    results = tuple(
        Matrix(f"jac_{y.name}_{x.name}", y.rows * y.columns, x.rows * x.columns, present_blocks.get((k, i)), False)
        for k, y in enumerate(level.results)
        for i, x in enumerate(level.arguments)
    )
    return _Level(name, jacobian.fn, body, (*arguments, *nothing, *matrices), results)


def _described(level: _Level) -> dict[str, Any]:
    return {
        "function": level.name,
        "arguments": [matrix.as_json() for matrix in level.arguments],
        "results": [matrix.as_json() for matrix in level.results],
    }
