"""Compiled functions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic

from theano_graph import Apply, FunctionGraph, ShownAsHtml, Variable, config, format_error, printable_graph

from .._lazy import exporting
from ..profiling import ProfileStats, as_profile, timing
from ..program import Machine
from ..runtime._inplace import Decisions
from ..runtime._storage import Container, SharedVariable
from ..runtime._tiers import TieredMachine, link_at_once, link_in_tiers, seconds_of
from ._binding import Arguments, ContainerView, Finder, FunctionMachine, ValueView, watch_calls
from ._io import ArgumentError, In, Out
from ._link import Wiring, link, link_prepared, options_in_tiers, present_thread_scale, wire
from ._maker import FunctionMaker, copy_maker
from ._mapping import Results, ahead_count, check_elements, lists_of_results, one_after_another, thread_count

if TYPE_CHECKING:
    from ..export import CFunction


if TYPE_CHECKING:
    from typing_extensions import TypeVar

    # Plain `Function` stands for one whose results may be anything.
    ResultT = TypeVar("ResultT", default=Any)
else:
    from typing import TypeVar

    ResultT = TypeVar("ResultT")

#: How many programs for subsets of the outputs a function keeps.
KEPT_SUBSETS = 8


class _ProfileOfFunction:
    """The attribute `profile`: the figures of a function; of the class, the class of such figures."""

    def __get__(self, function: Function | None, owner: type[Function]) -> Any:
        return ProfileStats if function is None else function._profile

    def __set__(self, function: Function, value: ProfileStats | None) -> None:
        function._profile = value


class Function(ShownAsHtml, Generic[ResultT]):
    """A compiled function; made by :func:`function`.

    Call it with a value for each input, by position or by name. A call returns the outputs in the form in which they
    were asked for: one value, a list, or a dictionary. Shared variables with updates get their new values after
    everything has been computed; when anything fails, all keep their values.

    Several threads may call one function at once; calls that have updates take a lock, so that none is lost.

    For type checkers, ``Function[R]`` is one whose calls return R.

    Functions compare and hash by identity. They can be pickled and deep-copied: the rewritten graph and the values are
    saved, and machine code is made again.

    Attributes
    ----------
    name : str or None
    maker : FunctionMaker
        ``maker.fgraph`` is the rewritten graph; ``maker.inputs``, ``maker.outputs``, ``maker.mode`` are its arguments.
    machine : Machine
        The machine that runs the program.
    fn : FunctionMachine
        The same for programs that call it themselves: ``f.fn()`` takes the values that the containers of the inputs
        hold, and leaves the results in those of `output_storage`.
    container, value : views
        ``f.container[key]`` and ``f.value[key]`` give the container and the present value of an input, by position,
        name or variable; ``f[key]`` is ``f.value[key]``.
    profile : ProfileStats or None
        Figures of the calls, where profiling was asked for.
    trust_input : bool
        True: values that are not arrays of the right type already are passed on without check or conversion.
    """

    # A call must not cost a Python frame of ours: the slot `__call__` holds the machine, so that Python's call of a
    # function is the machine's call. Programs note things of their own on functions, as `f.source = ...`: `__dict__`.
    __slots__ = (
        "__call__",
        "__dict__",
        "__weakref__",
        "_arguments",
        "_finder",
        "_fn",
        "_looks_for_aliases",
        "_output_storage",
        "_profile",
        "_spare_machines",
        "_stays_python",
        "_subsets",
        "_wiring",
        "input_storage",
        "machine",
        "maker",
        "trust_input",
    )
    #: A pickle's treatment of values that share memory; all of them come back sharing it.
    pickle_aliased_memory_strategy = "warn"

    __call__: Callable[..., ResultT]
    _profile: ProfileStats | None
    profile = _ProfileOfFunction()

    def __init__(self, maker: FunctionMaker, containers: list[Container], profile: ProfileStats | None = None) -> None:
        self.maker = maker
        self.profile = profile
        self.input_storage = containers
        self.trust_input = False
        self._looks_for_aliases = True
        self._stays_python = False
        self._arguments = Arguments(maker.signature, containers)
        self._wiring = wire(maker.signature, containers, self._irregular_call, self._filter, maker.given_up)
        self._finder = Finder(maker.signature, containers)
        self._subsets: dict[tuple[int, ...], Machine] = {}
        self._spare_machines: list[Machine] = []  # of the threads of the last `map`
        self._fn: FunctionMachine | None = None
        self._output_storage: list[Container] | None = None
        self.machine: Machine = self._first_machine()
        self.__call__ = self.machine
        self.once_settled(self._exchange)

    def _irregular_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Bind the arguments of a call that the machine leaves to us, or do the whole call for a subset of outputs."""
        if "output_subset" in kwargs:
            return self._call_subset(args, kwargs, kwargs.pop("output_subset"))
        if "n_calls" in kwargs and "n_calls" not in self._finder:
            # Theano 1.0 has it in `f.fn`: that many calls, of which the last one's results are returned.
            for _ in range(kwargs.pop("n_calls") - 1):
                self.machine(*args, **kwargs)
        return self._arguments.bind(args, kwargs)

    def _filter(self, index: int, value: Any) -> Any:
        return value if self.trust_input else self._arguments.filter(index, value)

    def ready(self, wait: bool | float | None = None) -> bool:
        """Tell whether calls run native code.

        Functions are native when they are made, except tiered ones (the flag `tiered`, the tag "tiered"
        of a mode): kernels that are neither loaded nor on disk run in Python until they have been compiled.

        Parameters
        ----------
        wait : bool or float, optional
            True waits until the code is there, or cannot be made; a number waits so many seconds at most.

        Returns
        -------
        bool
            False also where the compiler has failed: a :class:`CompilerWarning` has said so then, and the function
            goes on in Python.
        """
        seconds = seconds_of(wait)
        if isinstance(self.machine, TieredMachine):
            return self.machine.ready(True if seconds is None else seconds)
        return not self._stays_python

    def once_settled(self, action: Callable[[Machine, bool], object]) -> None:
        """Call `action` with the native machine when it is there, between two calls; at once where it is there now.

        The second argument is False where the function has to go on without it.
        """
        if isinstance(self.machine, TieredMachine):
            self.machine.followers.append(action)
        else:
            action(self.machine, not self._stays_python)

    def _exchange(self, machine: Machine, is_native: bool) -> None:
        """Call another machine from now on."""
        self._stays_python = not is_native
        self.machine = self.__call__ = machine
        self._spare_machines = []
        if self._fn is not None:
            self._fn.replace(machine)
        watch_calls(self, machine)

    @property
    def name(self) -> str | None:
        """Name of the function: where it was given none, the file and line that made it."""
        name: str | None = self.__dict__.get("name")
        return name or self.maker.name

    @name.setter
    def name(self, name: str | None) -> None:
        self.__dict__["name"] = name

    @property
    def wiring(self) -> Wiring:
        """How arguments, shared variables and results belong to the inputs and outputs of the graph."""
        return self._wiring

    @property
    def container(self) -> ContainerView:
        """The containers of the inputs, by position, name or variable."""
        return ContainerView(self._finder)

    @property
    def value(self) -> ValueView:
        """The present values of the inputs, by position, name or variable."""
        return ValueView(self._finder)

    @property
    def finder(self) -> Finder:
        """Containers by position, name and variable."""
        return self._finder

    @property
    def inv_finder(self) -> dict[Container, Any]:
        """Container -> the input that it belongs to."""
        return dict(zip(self.input_storage, self.maker.inputs, strict=True))

    def __getitem__(self, key: int | str | Variable) -> Any:
        return self._finder.find(key).value

    def __setitem__(self, key: int | str | Variable, value: Any) -> None:
        self._finder.find(key).value = value

    def __contains__(self, key: object) -> bool:
        return key in self._finder

    def __iter__(self) -> Any:
        # Defined because __getitem__ alone would make Python try integer keys without end.
        raise TypeError(
            format_error("a compiled function is not iterable", hint="use `fn.maker.inputs` or `fn.value[key]`.")
        )

    @property
    def outputs(self) -> list[Out]:
        """The outputs that a call returns."""
        return self.maker.outputs

    @property
    def fn(self) -> FunctionMachine:
        """The machine, whose calls leave their results in `output_storage`, too."""
        if self._fn is None:
            boxes, n_outputs = self.output_storage, len(self.maker.outputs)
            targets = [self.input_storage[target] for target in self.maker.signature.update_targets]
            new_values = list(zip(boxes[n_outputs:], targets, strict=True))
            self._fn = FunctionMachine(self.machine, boxes[:n_outputs], new_values, self._output_position)
        return self._fn

    @property
    def output_storage(self) -> list[Container]:
        """For each output and each new value of an input, a container with the result of the last call of `fn`."""
        storage = self.machine.storage_map  # asked each time: then it holds the results of a machine that frees nothing
        if self._output_storage is None:
            outputs = self.maker.fgraph.outputs
            # Inputs and constants that are outputs, too, keep the storage that they have as such.
            self._output_storage = [Container(v, None if v.owner is None else storage.get(v)) for v in outputs]
        return self._output_storage

    @property
    def indices(self) -> list[tuple[In, list[int], list[In]]]:
        """For each input, it, its position in the graph, and it again: the historical form of grouped inputs."""
        return [(item, [i], [item]) for i, item in enumerate(self.maker.inputs)]

    @property
    def defaults(self) -> list[tuple[bool, bool, Any]]:
        """For each input, whether a call must give it, whether its value is put back after a call, and that value."""
        return [_default(item) for item in self.maker.inputs]

    @property
    def return_none(self) -> bool:
        """Whether a call returns None instead of a list; never."""
        return False

    @property
    def _check_for_aliased_inputs(self) -> bool:
        # Programs turn it off, for calls of `fn` itself; here a call looks for shared memory only where it matters.
        return self._looks_for_aliases and any(item.borrow and not item.shared for item in self.maker.inputs)

    @_check_for_aliased_inputs.setter
    def _check_for_aliased_inputs(self, value: bool) -> None:
        self._looks_for_aliases = bool(value)

    @property
    def output_keys(self) -> list[str] | None:
        """Keys where the outputs are a dictionary."""
        return self.maker.output_keys

    @property
    def unpack_single(self) -> bool:
        """Whether a call returns the one output itself."""
        return self.maker.unpack_single

    def sync_shared(self) -> None:
        """Wait until the values of all shared variables are complete; arrays in host memory always are."""
        for box in self.input_storage:
            sync = getattr(box.value, "sync", None)
            if sync is not None:
                sync()

    def free(self) -> None:
        """Let go of memory kept for the next call; values of inputs and shared variables stay.

        Ops that run graphs of their own, and have a method `free_buffers`, do the same there.
        """
        self.machine.clear()
        for box in self._output_storage or ():
            box.storage[0] = None
        for machine in self._subsets.values():
            machine.clear()
        self._spare_machines.clear()
        for instruction in self.machine.program.instructions:
            free_buffers = getattr(instruction.node.op, "free_buffers", None)
            if free_buffers is not None:
                free_buffers()

    def get_shared(self) -> list[Variable]:
        """Return the shared variables that the function reads or updates."""
        return [item.variable for item in self.maker.inputs if item.shared]

    def map(
        self,
        elements: Iterable[Any],
        threads: int | None = None,
        *,
        ahead: int | None = None,
        in_order: bool = True,
    ) -> Iterator[ResultT]:
        """Call the function for every element, from several threads, and give the results in the order of the elements.

        Each thread computes with memory of its own. Functions of native operations alone run without the interpreter
        meanwhile, a batch of calls at a time, so that small calls gain, too; values of shared variables are read once
        a batch.

        Parameters
        ----------
        elements : iterable
            A tuple or list holds the arguments of a call, a dict those by keyword; anything else is the one argument.
            Arrays are not copied, nor are the rows of one: a change before the call changes the result.
        threads : int, optional
            By default as many as there are cores; this thread is one of them while calls are short. With 1, each call
            is made in this thread when its result is asked for.
        ahead : int, optional
            How many elements may be taken from the iterable before their results are asked for; 512 a thread by
            default, and fewer of calls that take long.
        in_order : bool
            Of functions that update shared variables: True makes the calls in this thread, one after another. False
            lets the threads make them in any order; no update is lost then, but which call sees which value is not
            determined.

        Returns
        -------
        iterator
            Calls begin when the first result is asked for. An error of a call is raised in the place of its result,
            and says of which element it is; that ends the iterator.

        Raises
        ------
        TypeError, ValueError
            If `elements` is no iterable of arguments, `threads` or `ahead` is not a number of at least 1, or `in_order`
            is no truth value.

        Examples
        --------
        >>> import theano, theano.tensor as T
        >>> x, y = T.dscalars("x", "y")
        >>> f = theano.function([x, y], x * y)
        >>> [float(product) for product in f.map([(1, 2), (3, 4), {"x": 5, "y": 6}], threads=2)]
        [2.0, 12.0, 30.0]
        """
        check_elements(elements)
        count = thread_count(threads)
        most = ahead_count(ahead, count)
        if not isinstance(in_order, bool):
            raise TypeError(format_error(f"map: in_order is a bool; got {in_order!r}", hint="leave it out for True."))
        if count == 1 or (in_order and self.maker.signature.update_targets):
            return one_after_another(self, elements)
        bind, n_inputs = self._arguments.bind, len(self._arguments.inputs)
        return Results(lists_of_results(self.machine, bind, n_inputs, elements, count, most, self._spare_machines))

    def c_pointer(
        self, signature: str | None = None, *, shapes: Mapping[Any, Sequence[int]] | None = None
    ) -> CFunction:
        """Compile the function as a C function, which needs no interpreter and may be called from any thread.

        `ctypes`, `scipy.LowLevelCallable`, Numba and other C code can call it. Equal functions are compiled once: the
        code is kept in the cache of compiled kernels.

        Shared variables are constants in it, with the values that they have now. Functions that update some are
        refused. Temporary arrays are on the stack where they are small, and belong to the calling thread otherwise, so
        that several threads may call it at once.

        After an error, a call returns NaN (0 where it returns an integer) or fills its results with it, and
        ``pointer.message()``, called by the same thread, describes the error.

        Parameters
        ----------
        signature : str, optional
            In C, such as ``"double(double)"``: arguments for the inputs, then pointers to memory for the outputs. An
            output that is a number may be returned; ``int`` with pointers for all outputs returns 0, or the number of
            an error. ``"double(int, double *)"`` is for one vector, or as many numbers as the integer says, as
            SciPy's integrals pass them. A last argument ``void *`` is ignored. By default: numbers as such, arrays as
            pointers, and the one output that is a number as result.
        shapes : mapping, optional
            Shapes of inputs, by variable or name, where their types do not tell them.

        Returns
        -------
        CFunction
            A function object of ctypes, with an `address`. Its code is unloaded when the object goes away.

        Raises
        ------
        TypeError
            If an operation has no form in C, lengths are not known, or the function has updates.
        ValueError
            If the signature does not fit.

        Examples
        --------
        >>> import theano, theano.tensor as T
        >>> x = T.dscalar("x")
        >>> f = theano.function([x], T.exp(-x**2)).c_pointer("double(double)")
        >>> f(0.0)
        1.0
        """
        pointer: CFunction = exporting().c_pointer(self, signature, shapes=shapes)
        return pointer

    def copy(
        self,
        share_memory: bool = False,
        swap: Mapping[SharedVariable, SharedVariable] | None = None,
        delete_updates: bool = False,
        name: str | None = None,
        profile: Any = None,
    ) -> Function:
        """Return a copy with its own graph; nothing is rewritten again.

        Parameters
        ----------
        share_memory : bool
            Permits both functions to use the same memory for intermediate results. A hint: machines take that memory
            from one allocator anyway.
        swap : mapping, optional
            Shared variable of this function -> the one to use instead in the copy.
        delete_updates : bool
            True: the copy updates nothing.
        name : str, optional
            By default this function's name with " copy" appended.
        profile : bool, str, ProfileStats or None
            As for :func:`function`.

        Returns
        -------
        Function
            A call of the copy returns a list also where this function returns the one output itself.

        Raises
        ------
        ValueError, TypeError
            If `swap` names a variable that the function does not use, or one of another type.
        """
        maker = copy_maker(self.maker, swap or {}, delete_updates, self._name_of_copy() if name is None else name)
        values = [box.value for box in self.input_storage]
        stats = as_profile(profile, maker.name, f"{maker.signature.label}.copy")
        return type(self)(maker, maker.containers(values), stats)

    def __copy__(self) -> Function:
        containers = [
            box if isinstance(item.value, Container) else box.duplicate() if item.update is not None else _twin(box)
            for item, box in zip(self.maker.inputs, self.input_storage, strict=True)
        ]
        twin = type(self)(self.maker, containers)
        twin.name = self._name_of_copy()
        return twin

    def _name_of_copy(self) -> str:
        return f"{self.name or ''} copy".strip()

    def __reduce__(self) -> tuple[Any, ...]:
        return restore_function, (self.maker, self.input_storage, self.trust_input, self.__dict__.get("name"))

    def __repr__(self) -> str:
        inputs = ", ".join(str(item.name or item.variable) for item in self._arguments.inputs)
        name = self.__dict__.get("name") or self.maker.signature.name
        label = f" {name}" if name else ""
        return f"<{type(self).__name__}{label}({inputs}) of {len(self.maker.fgraph.apply_nodes)} nodes>"

    def _call_subset(self, args: tuple[Any, ...], kwargs: dict[str, Any], subset: Sequence[Any]) -> Any:
        keys = self.maker.output_keys
        indices = tuple(self._output_position(key) for key in subset)
        machine = self._subsets.get(indices)
        if machine is None:
            if len(self._subsets) >= KEPT_SUBSETS:
                self._subsets.pop(next(iter(self._subsets)))
            machine = self._subsets[indices] = self._subset_machine(indices)
        outputs = machine.run(self._arguments.bind(args, kwargs))
        return outputs if keys is None else {keys[i]: value for i, value in zip(indices, outputs, strict=True)}

    def _output_position(self, key: Any) -> int:
        keys, n_outputs = self.maker.output_keys, len(self.maker.outputs)
        if keys is not None and key in keys:
            return keys.index(key)
        if isinstance(key, int) and -n_outputs <= key < n_outputs:
            return key % n_outputs
        raise ArgumentError(
            format_error(
                f"output_subset: {self.maker.signature.label} has no output {key!r}",
                context=[f"it has {n_outputs} outputs" + (f" with the keys {', '.join(keys)}" if keys else "")],
                hint="list indices of outputs" + (" or their keys." if keys else "."),
            )
        )

    def _subset_machine(self, indices: tuple[int, ...]) -> Machine:
        part = self.maker.graph_of(indices)
        shift = len(indices) - len(self.maker.outputs)
        wiring = dataclasses.replace(
            self._wiring,
            updates=[(i + shift, cell) for i, cell in self._wiring.updates],
            n_outputs=len(indices),
            hooks=dataclasses.replace(self._wiring.hooks, single=False, finish=None),
        )
        return self._link(part, wiring)

    def _first_machine(self) -> Machine:
        maker = self.maker
        prepared, maker.prepared = maker.prepared, None
        if prepared is None:
            return self._link(maker.fgraph, self._wiring, maker.decisions)
        with timing(self.profile, "linker_time"):
            machine = partial(link_prepared, prepared, self._wiring, maker.mode.linker)
            return self._watched(link_at_once(machine))

    def _link(self, fgraph: FunctionGraph, wiring: Wiring, decisions: Decisions | None = None) -> Machine:
        maker = self.maker
        with timing(self.profile, "linker_time"):
            label = maker.signature.label
            options = options_in_tiers(maker.mode)
            # The flags of now count for the native machine, too.
            linker = maker.mode.linker if options is None else maker.mode.linker.clone(maker.mode.linker.frees)
            scale = present_thread_scale()

            def make() -> Machine:
                alone = self.profile is not None  # its figures are those of single nodes
                return link(fgraph, wiring, linker, label, maker.overwriting, decisions, scale, not alone)

            if options is None:
                return self._watched(link_at_once(make))
            return link_in_tiers(make, self._watched, options, label)

    def _watched(self, machine: Machine) -> Machine:
        """Count the calls of a machine from now on, where the function is profiled."""
        if self.profile is not None:
            self.profile.watch(machine)
        return machine


