"""The state of functions between calls: values that are put back before each item, and random states with new seeds."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, format_error
from theano_linker_c import Container, Function
from theano_tensor.random import GeneratorType, RandomStateType
from theano_tensor.random.mrg import M1, M2, MRGUniform, substreams

#: The bounds of the six numbers of a state of MRG31k3p.
_BOUNDS = np.array([M1] * 3 + [M2] * 3, dtype=np.int64)


class States:
    """The shared variables of some functions.

    Parameters
    ----------
    functions : iterable of Function
        Functions whose present values :meth:`restore` puts back.

    Attributes
    ----------
    random : list of Container
        Containers with states of generators, in the order of discovery.
    updated : list of Container
        The others that calls of the functions change.
    constant : list of Container
        All others.
    """

    def __init__(self, functions: Iterable[Function]) -> None:
        random: dict[int, Container] = {}
        updated: dict[int, Container] = {}
        every: dict[int, Container] = {}
        for function in functions:
            boxes = function.input_storage
            targets = set(function.maker.signature.update_targets)
            for i, box in enumerate(boxes):
                if function.maker.inputs[i].value is not box:
                    continue
                every[id(box)] = box
                if i in targets and _is_random(function, i, box.value):
                    random[id(box)] = box
                elif i in targets:
                    updated[id(box)] = box
        self.random = list(random.values())
        self.updated = [box for key, box in updated.items() if key not in random]
        self.constant = [box for key, box in every.items() if key not in random and key not in updated]
        self._values = [box.value for box in self.constant]
        self._copies = [copy.deepcopy(box.value) for box in self.updated]
        self._generators = [box.value for box in self.random]
        self._entropy: list[int] | None = None

    def restore(self) -> None:
        """Put all values back, but for the random states."""
        for box, value in zip(self.constant, self._values, strict=True):
            if box.value is not value:
                box.value = value
        for box, value in zip(self.updated, self._copies, strict=True):
            box.value = copy.deepcopy(value)

    @property
    def entropy(self) -> list[int]:
        """Numbers that the random states were, which decide about new ones where no seed is given."""
        if self._entropy is None:
            self._entropy = [word for value in self._generators for word in _words(value)]
        return self._entropy

    def reseed(self, seed: Any, key: Sequence[int]) -> None:
        """Give each random state new numbers, which depend on the seed, on a key, and on its position.

        Parameters
        ----------
        seed : int, sequence of int or None
            Entropy, as for ``numpy.random.SeedSequence``; None: the states as they were.
        key : sequence of int
            The spawn key of an item.
        """
        if self.random:
            root = self.entropy if seed is None else seed
            for i, (box, value) in enumerate(zip(self.random, self._generators, strict=True)):
                box.value = _fresh(value, np.random.SeedSequence(root, spawn_key=(*key, i)))

    def put_back(self) -> None:
        """Put the random states back that were there at first."""
        for box, value in zip(self.random, self._generators, strict=True):
            box.value = value


def check_seed(seed: Any, function: str) -> None:
    """Check a seed before anything is sent.

    Raises
    ------
    TypeError, ValueError
        If ``numpy.random.SeedSequence`` does not take it.
    """
    try:
        np.random.SeedSequence(seed)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            format_error(
                f"{function}: the seed is {seed!r:.80}",
                hint="give an integer from 0 up, or a sequence of them; without a seed those of the streams decide",
            )
        ) from error


def _is_random(function: Function, i: int, value: Any) -> bool:
    """Tell whether an updated input is the state of a generator."""
    graph = function.maker.fgraph
    variable = graph.inputs[i]
    if isinstance(variable.type, (RandomStateType, GeneratorType)):
        return True
    if not (isinstance(value, np.ndarray) and value.dtype == np.int32 and value.ndim == 2 and value.shape[1] == 6):
        return False
    if any(isinstance(node, Apply) and isinstance(node.op, MRGUniform) for node, _ in graph.clients(variable)):
        return True
    # In the graph of a loop the draws are not seen from here: rows are streams if each is the one after the row above.
    if not (len(value) > 0 and (value >= 0).all() and (value < _BOUNDS).all()):
        return False
    return len(value) > 1 and np.array_equal(substreams(value[0], 2), value[:2])


def _words(state: Any) -> list[int]:
    """Return numbers that tell states of generators apart; the state does not move."""
    if isinstance(state, np.ndarray):
        return [int(word) for word in state[0]]
    twin = copy.deepcopy(state)
    draw = twin.integers if isinstance(twin, np.random.Generator) else twin.randint
    return [int(word) for word in draw(0, 2**32, size=4, dtype=np.uint32)]


def _fresh(state: Any, seed: np.random.SeedSequence) -> Any:
    """Return a state of the kind of another one."""
    if isinstance(state, np.ndarray):
        words = seed.generate_state(state.size, np.uint32).reshape(state.shape).astype(np.int64) % _BOUNDS
        words[:, (0, 3)] += words[:, (0, 3)] == 0  # the three numbers of a half must not all be 0
        return words.astype(np.int32)
    if isinstance(state, np.random.Generator):
        bits: Any = type(state.bit_generator)
        return np.random.Generator(bits(seed))
    return np.random.RandomState(np.random.MT19937(seed))
