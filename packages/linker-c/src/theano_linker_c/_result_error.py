"""The error for wrong results of ops' code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Apply, describe, format_error


class ResultError(TypeError, ValueError):
    """An op's code has stored no result, or one that is not of the type which the node promises."""


def replaced_cell(node: Apply, k: int) -> ResultError:
    """Return the error for a `perform` that has put something else into the place of a storage cell."""
    return ResultError(
        format_error(
            f"{node.op}: its `perform` replaced the storage cell of output {k} instead of filling it",
            context=[f"output {k}: {describe(node.outputs[k])}"],
            hint=f"assign to `output_storage[{k}][0]`, not to `output_storage[{k}]`, and leave the lists as they are.",
        )
    )


def results_in(node: Apply, cells: Sequence[list[Any]], storage: Sequence[list[Any]]) -> list[Any]:
    """Return the values that `perform` has put into the cells of its storage.

    Raises
    ------
    ResultError
        If something else stands in the place of a cell.
    """
    for k, cell in enumerate(cells):
        if len(storage) != len(cells) or storage[k] is not cell or len(cell) != 1:
            raise replaced_cell(node, k)
    return [cell[0] for cell in cells]