def _default(item: In) -> tuple[bool, bool, Any]:
    held = isinstance(item.value, Container)
    value = item.value.value if held else item.value
    return item.value is None, item.value is not None and not held and item.update is None, value


def _twin(box: Container) -> Container:
    twin = Container(box.type, strict=box.strict, allow_downcast=box.allow_downcast, name=box.name)
    twin.storage[0] = box.storage[0]
    return twin


def restore_function(
    maker: FunctionMaker, containers: list[Container], trust_input: bool, name: str | None = None
) -> Function:
    """Make a function again from its pickled state."""
    if config.reoptimize_unpickled_function:
        maker.reoptimize()
    fn = Function(maker, containers, as_profile(None, maker.name, maker.signature.label))
    fn.trust_input = trust_input
    fn.name = name
    return fn


@printable_graph.register(Function)
def _printable_function(obj: Function) -> Any:
    fgraph = obj.maker.fgraph
    storage = dict(obj.machine.storage_map)
    storage.update((v, box.storage) for v, box in zip(fgraph.inputs, obj.input_storage, strict=True))
    order: list[Apply] = fgraph.toposort()
    targets = obj.maker.signature.update_targets
    new_values = fgraph.outputs[len(fgraph.outputs) - len(targets) :]
    updates = {new: fgraph.inputs[target] for new, target in zip(new_values, targets, strict=True)}
    shown = dataclasses.replace(printable_graph(fgraph), order=order, storage=storage, updates=updates)
    if obj.profile is None:
        return shown
    return dataclasses.replace(shown, times=obj.profile.apply_time, call_time=obj.profile.fct_call_time)
