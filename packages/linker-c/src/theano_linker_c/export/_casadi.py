"""Exported functions as CasADi's `external` wants them, with derivatives that a higher layer makes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from theano_graph import format_error, record

from .._function import Function
from .._lazy import import_straight_rules
from ..straight import NoStraightForm
from ._body import Body, write_body
from ._files import as_json, description, header_text, source_text
from ._interface import Parameter

# ---- Derivatives of exported functions, which a higher layer knows how to make


@record
class Jacobian:
    """Derivatives of the outputs of a function with respect to its inputs.

    Attributes
    ----------
    fn : Function
        Has the inputs of the function, and shared variables as constants. Each output is one block: the matrix of
        derivatives of one output by one input, as a vector. Elements of inputs, outputs and blocks are counted in
        Fortran order.
    blocks : tuple of (int, int)
        For each output of `fn`, the numbers of the output and of the input that it is about. The derivatives that are
        not there are zero.
    """

    fn: Function
    blocks: tuple[tuple[int, int], ...]


#: Called with a function and the number of elements of each output.
JacobianMaker: TypeAlias = Callable[[Function, Sequence[int]], Jacobian]

_makers: list[JacobianMaker] = []


def set_jacobian_maker(maker: JacobianMaker) -> None:
    """Say how functions are differentiated.

    Parameters
    ----------
    maker : callable
        Called with a function and the number of elements of each output; returns a :class:`Jacobian`.
    """
    _makers[:] = [maker]


def jacobian_of(fn: Function, sizes: Sequence[int]) -> Jacobian:
    """Return the derivatives of a function.

    Raises
    ------
    NoStraightForm
        If no layer that differentiates is loaded.
    """
    import_straight_rules()
    if not _makers:
        raise NoStraightForm(
            format_error("nothing is loaded that differentiates", hint="import theano, or use derivatives=0")
        )
    derivatives: Any = _makers[0](fn, sizes)
    return derivatives  # type: ignore[no-any-return]


# ---- The C functions by which CasADi finds out about a function, and calls it

_TYPES = """\

