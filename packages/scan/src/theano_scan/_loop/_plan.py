"""The parts of a loop: kinds of inputs and outputs, the plan that joins them, buffers, and checks of inner graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import theano_tensor as T
from theano_graph import (
    Apply,
    Constant,
    MissingInputError,
    Variable,
    config,
    describe,
    format_error,
    graph_inputs,
    record,
    toposort,
)
from theano_linker_c.program import LoopSpec, ResultKind
from theano_linker_c.scalar import add as scalar_add
from theano_tensor import (
    AllocEmpty,
    DimShuffle,
    Elemwise,
    NotScalarConstantError,
    Subtensor,
    TensorType,
    as_tensor_variable,
    get_scalar_constant_value,
    set_subtensor,
)
from theano_tensor.indexing import IncSubtensor
from theano_tensor.indexing.entries import Slice
from theano_tensor.shape import Rebroadcast

# ---- Kinds of inputs and outputs, and the variables that belong together
#
# Kinds of outputs differ in how many earlier steps a step reads (``it``, input taps) and how many of them it writes
# (``ot``, output taps): several and several (mitmot), several and one (mitsot), a single one and one (sitsot), none
# and one (nitsot). Values that are no arrays, states of random streams for instance, are handed on as `shared` ones.


class Kinds:
    """The parts of a loop, and their positions: see the module.

    Attributes
    ----------
    n_seqs, n_mit_mot, n_mit_sot, n_sit_sot, n_nit_sot, n_shared_outs : int
        How many sequences there are, and how many outputs of each kind.
    n_mit_mot_outs : int
        How many inner outputs the mitmots have.
    tap_array : list of list of int
        For each output with input taps, in the order of the kinds, the taps.
    mit_mot_out_slices : list of list of int
        For each mitmot, its output taps.
    as_while : bool
        Whether the last inner output ends the loop.
    """

    n_seqs: int
    n_mit_mot: int
    n_mit_mot_outs: int
    n_mit_sot: int
    n_sit_sot: int
    n_nit_sot: int
    n_shared_outs: int
    tap_array: list[list[int]]
    mit_mot_out_slices: list[list[int]]
    as_while: bool
    #: Whether a node has an input for each nitsot, which says how many of its steps are kept.
    counts_nit_sots = True

    # ---- how many there are before each kind

    def _inner_start(self, recurrent: int) -> int:
        return self.n_seqs + sum(len(taps) for taps in self.tap_array[:recurrent])

    @property
    def _recurrent(self) -> int:
        return self.n_mit_mot + self.n_mit_sot + self.n_sit_sot

    @property
    def _mit_mot_results(self) -> int:
        return sum(len(taps) for taps in self.mit_mot_out_slices)

    # ---- sequences

    def inner_seqs(self, list_inputs: Sequence[Any]) -> list[Any]:
        """Return the inner inputs that are rows of sequences."""
        return list(list_inputs[: self.n_seqs])

    def outer_seqs(self, list_inputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the inputs of a node that are sequences."""
        return _inputs(list_inputs)[1 : 1 + self.n_seqs]

    # ---- outputs with taps

    def mitmot_taps(self) -> list[list[int]]:
        """Return the input taps of mitmots."""
        return self.tap_array[: self.n_mit_mot]

    def mitmot_out_taps(self) -> list[list[int]]:
        """Return the output taps of mitmots."""
        return self.mit_mot_out_slices[: self.n_mit_mot]

    def mitsot_taps(self) -> list[list[int]]:
        """Return the input taps of mitsots."""
        return self.tap_array[self.n_mit_mot : self.n_mit_mot + self.n_mit_sot]

    def inner_mitmot(self, list_inputs: Sequence[Any]) -> list[Any]:
        """Return the inner inputs of mitmots."""
        return list(list_inputs[self.n_seqs : self._inner_start(self.n_mit_mot)])

    def inner_mitsot(self, list_inputs: Sequence[Any]) -> list[Any]:
        """Return the inner inputs of mitsots."""
        last = self._inner_start(self.n_mit_mot + self.n_mit_sot)
        return list(list_inputs[self._inner_start(self.n_mit_mot) : last])

    def inner_sitsot(self, list_inputs: Sequence[Any]) -> list[Any]:
        """Return the inner inputs of sitsots."""
        first = self._inner_start(self.n_mit_mot + self.n_mit_sot)
        return list(list_inputs[first : first + self.n_sit_sot])

    def outer_mitmot(self, list_inputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the inputs of a node that mitmots start from."""
        return _part(_inputs(list_inputs), 1 + self.n_seqs, self.n_mit_mot)

    def outer_mitsot(self, list_inputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the inputs of a node that mitsots start from."""
        return _part(_inputs(list_inputs), 1 + self.n_seqs + self.n_mit_mot, self.n_mit_sot)

    def outer_sitsot(self, list_inputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the inputs of a node that sitsots start from."""
        return _part(_inputs(list_inputs), 1 + self.n_seqs + self.n_mit_mot + self.n_mit_sot, self.n_sit_sot)

    def inner_mitmot_outs(self, list_outputs: Sequence[Any]) -> list[Any]:
        """Return the inner outputs of mitmots."""
        return list(list_outputs[: self._mit_mot_results])

    def inner_mitsot_outs(self, list_outputs: Sequence[Any]) -> list[Any]:
        """Return the inner outputs of mitsots."""
        return _part(list_outputs, self._mit_mot_results, self.n_mit_sot)

    def inner_sitsot_outs(self, list_outputs: Sequence[Any]) -> list[Any]:
        """Return the inner outputs of sitsots."""
        return _part(list_outputs, self._mit_mot_results + self.n_mit_sot, self.n_sit_sot)

    def outer_mitmot_outs(self, list_outputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the outputs of a node that are mitmots."""
        return _outputs(list_outputs)[: self.n_mit_mot]

    def outer_mitsot_outs(self, list_outputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the outputs of a node that are mitsots."""
        return _part(_outputs(list_outputs), self.n_mit_mot, self.n_mit_sot)

    def outer_sitsot_outs(self, list_outputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the outputs of a node that are sitsots."""
        return _part(_outputs(list_outputs), self.n_mit_mot + self.n_mit_sot, self.n_sit_sot)

    # ---- outputs without taps

    def outer_nitsot(self, list_inputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the inputs of a node that say how many steps of nitsots are kept."""
        first = 1 + self.n_seqs + self._recurrent + self.n_shared_outs
        return _part(_inputs(list_inputs), first, self.n_nit_sot if self.counts_nit_sots else 0)

    def inner_nitsot_outs(self, list_outputs: Sequence[Any]) -> list[Any]:
        """Return the inner outputs of nitsots."""
        return _part(list_outputs, self._mit_mot_results + self.n_mit_sot + self.n_sit_sot, self.n_nit_sot)

    def outer_nitsot_outs(self, list_outputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the outputs of a node that are nitsots."""
        return _part(_outputs(list_outputs), self._recurrent, self.n_nit_sot)

    # ---- values handed on, and fixed ones

    def inner_shared(self, list_inputs: Sequence[Any]) -> list[Any]:
        """Return the inner inputs that are handed on from step to step and are no arrays."""
        return _part(list_inputs, self._inner_start(self._recurrent), self.n_shared_outs)

    def outer_shared(self, list_inputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the inputs of a node that these start from."""
        return _part(_inputs(list_inputs), 1 + self.n_seqs + self._recurrent, self.n_shared_outs)

    def inner_shared_outs(self, list_outputs: Sequence[Any]) -> list[Any]:
        """Return the inner outputs that are their new values."""
        first = self._mit_mot_results + self.n_mit_sot + self.n_sit_sot + self.n_nit_sot
        return _part(list_outputs, first, self.n_shared_outs)

    def outer_shared_outs(self, list_outputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the outputs of a node that are their last values."""
        return _part(_outputs(list_outputs), self._recurrent + self.n_nit_sot, self.n_shared_outs)

    def inner_non_seqs(self, list_inputs: Sequence[Any]) -> list[Any]:
        """Return the inner inputs that are the same in all steps."""
        return list(list_inputs[self._inner_start(self._recurrent) + self.n_shared_outs :])

    def outer_non_seqs(self, list_inputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the inputs of a node that are the same in all steps."""
        first = 1 + self.n_seqs + self._recurrent + self.n_shared_outs
        return _inputs(list_inputs)[first + (self.n_nit_sot if self.counts_nit_sots else 0) :]

    # ---- groups

    def mappings(self, inner_inputs: int) -> dict[str, dict[int, Any]]:
        """Return which of the inner and outer inputs and outputs belong to the same sequence, state or constant.

        Parameters
        ----------
        inner_inputs : int
            How many there are.

        Returns
        -------
        dict
            Twelve entries ``X_from_Y`` for each two of ``outer_inp, inner_inp, inner_out, outer_out``: a dictionary
            from indices in Y to an index in X, -1 for none, where X is a set of outer variables, and to a list of
            indices where it is a set of inner variables.
        """
        result: dict[str, dict[int, Any]] = {f"{x}_from_{y}": {} for x in _SETS for y in _SETS if x != y}
        for group in self._groups(inner_inputs):
            for source, places in group.items():
                for position in places:
                    for target, others in group.items():
                        if target != source:
                            single = others[0] if others else -1
                            result[f"{target}_from_{source}"][position] = (
                                list(others) if target.startswith("inner") else single
                            )
        return result

    def _groups(self, inner_inputs: int) -> list[dict[str, list[int]]]:
        """Return the variables of each sequence, output and constant, by their places."""
        groups = [_group([0], [], [], [])]
        groups += [_group([1 + k], [k], [], []) for k in range(self.n_seqs)]
        inner, result = self.n_seqs, 0
        for k, taps in enumerate(self.tap_array):
            written = len(self.mit_mot_out_slices[k]) if k < self.n_mit_mot else 1
            inner_places = list(range(inner, inner + len(taps)))
            groups.append(_group([1 + self.n_seqs + k], inner_places, list(range(result, result + written)), [k]))
            inner, result = inner + len(taps), result + written
        recurrent = len(self.tap_array)
        shared, counts = 1 + self.n_seqs + recurrent, self.n_nit_sot if self.counts_nit_sots else 0
        for k in range(self.n_nit_sot):
            outer = [shared + self.n_shared_outs + k] if counts else []
            groups.append(_group(outer, [], [result + k], [recurrent + k]))
        result += self.n_nit_sot
        for k in range(self.n_shared_outs):
            groups.append(_group([shared + k], [inner + k], [result + k], [recurrent + self.n_nit_sot + k]))
        inner += self.n_shared_outs
        first = shared + self.n_shared_outs + counts
        return groups + [_group([first + k], [inner + k], [], []) for k in range(inner_inputs - inner)]


#: The four sets of variables of a loop.
_SETS = ("outer_inp", "inner_inp", "inner_out", "outer_out")


def _group(*places: list[int]) -> dict[str, list[int]]:
    return dict(zip(_SETS, places, strict=True))


def _part(variables: Sequence[Any], first: int, number: int) -> list[Any]:
    return list(variables[first : first + number])


def _inputs(argument: Apply | Sequence[Any]) -> list[Any]:
    return list(argument.inputs if isinstance(argument, Apply) else argument)


def _outputs(argument: Apply | Sequence[Any]) -> list[Any]:
    return list(argument.outputs if isinstance(argument, Apply) else argument)


# ---- The plan: how inputs and outputs go together, and the use of memory

#: The use of the values of an output: all of them along a new first dimension, the sum, or the last one.
#: FINAL is the initial state where there are no steps, LAST is an error then.
STACK, SUM, FINAL, LAST = "stack", "sum", "final", "last"
_RESULT_KINDS = MappingProxyType({STACK: ResultKind.STACK, SUM: ResultKind.SUM})


@record
class Plan:
    """How the inputs and outputs of a loop go together.

    Attributes
    ----------
    sequences, states : int
        How many there are; the inner inputs are rows of the sequences, states, constants, in this order.
    kinds : tuple of str
        For each inner output (new states first), its use.
    likes : tuple of int
        For each output that is summed, the number of the inner input that has its shape; -1 for others.
    until : bool
        Whether the last inner output says that this step is the last; it is no output of the loop, the number of
        steps done is.
    backwards : bool
        Whether sequences are read, and stacks written, from the last row to the first.
    truncate : int
        Through how many steps gradients go; -1 for all.
    """

    sequences: int
    states: int
    kinds: tuple[str, ...]
    likes: tuple[int, ...]
    until: bool = False
    backwards: bool = False
    truncate: int = -1

    def loop_spec(self) -> LoopSpec:
        """Return the numbers by which a machine does all steps by itself."""
        kinds = tuple(_RESULT_KINDS.get(kind, ResultKind.LAST) for kind in self.kinds)
        return LoopSpec(self.sequences, self.states, kinds, self.until, self.backwards)


@record
class Memory:
    """How a loop deals with memory.

    Attributes
    ----------
    allow_gc : bool
        Whether intermediate results are given back after each step.
    preallocate : bool
        Whether stacks are made at the first step, and filled.
    """

    allow_gc: bool = False
    preallocate: bool = True


def connections_of_steps(plan: Plan, pattern: list[list[bool]]) -> list[list[bool]]:
    """Return for each inner input the outputs that depend on it in any number of steps, from the pattern of one."""
    states = range(plan.sequences, plan.sequences + plan.states)
    result = []
    for k in range(len(pattern)):
        reached = [bool(x) for x in pattern[k]]
        if k in states:
            reached[k - plan.sequences] = True
        is_changed = True
        while is_changed:
            is_changed = False
            for state in range(plan.states):
                if reached[state]:
                    more = [a or b for a, b in zip(reached, pattern[plan.sequences + state], strict=True)]
                    is_changed, reached = is_changed or more != reached, more
        result.append([*reached[:-1], False] if plan.until else reached)
    return result


# ---- Buffers of loops: arrays whose first rows are the initial values, and whose other rows the steps write
#
# Between them and the operands of loops here (a first value, the rows of all steps) goes no copy where the form of an
# expression says so: a part that has just been written is known.

LAST_ROW = (-1,)


def first_rows(number: int) -> tuple[Slice]:
    """Return the index of the first rows."""
    return (Slice(None, number, None),)


def rows_after(number: int) -> tuple[Slice]:
    """Return the index of all rows but the first ones."""
    return (Slice(number, None, None),)


def expanded(rows: Any, number: int, steps: Any) -> Any:
    """Return an array that begins with `number` rows and has room for those of `steps` steps."""
    lengths = [rows.shape[i] for i in range(1, rows.type.ndim)]
    empty = AllocEmpty(rows.type.dtype)(steps + number, *lengths)
    result = set_subtensor(empty[:number], rows)
    result.tag.nan_guard_mode_check = False
    return result


def start_of(buffer: Any, position: int, depth: int) -> Any:
    """Return row `place` of the first `depth` rows of a buffer."""
    rows = _written(buffer, first_rows(depth))
    if rows is None:
        return buffer[position]
    if depth == 1:
        single = rows.owner.inputs[0] if rows.owner is not None and isinstance(rows.owner.op, Rebroadcast) else rows
        node = single.owner
        if node is not None and isinstance(node.op, DimShuffle):
            inner: Any = node.inputs[0]
            if tuple(node.op.order) == ("x", *range(inner.type.ndim)):
                return inner
    return rows[position]


def _written(buffer: Variable, entries: tuple[Slice]) -> Any:
    """Return the part of a buffer that its node has just written, if it is that part."""
    node = buffer.owner
    if node is None or not isinstance(node.op, IncSubtensor) or not node.op.set_instead_of_inc:
        return None
    if node.op.entries != entries:
        return None
    part, full = node.inputs[1].type, node.inputs[0].type
    return node.inputs[1] if part.ndim == full.ndim else None


def parts_of_cotangent(g: Any, depth: int) -> tuple[Any, Any, Any]:
    """Return the cotangents of a buffer's first rows, of the others, and of the last one alone.

    A known zero is None. The first two have the lengths of their parts.
    """
    node = g.owner
    if node is not None and isinstance(node.op, IncSubtensor) and _is_zero(node.inputs[0]):
        if node.op.entries == rows_after(depth) and node.inputs[1].type.ndim == g.type.ndim:
            return None, node.inputs[1], None
        if node.op.entries == LAST_ROW and node.inputs[1].type.ndim == g.type.ndim - 1:
            return None, None, node.inputs[1]
    if node is not None and isinstance(node.op, Elemwise) and node.op.scalar_op == scalar_add:
        if all(v.type.ndim == g.type.ndim and not v.type.broadcastable[0] for v in node.inputs):
            terms = [parts_of_cotangent(v, depth) for v in node.inputs]
            first, rows, last = (_sum([t[k] for t in terms if t[k] is not None]) for k in range(3))
            return first, rows, last
    return g[:depth], g[depth:], None


def _sum(terms: list[Any]) -> Any:
    return sum(terms[1:], terms[0]) if terms else None


def _is_zero(v: Variable) -> bool:
    try:
        return bool(get_scalar_constant_value(v) == 0)
    except NotScalarConstantError:
        return False


def with_first_rows(like: Any, rows: list[Any], dtype: str) -> Any:
    """Return zeros like a buffer, but for its first rows."""
    zeros = T.zeros_like(as_tensor_variable(like), dtype=dtype)
    first_rows = T.shape_padleft(rows[0]) if len(rows) == 1 else T.stack(rows)
    return set_subtensor(zeros[: len(rows)], first_rows)


def reads_rows_after(node: Apply, depth: int) -> bool:
    """Tell whether a node reads all rows but the first ones."""
    return isinstance(node.op, Subtensor) and node.op.entries == rows_after(depth)


def reads_last_row(node: Apply) -> bool:
    """Tell whether a node reads the last row alone."""
    return isinstance(node.op, Subtensor) and node.op.entries == LAST_ROW


# ---- Checks of inner graphs


def without_test_values() -> contextlib.AbstractContextManager[Any]:
    """Let graphs of steps, whose variables stand for no value, be built without test values."""
    if config.compute_test_value == "off":
        return contextlib.nullcontext()
    switched: contextlib.AbstractContextManager[Any] = config.change_flags(compute_test_value="off")
    return switched


def number_of_steps(n: Any) -> Any:
    steps = as_tensor_variable(n)
    if steps.type.ndim or not steps.type.dtype.startswith(("int", "uint")):
        raise TypeError(
            format_error(
                "the number of steps is no integer", context=[describe(steps)], hint="pass a length, such as x.shape[0]"
            )
        )
    return steps


def stack_of(row: Any, x: Any) -> Any:
    """Return `x` as an array whose rows have the type of a variable."""
    stack: Any = as_tensor_variable(x)
    kind = row.type
    fits = stack.type.ndim == kind.ndim + 1 and kind.is_super(TensorType(stack.type.dtype, stack.type.shape[1:]))
    return stack if fits else TensorType(kind.dtype, (None, *kind.shape)).narrow_variable(stack)


def check_inner_graph(op: Any) -> None:
    if op.n_mit_mot:
        raise ValueError(
            format_error(
                f"{op}: an output that is written at several steps (mitmot) has no form that runs",
                hint="write it at one step: gradients of loops are loops with a sum or a state here",
            )
        )
    seen = set(op.inputs)
    for root in graph_inputs(op.outputs):
        if root not in seen and not isinstance(root, Constant):
            raise MissingInputError(
                format_error(
                    f"{op} is missing an input: {root}", context=[describe(root)], hint="add it to the inner inputs"
                )
            )


def draws(results: Sequence[Any], changing: set[Any]) -> list[Any]:
    """Return the arrays that come of states which are no arrays: gradients need those of each step."""
    if all(isinstance(v.type, TensorType) for v in changing):
        return []
    result = []
    for node in toposort(list(changing), list(results)):
        if any(not isinstance(v.type, TensorType) for v in node.inputs if not isinstance(v, Constant)):
            result += [v for v in node.outputs if isinstance(v.type, TensorType)]
    return [v for v in dict.fromkeys(result) if v not in results]
