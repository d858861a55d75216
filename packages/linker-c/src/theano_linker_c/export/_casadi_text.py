"""The C functions by which CasADi finds out about a function, and calls it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import record

from ._body import Body
from ._interface import Parameter

__all__ = ["Matrix", "casadi_text"]

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