/* For CasADi: external("NAME", "./NAME.so"). */
#ifndef casadi_real
#define casadi_real double
#endif
#ifndef casadi_int
#define casadi_int long long int
#endif
#ifndef CASADI_SYMBOL_EXPORT
#ifdef _WIN32
#define CASADI_SYMBOL_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define CASADI_SYMBOL_EXPORT __attribute__((visibility("default")))
#else
#define CASADI_SYMBOL_EXPORT
#endif
#endif
"""


@record
class Matrix:
    """A matrix as CasADi passes it: in Fortran order.

    Attributes
    ----------
    name : str
    rows, columns : int
    parameter : Parameter or None
        The parameter of our function; None for a matrix all of whose elements are zero, and not passed.
    transposed : bool
        Whether its elements are in another order than those of ours.
    """

    name: str
    rows: int
    columns: int
    parameter: Parameter | None
    transposed: bool

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.rows * self.columns

    def pattern(self) -> list[int]:
        """Return the sparsity pattern: rows, columns, and 1 for dense ones, or where columns begin."""
        if self.parameter is not None:
            return [self.rows, self.columns, 1]
        return [self.rows, self.columns, *[0] * (self.columns + 1)]

    def as_json(self) -> dict[str, Any]:
        """Return the entry of the description for programs."""
        return {"name": self.name, "shape": [self.rows, self.columns], "dense": self.parameter is not None}


def casadi_text(name: str, body: Body, arguments: Sequence[Matrix], results: Sequence[Matrix]) -> str:
    """Return the functions of one function, to stand behind its source."""
    patterns = {tuple(matrix.pattern()): k for k, matrix in enumerate((*arguments, *results))}
    tables = [
        f"static const casadi_int {name}_s{k}[{len(pattern)}] = {{{', '.join(map(str, pattern))}}};"
        for pattern, k in patterns.items()
    ]
    export = "CASADI_SYMBOL_EXPORT"
    counts = {"arg": len(arguments), "res": len(results), "iw": 0}
    words = f"(casadi_int)((sizeof({name}_values_state) + sizeof(double) - 1) / sizeof(double)) + {_room(body)}"
    lines = [
        _TYPES.replace("NAME", name),
        *tables,
        "",
        f"{export} int {name}(const casadi_real **arg, casadi_real **res, casadi_int *iw, casadi_real *w, int mem) {{",
        *_call(name, body, arguments, results),
        "}",
        f"{export} void {name}_incref(void) {{}}",
        f"{export} void {name}_decref(void) {{}}",
        f"{export} int {name}_checkout(void) {{ return 0; }}",
        f"{export} void {name}_release(int mem) {{ (void)mem; }}",
        f"{export} casadi_int {name}_n_in(void) {{ return {len(arguments)}; }}",
        f"{export} casadi_int {name}_n_out(void) {{ return {len(results)}; }}",
        f"{export} casadi_real {name}_default_in(casadi_int i) {{ (void)i; return 0; }}",
        *_switch(f"const char *{name}_name_in", [f'"{matrix.name}"' for matrix in arguments]),
        *_switch(f"const char *{name}_name_out", [f'"{matrix.name}"' for matrix in results]),
        *_switch(f"const casadi_int *{name}_sparsity_in", _tables_of(name, arguments, patterns)),
        *_switch(f"const casadi_int *{name}_sparsity_out", _tables_of(name, results, patterns)),
    ]
    for ending, units in (("", ("", "", "")), ("_bytes", ("const casadi_real *", "casadi_real *", "casadi_real"))):
        sizes = [f" * (casadi_int)sizeof({unit})" if unit else "" for unit in units]
        lines += [
            f"{export} int {name}_work{ending}({', '.join(f'casadi_int *sz_{kind}' for kind in (*counts, 'w'))}) {{",
            f"    if (sz_arg) *sz_arg = {counts['arg']}{sizes[0]};",
            f"    if (sz_res) *sz_res = {counts['res']}{sizes[1]};",
            "    if (sz_iw) *sz_iw = 0;",
            f"    if (sz_w) *sz_w = ({words}){sizes[2]};",
            "    return 0;",
            "}",
        ]
    return "\n".join([*lines, ""])


def _tables_of(name: str, matrices: Sequence[Matrix], patterns: dict[tuple[int, ...], int]) -> list[str]:
    return [f"{name}_s{patterns[tuple(matrix.pattern())]}" for matrix in matrices]


def _room(body: Body) -> int:
    """Return how many numbers are copied, or wait for somebody who does not come, besides the state."""
    return sum(p.size for p in (*body.arguments, *body.results))


def _switch(head: str, values: Sequence[str]) -> list[str]:
    cases = [f"        case {i}: return {value};" for i, value in enumerate(values)]
    return [
        f"CASADI_SYMBOL_EXPORT {head}(casadi_int i) {{",
        "    switch (i) {",
        *cases,
        "        default: return NULL;",
        "    }",
        "}",
    ]


def _call(name: str, body: Body, arguments: Sequence[Matrix], results: Sequence[Matrix]) -> list[str]:
    values = f"{name}_values"
    lines = [
        f"    {values}_state *const state = ({values}_state *)(void *)w;",
        f"    casadi_real *free_words = w + (sizeof({values}_state) + sizeof(double) - 1) / sizeof(double);",
        "    int status;",
        *(f"    (void){unread};" for unread in ("arg", "res", "iw", "mem")),
    ]
    operands, after = ["state"], []
    for i, matrix in enumerate(arguments):
        if matrix.parameter is not None:
            lines += _input(i, matrix)
            operands.append(f"x_{i}" if matrix.parameter.shape else f"arg[{i}] ? arg[{i}][0] : 0")
    for k, matrix in enumerate(results):
        if matrix.parameter is not None:
            lines += _output(k, matrix)
            after += _copied_back(k, matrix)
            operands.append(f"y_{k}")
    if body.takes_memory:
        lines.append(f"    {values}_init(state);")
    lines += ["    (void)free_words;", f"    status = {values}({', '.join(operands)});"]
    if body.takes_memory:
        lines.append(f"    {values}_free(state);")
    return [*lines, "    if (status) return 1;", *after, "    return 0;"]


def _input(i: int, matrix: Matrix) -> list[str]:
    if matrix.parameter is None or not matrix.parameter.shape:
        return []
    lines = [f"    const casadi_real *x_{i} = arg[{i}];"]
    copied = f"arg[{i}][r + c * {matrix.rows}]" if matrix.transposed else "0"
    if matrix.transposed:
        copied = f"arg[{i}] ? {copied} : 0"
    return [
        *lines,
        *(["    {"] if matrix.transposed else [f"    if (x_{i} == NULL) {{"]),
        f"        for (casadi_int r = 0; r < {matrix.rows}; r++)",
        f"            for (casadi_int c = 0; c < {matrix.columns}; c++)",
        f"                free_words[c + r * {matrix.columns}] = {copied};",
        f"        x_{i} = free_words;",
        f"        free_words += {matrix.size};",
        "    }",
    ]


def _output(k: int, matrix: Matrix) -> list[str]:
    if matrix.transposed:
        return [f"    casadi_real *const y_{k} = free_words;", f"    free_words += {matrix.size};"]
    return [
        f"    casadi_real *y_{k} = res[{k}];",
        f"    if (y_{k} == NULL) {{",
        f"        y_{k} = free_words;",
        f"        free_words += {matrix.size};",
        "    }",
    ]


def _copied_back(k: int, matrix: Matrix) -> list[str]:
    if not matrix.transposed:
        return []
    return [
        f"    if (res[{k}] != NULL)",
        f"        for (casadi_int r = 0; r < {matrix.rows}; r++)",
        f"            for (casadi_int c = 0; c < {matrix.columns}; c++)",
        f"                res[{k}][r + c * {matrix.rows}] = y_{k}[c + r * {matrix.columns}];",
    ]


# ---- Exported functions as CasADi's `external` wants them, with their derivatives
#
# CasADi passes an array of pointers to its arguments, and one of pointers to memory for its results: matrices of
# doubles
# in Fortran order. A null pointer stands for zeros, or for a result that is not wanted. Derivatives of ``f`` are those
# of the function ``jac_f``: it gets the arguments and, as matrices without elements, the results of ``f``; it returns a
# matrix for each result and argument, of all derivatives of the one with respect to the other.

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


__all__ = ["Jacobian", "JacobianMaker", "jacobian_of", "set_jacobian_maker", "Matrix", "casadi_text", "casadi_files"]
