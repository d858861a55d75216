"""Gradients on parts of a batch, their means, the agreement of workers, and the class of trainers."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import ReferenceType, ref

import numpy as np

from theano_graph import Variable, describe, format_error
from theano_linker_c import Container, Function, SharedVariable, function
from theano_tensor import TensorType
from theano_tensor.gradient import grad

from ._packing import States

# ---- The two functions of a training step, and batches in parts

#: From gradients and parameters to updates: Lasagne's optimizers, for example.
Rule = Callable[[list[Any], list[Any]], Mapping[Any, Any] | Iterable[tuple[Any, Any]]]


class Mean(NamedTuple):
    """Means over the rows of one part of a batch, or of several."""

    rows: int
    cost: float
    gradients: list[Any]


class Step(NamedTuple):
    """A training step in two functions.

    Attributes
    ----------
    compute : Function
        From inputs to the cost and its gradients.
    update : Function
        From gradients to new values of the parameters, and of the rule's variables.
    params : list of SharedVariable
    kept : list of SharedVariable
        Variables that `update` changes besides the parameters.
    split : list of bool
        Which inputs have a row for each example; the others, without dimensions, go to all workers.
    """

    compute: Function
    update: Function
    params: list[SharedVariable]
    kept: list[SharedVariable]
    split: list[bool]


def make_step(inputs: Sequence[Any], cost: Any, params: Sequence[Any], rule: Rule, mode: Any) -> Step:
    """Compile the functions.

    Raises
    ------
    TypeError, ValueError
        If something else than parameters is trained, nothing has rows, or the cost updates shared variables.
    """
    _check_lists(inputs, params, rule)
    inputs, params = list(inputs), list(params)
    _check_params(params)
    split = [getattr(_variable(v).type, "ndim", 0) > 0 for v in inputs]
    if not any(split):
        raise ValueError(
            format_error("data_parallel: no input has rows", hint="give arrays with a row for each example")
        )
    compute = function(inputs, [cost, *grad(cost, params)], mode=mode, name="gradients")
    stray = States([compute]).updated
    if stray:
        raise ValueError(
            format_error(
                f"data_parallel: the cost updates {', '.join(str(box.name) for box in stray)}, in each worker anew",
                hint="leave the default update out, or make it an update of the rule",
            )
        )
    symbols = [p.type(f"gradient of {p.name or i}") for i, p in enumerate(params)]
    pairs = _pairs(rule(list(symbols), list(params)))
    update = function(symbols, [], updates=pairs, mode=mode, name="update", on_unused_input="ignore")
    trained = set(params)
    frozen = [target for target, _ in pairs if target not in trained]
    return Step(compute, update, params, frozen, split)


#: The error for other arguments.
_RULE = "lambda gradients, params: [(p, p - 0.1 * g) for p, g in zip(params, gradients)]"


def _check_lists(inputs: object, params: object, rule: object) -> None:
    for name, items in (("inputs", inputs), ("params", params)):
        if isinstance(items, (Variable, str)) or not isinstance(items, Iterable):
            raise TypeError(
                format_error(
                    f"data_parallel: {name} is no list",
                    context=[describe(items) if isinstance(items, Variable) else f"{items!r:.80}"],
                    hint=f"give a list of variables, also of one: {name}=[variable]",
                )
            )
    if not callable(rule):
        raise TypeError(format_error(f"data_parallel: the rule is {rule!r:.80}", hint=f"give a function: {_RULE}"))


def _pairs(updates: Any) -> list[tuple[Any, Any]]:
    """Return the result of a rule as pairs of variables and new values."""
    if not isinstance(updates, Iterable):
        raise TypeError(
            format_error(
                f"data_parallel: the rule returned {updates!r:.80}",
                hint=f"return a list of pairs (variable, new value), or a dictionary: {_RULE}",
            )
        )
    pairs = list(updates.items() if isinstance(updates, Mapping) else updates)
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                format_error(
                    f"data_parallel: the rule returned {pair!r:.80} in the place of a pair",
                    hint=f"return a list of pairs (variable, new value), or a dictionary: {_RULE}",
                )
            )
    return pairs


def _variable(given: Any) -> Any:
    return given if isinstance(given, Variable) else given.variable


def _check_params(params: Sequence[Any]) -> None:
    if not params:
        raise ValueError(
            format_error("data_parallel: there are no parameters", hint="list the shared variables to train")
        )
    for param in params:
        dense = isinstance(param, SharedVariable) and isinstance(param.type, TensorType)
        if not dense or param.type.dtype not in ("float32", "float64"):
            raise TypeError(
                format_error(
                    "data_parallel: parameters are shared arrays of float32 or float64",
                    context=[describe(param) if isinstance(param, Variable) else repr(param)],
                    hint="make them by theano.shared(array)",
                )
            )


def rows_of(batch: Sequence[Any], split: Sequence[bool]) -> int:
    """Return the number of rows of a batch.

    Raises
    ------
    TypeError, ValueError
        If there are not as many arrays as inputs, or they have different numbers of rows.
    """
    if len(batch) != len(split):
        raise TypeError(
            format_error(
                f"a step takes {len(split)} arrays, and {len(batch)} were given", hint="give one for each input"
            )
        )
    lengths = [_length(array, i) for i, (array, rows) in enumerate(zip(batch, split, strict=True)) if rows]
    if len(set(lengths)) > 1:
        raise ValueError(
            format_error(
                f"the arrays of a batch have {', '.join(map(str, lengths))} rows",
                hint="give arrays with a row for each example",
            )
        )
    return lengths[0]


def _length(array: Any, i: int) -> int:
    if np.ndim(array) == 0:
        raise ValueError(
            format_error(f"input {i} of a batch has no rows: {array!r:.40}", hint="give an array with rows")
        )
    return len(array)


def check_parts(parts: Any, split: Sequence[bool]) -> None:
    """Check that parts are tuples, or futures of tuples.

    Raises
    ------
    TypeError
        If one is something else.
    """
    form = f"[({', '.join('xyz'[: len(split)])}{',' if len(split) == 1 else ', ...' if len(split) > 3 else ''})]"
    if not isinstance(parts, Sequence):
        description = f"is given {_described(parts)}"
    else:
        wrong = [i for i, part in enumerate(parts) if not (isinstance(part, (tuple, list)) or hasattr(part, "key"))]
        if not wrong:
            return
        description = f"finds {_described(parts[wrong[0]])} as part {wrong[0]}, counted from 0"
    raise TypeError(
        format_error(
            f"step.parts {description}; it takes a list of parts, each a tuple with a value for each input",
            hint=f"step.parts({form}) for one part, step(...) for a whole batch",
        )
    )


def _described(value: Any) -> str:
    """Describe an argument in a few words."""
    return f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else f"{value!r:.60}"


def cut(batch: Sequence[Any], split: Sequence[bool], count: int, only: int | None = None) -> list[tuple[Any, ...]]:
    """Cut a batch into parts whose numbers of rows differ by one at most; with `only`, return that part alone.

    Examples
    --------
    >>> [part[0].tolist() for part in cut([np.arange(5)], [True], 2)]
    [[0, 1, 2], [3, 4]]
    """
    rows = rows_of(batch, split)
    edges = [rows * i // count for i in range(count + 1)]
    edges = [rows - edge for edge in reversed(edges)]  # the longer parts come first
    arrays = [np.asarray(array) if has_rows else array for array, has_rows in zip(batch, split, strict=True)]
    return [
        tuple(a[edges[i] : edges[i + 1]] if has_rows else a for a, has_rows in zip(arrays, split, strict=True))
        for i in (range(count) if only is None else [only])
    ]


def mean_of(compute: Function, batch: Sequence[Any], split: Sequence[bool]) -> Mean:
    """Compute the cost and the gradients of a part."""
    rows = rows_of(batch, split)
    cost, *gradients = compute(*batch)
    return Mean(rows, float(cost), gradients)


def mean_of_means(means: Sequence[Mean]) -> Mean:
    """Return the mean over all rows; parts without rows do not count.

    Raises
    ------
    ValueError
        If there are no rows at all.
    """
    means = [mean for mean in means if mean.rows]
    if not means:
        raise ValueError(format_error("a batch has no rows", hint="leave empty batches out"))
    if len(means) == 1:
        return means[0]
    rows = sum(mean.rows for mean in means)
    weights = [mean.rows / rows for mean in means]
    cost = sum(weight * mean.cost for weight, mean in zip(weights, means, strict=True))
    gradients = []
    for parts in zip(*(mean.gradients for mean in means), strict=True):
        total = np.multiply(parts[0], weights[0])
        for weight, part in zip(weights[1:], parts[1:], strict=True):
            total = total + np.multiply(part, weight)
        gradients.append(np.asarray(total, dtype=parts[0].dtype))
    return Mean(rows, cost, gradients)


# ---- Whether the processes of MPI have the same parameters and the same batch, told by a few numbers that are summed

#: After so many steps all values are compared, so that a write into an array shows, too.
EVERY = 100
#: So many numbers of a row are looked at.
WIDTH = 64


class Watched:
    """The values that all processes have in common: parameters, and the rule's variables.

    A value that was set is another array than the last update left, which is seen without a look at its content. A
    checksum of each set value goes into :attr:`mark`, which is therefore the same where the same was set.

    Parameters
    ----------
    step : Step
        The functions of a training step.

    Attributes
    ----------
    mark : int
        A checksum of all that was set so far.
    """

    def __init__(self, step: Step) -> None:
        boxes = {id(v.container): v.container for v in [*step.params, *step.kept]}
        for i, box in enumerate(step.update.input_storage):
            if step.update.maker.inputs[i].value is box:
                boxes[id(box)] = box
        self._boxes: list[Container] = [box for box in boxes.values() if isinstance(box.value, np.ndarray)]
        self._seen: list[ReferenceType[Any]] = []
        self.mark = 0
        self.keep()

    def keep(self) -> None:
        """Take the values as they are now for known."""
        self._seen = [ref(box.value) for box in self._boxes]

    def begin(self) -> None:
        """Count all values as set now, and nothing before."""
        self.mark = self._sum(range(len(self._boxes)), 0)
        self.keep()

    def number(self, steps: int) -> int:
        """Return a number that tells the values of processes apart, before a step."""
        changed = [
            i for i, (box, seen) in enumerate(zip(self._boxes, self._seen, strict=True)) if box.value is not seen()
        ]
        if changed:
            self.mark = self._sum(changed, self.mark)
            self.keep()
        every = self._sum(range(len(self._boxes)), self.mark) if steps % EVERY == 0 else self.mark
        return zlib.crc32(f"{steps} {every}".encode())

    def _sum(self, chosen: Iterable[int], start: int) -> int:
        for i in chosen:
            start = zlib.crc32(np.ascontiguousarray(self._boxes[i].value).data, zlib.crc32(str(i).encode(), start))
        return start


def number_of_batch(batch: Sequence[Any], split: Sequence[bool]) -> int:
    """Return a number that tells batches apart by some numbers of their first, middle and last rows."""
    size = 0
    for part, rows in zip(batch, split, strict=True):
        array = np.asarray(part)
        if array.dtype.hasobject or not array.size:
            continue
        middle = len(array) // 2 if rows else 0
        some = [array[i:][:1].reshape(-1)[:WIDTH] for i in (0, middle, -1)] if rows else [array]
        for piece in some:
            size = zlib.crc32(piece.tobytes(), size)
    return size


def spread(number: int) -> list[float]:
    """Return the numbers to sum over processes, so that :func:`agree` can tell whether all have the same number."""
    halves = number & 0xFFFF, number >> 16
    return [float(value) for half in halves for value in (half, half**2)]


def agree(sums: Sequence[float], size: int) -> bool:
    """Tell from the sums of :func:`spread` whether `size` processes have the same number.

    Examples
    --------
    >>> [agree(np.add(spread(70000), spread(other)).tolist(), 2) for other in (70000, 70001)]
    [True, False]
    """
    pairs = zip(sums[::2], sums[1::2], strict=True)
    return all(int(total) ** 2 == int(squares) * size for total, squares in pairs)


# ---- The interface of training steps, the same for all engines

#: The name under which a state says how many steps were made.
STEPS = "steps"


class DataParallel(ABC):
    """A training step whose batch is divided among workers; made by :func:`data_parallel`.

    Attributes
    ----------
    params : list of SharedVariable
        The caller's own: they have their new values after each step, so that other functions use them as always.
    steps : int
        How many steps were made.
    """

    def __init__(self, step: Step, seed: Any) -> None:
        self._step = step
        self._seed = seed
        self.params: list[SharedVariable] = step.params
        self.steps = 0

    def __call__(self, *batch: Any) -> float:
        """Make a step with a whole batch, which is cut into parts here.

        Parameters
        ----------
        batch : arrays
            A value for each input: arrays with a row for each example, and numbers, which go to all workers. With MPI
            all processes give the same batch.

        Returns
        -------
        float
            The cost before the step, the mean over all rows.
        """
        return self._finish(self._mean_of_batch(batch))

    def parts(self, parts: Sequence[Any]) -> float:
        """Make a step with a batch that is in parts already, which may have different numbers of rows.

        Parameters
        ----------
        parts : sequence
            With Dask all parts: each a tuple with a value for each input, ``[(x0, y0), (x1, y1)]``, or a future of
            one, which is computed where its data is. With MPI those of this process, usually one: ``[(x, y)]``.

        Returns
        -------
        float
            The cost before the step, the mean over the rows of all parts.
        """
        return self._finish(self._mean_of_parts(parts))

    def _finish(self, mean: Mean) -> float:
        self._step.update(*mean.gradients)
        self.steps += 1
        return mean.cost

    @abstractmethod
    def _mean_of_batch(self, batch: Sequence[Any]) -> Mean:
        """Compute cost and gradients of a whole batch."""

    @abstractmethod
    def _mean_of_parts(self, parts: Sequence[Any]) -> Mean:
        """Compute cost and gradients of a batch in parts."""

    def _variables(self) -> dict[str, SharedVariable]:
        variables = [*self.params, *self._step.kept]
        return {f"{i}_{v.name}" if v.name else str(i): v for i, v in enumerate(variables)}

    def get_state(self) -> dict[str, Any]:
        """Return parameters, the rule's variables, and the number of steps: the state to continue from.

        ``numpy.savez(path, **step.get_state())`` saves it; with MPI, one process does.
        """
        state = {name: v.get_value() for name, v in self._variables().items()}
        return {**state, STEPS: np.array(self.steps)}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a state, such as ``numpy.load(path)``. With MPI all processes call it, each with that state.

        Raises
        ------
        TypeError
            If it is no mapping, such as the path of a file.
        ValueError
            If it is the state of another model.
        """
        if not isinstance(state, Mapping):
            raise TypeError(
                format_error(
                    f"set_state takes a state, and {state!r:.80} was given", hint="step.set_state(numpy.load(path))"
                )
            )
        variables = self._variables()
        if set(state) != {*variables, STEPS}:
            raise ValueError(
                format_error(
                    "this is no state of these training steps",
                    context=[
                        f"it has: {', '.join(sorted(state))}",
                        f"expected: {', '.join(sorted([*variables, STEPS]))}",
                    ],
                    hint="make the step with the same parameters, in the same order, and the same rule",
                )
            )
        for name, variable in variables.items():
            variable.set_value(state[name])
        self.steps = int(state[STEPS])
