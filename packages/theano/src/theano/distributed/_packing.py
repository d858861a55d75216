"""The form of objects sent to workers: states of random streams, and functions with their values."""

from __future__ import annotations

import copy
import copyreg
import hashlib
import importlib
import io
import pickle
import reprlib
import threading
from collections import ChainMap, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from theano_graph import Apply, describe, format_error
from theano_linker_c import Container, Function
from theano_tensor.random import GeneratorType, RandomStateType
from theano_tensor.random.mrg import M1, M2, MRGUniform, substreams

# ---- The state of functions between calls: values that are put back before each item, and random states with new seeds

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


# ---- Functions on their way to workers: pickled once by the caller, unpickled once by each worker
#
# A parcel has a key made of its content. A worker keeps unpickled parcels under that key, as many copies as
# threads have used at one time: functions with shared variables are not for two users at once.

#: So many different functions a worker keeps; the one that was used longest ago is given up first.
KEPT = 16


class Packed(NamedTuple):
    """A parcel that a worker unpickles once."""

    key: str
    data: bytes


class Loaded(NamedTuple):
    """An unpickled parcel, and the values that its functions keep between calls."""

    value: Any
    states: States


class _Found(threading.local):
    """The functions that a pickle had, while it is read or written."""

    functions: list[Function] | None = None


_found = _Found()


def _pack_function(function: Function) -> tuple[Any, ...]:
    if _found.functions is not None:
        _found.functions.append(function)
    reduced: Any = function.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    restore, arguments, *more = reduced
    return _unpack_function, (restore, arguments), *more


def _unpack_function(restore: Callable[..., Function], arguments: Sequence[Any]) -> Function:
    function = restore(*arguments)
    if _found.functions is not None:
        _found.functions.append(function)
    return function


@contextmanager
def _finding() -> Iterator[list[Function]]:
    before, _found.functions = _found.functions, []
    try:
        yield _found.functions
    finally:
        _found.functions = before


def _pickler(by_value: bool, file: io.BytesIO, keep: Callable[[Any], object] | None = None) -> Any:
    """Return a pickler; with `by_value` one that includes definitions of the main program, where there is one.

    The memory of arrays goes to `keep` instead of into the file, if it is given.
    """
    pickler_class: Any = pickle.Pickler
    table: Any = copyreg.dispatch_table
    for name in ("cloudpickle", "joblib.externals.cloudpickle") if by_value else ():
        try:
            pickler_class = importlib.import_module(name).Pickler
        except ImportError:
            continue
        table = pickler_class.dispatch_table
        break
    # Picklers read the table when they are made.
    kind = type("Packer", (pickler_class,), {"dispatch_table": ChainMap({Function: _pack_function}, table)})
    return kind(file, pickle.HIGHEST_PROTOCOL, buffer_callback=keep)


def pack(value: Any, *, by_value: bool) -> Packed:
    """Pickle objects for workers.

    Parameters
    ----------
    value : object
        A compiled function, or anything that has some.
    by_value : bool
        Whether functions of the main program are sent as code, which Dask and joblib do, instead of by their names.

    Raises
    ------
    TypeError
        If something cannot be pickled; where it is an op, the message names it.
    """
    file = io.BytesIO()
    with _finding() as functions:
        try:
            _pickler(by_value, file).dump(value)
        except Exception as error:
            raise TypeError(_what_is_wrong(value, functions, by_value, error)) from error
    data = file.getvalue()
    return Packed(hashlib.sha256(data).hexdigest(), data)


def _leave_out(buffer: Any) -> None:
    """Let a pickler that only tries leave the memory of arrays where it is."""


def check_items(items: Iterable[tuple[int, Any]], *, by_value: bool) -> None:
    """Check that items can be sent to workers.

    Raises
    ------
    TypeError
        If one of them cannot be pickled: the message names it.
    """
    for i, item in items:
        reason = _refusal(item, by_value)
        if reason is not None:
            raise TypeError(
                format_error(
                    f"element {i} of the arguments of map, counted from 0, cannot be sent to workers: {reason}",
                    context=[reprlib.repr(item)],
                    hint="give numbers, arrays, names of files, and let the function build its objects from them",
                )
            ) from reason


def _refusal(value: object, by_value: bool) -> Exception | None:
    try:
        _pickler(by_value, io.BytesIO(), _leave_out).dump(value)
    except Exception as error:  # noqa: BLE001  (pickling calls what classes define)
        return error
    return None


def _what_is_wrong(value: object, functions: Sequence[Function], by_value: bool, error: Exception) -> str:
    """Look for the op that cannot be pickled, then for the shared value."""
    advice = "define its class, and those of its members, at the top of a module that the workers can import"
    for function in functions:
        label = str(function.maker.signature.label)
        for node in function.maker.fgraph.toposort():
            reason = _refusal(node.op, by_value)
            if reason is not None:
                return format_error(
                    f"{label} cannot be sent to workers: its op {node.op} cannot be pickled: {reason}",
                    context=[describe(node.outputs[0])],
                    hint=advice,
                )
        for box in function.input_storage:
            reason = _refusal(box.value, by_value)
            if reason is not None:
                return format_error(
                    f"{label} cannot be sent to workers: its value {box.name!r} cannot be pickled: {reason}",
                    hint=advice,
                )
    return format_error(
        f"{value!r:.80} cannot be sent to workers: it cannot be pickled: {error}",
        hint="give a compiled function, or a function defined at the top of a module (functools.partial gives it more)",
    )


class _Shelf(NamedTuple):
    idle: list[Loaded]


_shelves: OrderedDict[str, _Shelf] = OrderedDict()
_lock = threading.Lock()


@contextmanager
def loaded(packed: Packed) -> Iterator[Loaded]:
    """Lend a parcel to the present thread, unpickled now if no copy of it is free."""
    with _lock:
        shelf = _shelves.setdefault(packed.key, _Shelf([]))
        _shelves.move_to_end(packed.key)
        while len(_shelves) > KEPT:
            _shelves.popitem(last=False)
        pickle_state = shelf.idle.pop() if shelf.idle else None
    if pickle_state is None:
        with _finding() as functions:
            value = pickle.loads(packed.data)
        pickle_state = Loaded(value, States(functions))
    try:
        yield pickle_state
    finally:
        with _lock:
            shelf.idle.append(pickle_state)
