"""The machine in C: programs as the extension `_runtime` takes them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from enum import IntEnum
from functools import cache
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from theano_graph import Apply, Variable

from .._perform import Runner, call_form, params_of, perform_runner
from .._programs._instructions import Hooks, Instruction, Program, ProgramInput, array_spec_of
from .._storage._locks import update_lock_of
from ..kernels import (
    CONVOLUTION_TASKS,
    POOLING_MODES,
    POOLING_TASKS,
    ROUTINES,
    TASKS,
    ArgmaxKernel,
    ArrayRoutineKernel,
    ConcatenateKernel,
    ConvolutionKernel,
    ElementwiseKernel,
    FullKernel,
    IndexReadKernel,
    IndexViewKernel,
    IndexWriteKernel,
    LapackKernel,
    LengthKernel,
    LoadedKernel,
    MatrixProductKernel,
    PoolingKernel,
    ReductionKernel,
    ReshapeKernel,
    Shaping,
    SpecifyShapeKernel,
    SplitKernel,
    StackKernel,
    TransposeKernel,
    lapack_addresses,
)
from ..ops import DeepCopyOp
from ._counters import Observer, Reading
from ._index_payload import index_payload
from ._python import PythonMachine
from ._results import Check, accept_result, checks_of
from ._run_errors import annotate, mismatch
from ._thunks import MachineView, Thunk, intermediate_registers, python_runner

try:
    import theano_linker_c._runtime as _runtime
except ModuleNotFoundError:
    _reason = "it was not built when the package was installed"
    HAS_RUNTIME = False
except ImportError as error:
    _reason = str(error)
    HAS_RUNTIME = False
else:
    _reason = ""
    HAS_RUNTIME = True

#: Bytes that a machine keeps for its next call at most.
BUFFER_LIMIT = 1 << 28


class Code(IntEnum):
    """Kinds of instructions; the same numbers as in c/runtime.h."""

    ELEMENTWISE = 0
    REDUCTION = 1
    PRODUCT = 2
    TRANSPOSE = 3
    COPY = 4
    PERFORM = 5
    CALL = 6
    LAZY = 7
    BRANCH = 8
    THUNK = 9
    ARGMAX = 10
    INDEX_VIEW = 11
    INDEX_READ = 12
    INDEX_WRITE = 13
    LENGTH = 14
    STACK = 15
    RESHAPE = 16
    FULL = 17
    CONCATENATE = 18
    BATCHED_PRODUCT = 19
    LAPACK = 20
    SPECIFY_SHAPE = 21
    SPLIT = 22
    ROUTINE = 23
    CONVOLUTION = 24
    POOLING = 25


#: Instructions that may run code which is not the runtime's own.
_FOREIGN = frozenset(
    (Code.PERFORM, Code.CALL, Code.LAZY, Code.THUNK, Code.LAPACK, Code.ROUTINE, Code.CONVOLUTION, Code.POOLING)
)
#: What joins partial results of a reduction that was cut in chunks, by the name of the op that is reduced.
_JOIN: Mapping[str, np.ufunc] = MappingProxyType(
    {
        "add": np.add,
        "mul": np.multiply,
        "maximum": np.maximum,
        "minimum": np.minimum,
        "and_": np.bitwise_and,
        "or_": np.bitwise_or,
        "xor": np.bitwise_xor,
    }
)
_INDEX_CODES = MappingProxyType(
    {IndexViewKernel: Code.INDEX_VIEW, IndexReadKernel: Code.INDEX_READ, IndexWriteKernel: Code.INDEX_WRITE}
)
_PRODUCTS = ("dot", "gemv", "vecmat", "gemm", "ger")


class Machine(Protocol):
    """What runs a program: called as the function is called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def run(self, values: Any, /) -> list[Any]: ...
    def clear(self) -> None: ...
    def start_profile(self, skip: int, observer: Observer | None, /) -> None: ...
    def read_profile(self) -> Reading | None: ...
    @property
    def position_of_error(self) -> int: ...
    @property
    def program(self) -> Program: ...
    @property
    def thunks(self) -> list[Thunk]: ...
    @property
    def nodes(self) -> list[Apply]: ...
    @property
    def storage_map(self) -> dict[Variable, list[Any]]: ...


def make_machine(
    program: Program,
    hooks: Hooks,
    *,
    native: bool = True,
    buffer_limit: int = BUFFER_LIMIT,
    thread_scale: float = 1.0,
    keep: bool = False,
) -> Machine:
    """Return the machine in C, or the one in Python where `native` is False or the extension was not built.

    Parameters
    ----------
    program : Program
    hooks : Hooks
    native : bool
    buffer_limit : int
        Bytes of output memory that the machine may keep for its next call; 0 keeps none.
    thread_scale : float
        How much more work than usual an instruction must have before several threads share it; infinity: never.
    keep : bool
        Whether intermediate results stay after a call, to be looked at, as far as no other result is in their memory.

    Returns
    -------
    Machine
    """
    if native and not HAS_RUNTIME:
        _warn_once()
    if native and HAS_RUNTIME:
        return native_machine(program, hooks, buffer_limit, thread_scale, keep)
    return PythonMachine(program, hooks, keep)


@cache
def _warn_once() -> None:
    warnings.warn(
        "theano-linker-c: the C runtime is missing, so functions run in the pure-Python machine: right, but slower "
        f"({_reason}). To mend: install a C compiler and Python's headers, then install theano-linker-c again.",
        stacklevel=4,
    )


def native_machine(
    program: Program,
    hooks: Hooks,
    buffer_limit: int = BUFFER_LIMIT,
    thread_scale: float = 1.0,
    keep: bool = False,
) -> Machine:
    """Return the machine in C."""

    def on_result(index: int, k: int, value: Any, replaced: int) -> Any:
        return accept_result(program.instructions[index], k, value, bool(replaced))

    def on_error(index: int, values: list[Any], error: BaseException | None) -> BaseException:
        raised = mismatch(program.instructions[index].node, values) if error is None else error
        view.note(index, values)
        return annotate(raised, program, index, values)

    view = MachineView(
        program,
        runner_of,
        fetch=(lambda: machine.retained()) if keep else None,
        failed=lambda: machine.failed_instruction,
    )
    machine = _runtime.Machine(
        n_registers=program.n_registers,
        inputs=tuple(_input_check(given) for given in program.inputs),
        cells=program.cells,
        constants=program.constants,
        instructions=tuple(_encode(instruction) for instruction in program.instructions),
        outputs=program.outputs,
        updates=program.updates,
        single=hooks.single,
        on_irregular=hooks.on_irregular,
        on_input=hooks.on_input,
        on_result=on_result,
        on_error=on_error,
        finish=hooks.finish,
        buffer_limit=buffer_limit,
        thread_scale=thread_scale,
        locks=tuple(update_lock_of(cell) for _, cell in program.updates),
    )
    if program.schedule is not None:
        machine.set_schedule(program.schedule.roots, program.schedule.needs, program.schedule.readers)
    if keep:
        machine.retain_registers(intermediate_registers(program))
    machine.view = view
    return machine


def runner_of(instruction: Instruction, native: bool = True) -> Runner:
    """Return a function from input values to output values: the kernel where there is one and it is wanted."""
    kernel = native_runner(instruction) if native else None
    return python_runner(instruction) if kernel is None else kernel


def native_runner(instruction: Instruction) -> Runner | None:
    """Return a function from input values to output values that runs native code on its own, in fresh memory.

    None where the instruction has no kernel, nor C code of its op.
    """
    if instruction.c_thunk is not None:
        return instruction.c_thunk
    if instruction.kernel is None or not HAS_RUNTIME:
        return None
    node = instruction.node
    given = dict.fromkeys(instruction.inputs)
    numbers = {register: i for i, register in enumerate((*given, *instruction.outputs))}
    alone = replace(instruction, release=(), donors=(), waits=None)

    def on_result(index: int, k: int, value: Any, replaced: int) -> Any:
        return accept_result(instruction, k, value, bool(replaced))

    def on_error(index: int, values: list[Any], error: BaseException | None) -> BaseException:
        return mismatch(node, values) if error is None else error

    code, _, _, _, *rest = _encode(alone)
    machine = _runtime.Machine(
        n_registers=len(numbers),
        inputs=tuple((i, -1, False, False, False, ()) for i in range(len(given))),
        cells=(),
        constants=(),
        instructions=(
            (
                code,
                tuple(numbers[r] for r in instruction.inputs),
                tuple(numbers[r] for r in instruction.outputs),
                (),
                *rest,
            ),
        ),
        outputs=tuple(numbers[r] for r in instruction.outputs),
        updates=(),
        single=False,
        on_irregular=_unused,
        on_input=_as_it_is,
        on_result=on_result,
        on_error=on_error,
        finish=None,
        buffer_limit=0,
        thread_scale=1.0,
        locks=(),
    )
    first = [instruction.inputs.index(register) for register in given]
    return lambda values: machine.run([values[i] for i in first])


def _as_it_is(index: int, value: Any) -> Any:
    return value


def _unused(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise TypeError("the machine of one instruction is run, not called")


def _number(dtype: str) -> int:
    return np.dtype(dtype).num


def _input_check(given: ProgramInput) -> tuple[int, int, bool, bool, bool, tuple[int, ...]]:
    spec, accepts = array_spec_of(given.variable), given.accepts
    if spec is None:
        return given.register, -1, False, False, accepts.overwrite, ()
    takes_float = accepts.floats and spec.dtype in ("float32", "float64") and not spec.shape
    shape = tuple(-1 if n is None else n for n in spec.shape)
    return given.register, _number(spec.dtype), takes_float, accepts.ints and not shape, accepts.overwrite, shape


#: Kind, registers that are read, written and let go of, payload, checks of the results, and the machine code whose
#: addresses are in the payload: it has to stay as long as the machine.
Encoded = tuple[
    int,
    tuple[int, ...],
    tuple[int, ...],
    tuple[int, ...],
    Any,
    tuple[Check, ...] | None,
    LoadedKernel | None,
]


def _encode(instruction: Instruction) -> Encoded:
    code, payload = _payload(instruction)
    checks = checks_of(instruction.node) if code in _FOREIGN else None
    registers = instruction.inputs, instruction.outputs, instruction.release
    return int(code), *registers, payload, checks, instruction.loaded


def _payload(instruction: Instruction) -> tuple[Code, Any]:
    loaded = instruction.loaded
    match instruction.kernel:
        case TransposeKernel(order, drop):
            axes = tuple(-1 if axis is None else axis for axis in order)
            return Code.TRANSPOSE, (len(drop) + sum(axis >= 0 for axis in axes), axes, drop)
        case IndexViewKernel() | IndexReadKernel() | IndexWriteKernel() as kernel:
            return _INDEX_CODES[type(kernel)], index_payload(kernel, instruction)
        case (
            LengthKernel()
            | StackKernel()
            | ReshapeKernel()
            | FullKernel()
            | ConcatenateKernel()
            | SpecifyShapeKernel()
            | SplitKernel() as kernel
        ):
            return _shaping(kernel)
        case ElementwiseKernel() | ReductionKernel() as kernel if loaded is not None:
            return _loop(kernel, loaded, instruction)
        case ArgmaxKernel(dtype, ndim, axes) as kernel if loaded is not None:
            is_reduced = (tuple(d in axes for d in range(ndim)),)
            addresses = loaded.address, loaded.outer_address
            return Code.ARGMAX, (*addresses, ndim, _number(dtype), is_reduced, float(kernel.cost))
        case LapackKernel(task, dtype, flag) if lapack_addresses(task, dtype):
            number, routines = list(ROUTINES).index(task), lapack_addresses(task, dtype)
            return Code.LAPACK, (number, _number(dtype), flag, routines, perform_runner(instruction.node))
        case ArrayRoutineKernel() | ConvolutionKernel() | PoolingKernel() as kernel:
            return _routine(kernel, instruction)
        case MatrixProductKernel("batched", dtype) if loaded is not None and dtype in ("float32", "float64"):
            return Code.BATCHED_PRODUCT, (_number(dtype), loaded.address)
        case MatrixProductKernel(kind, dtype) as kernel if loaded is not None and dtype in ("float32", "float64"):
            takes = bool(instruction.donors) and 0 in instruction.donors[0]
            overwrites = 0 in instruction.node.op.destroy_map.get(0, ())
            return Code.PRODUCT, (
                _PRODUCTS.index(kind),
                _number(dtype),
                loaded.address,
                takes,
                overwrites,
                0 if instruction.waits is None else instruction.waits + 1,
            )
    return _python_payload(instruction)


def _routine(
    kernel: ArrayRoutineKernel | ConvolutionKernel | PoolingKernel, instruction: Instruction
) -> tuple[Code, tuple[Any, ...]]:
    otherwise = perform_runner(instruction.node)
    match kernel:
        case ArrayRoutineKernel(task, dtype, number):
            one = np.ones((), dtype).tobytes()
            return Code.ROUTINE, (TASKS.index(task), _number(dtype), number, one, otherwise)
        case ConvolutionKernel(task, dtype, strides, dilations, _, flip, groups):
            numbers = CONVOLUTION_TASKS.index(task), _number(dtype), flip, groups
            return Code.CONVOLUTION, (*numbers, strides, dilations, *kernel.sides, otherwise)
        case PoolingKernel(task, dtype, ndim, mode, ignore_border):
            return Code.POOLING, (
                POOLING_TASKS.index(task),
                _number(dtype),
                ndim,
                POOLING_MODES.index(mode),
                ignore_border,
                otherwise,
            )


def _loop(
    kernel: ElementwiseKernel | ReductionKernel, loaded: LoadedKernel, instruction: Instruction
) -> tuple[Code, tuple[Any, ...]]:
    match kernel:
        case ElementwiseKernel():
            return Code.ELEMENTWISE, _elementwise(kernel, loaded, instruction)
        case ReductionKernel():
            return Code.REDUCTION, _reduction(kernel, loaded, instruction)


def _shaping(kernel: Shaping) -> tuple[Code, tuple[Any, ...]]:
    match kernel:
        case LengthKernel(axis):
            return Code.LENGTH, (axis,)
        case StackKernel(dtype):
            return Code.STACK, (_number(dtype),)
        case ReshapeKernel(dtype, ndim, ndim_out):
            return Code.RESHAPE, (_number(dtype), ndim, ndim_out)
        case FullKernel(dtype, broadcastable):
            return Code.FULL, (_number(dtype), len(broadcastable), (broadcastable,))
        case ConcatenateKernel(dtype, ndim, axis):
            return Code.CONCATENATE, (_number(dtype), ndim, axis)
        case SpecifyShapeKernel(checked):
            return Code.SPECIFY_SHAPE, ((checked,),)
        case SplitKernel(dtype, ndim, axis):
            return Code.SPLIT, (_number(dtype), ndim, axis)


def _python_payload(instruction: Instruction) -> tuple[Code, Any]:
    node, branch, thunk = instruction.node, instruction.branch, instruction.thunk
    if instruction.c_thunk is not None:
        specs = [array_spec_of(v) for v in node.outputs]
        types = tuple(-1 if spec is None else _number(spec.dtype) for spec in specs)
        return Code.THUNK, (instruction.c_thunk.capsule, types, tuple(0 if s is None else len(s.shape) for s in specs))
    if branch is not None:
        return Code.BRANCH, (branch.condition, branch.chosen, branch.otherwise)
    if thunk is not None:
        return (Code.LAZY, thunk.attempt) if thunk.lazy else (Code.CALL, thunk)
    form = call_form.get(node.op)
    if form is not None:
        return Code.CALL, form(node)
    if type(node.op) is DeepCopyOp:
        run = perform_runner(node)
        return Code.COPY, lambda value: run([value])[0]
    return Code.PERFORM, (node.op.perform, node, *params_of(node))


def _elementwise(kernel: ElementwiseKernel, loaded: LoadedKernel, instruction: Instruction) -> tuple[Any, ...]:
    donors = _donors(instruction, len(kernel.output_dtypes))
    types = tuple(_number(dtype) for dtype in kernel.input_dtypes + kernel.output_dtypes)
    # What the op says that it overwrites is named twice.
    told = instruction.node.op.destroy_map
    donors = tuple((told[k][0],) * 2 if k in told else () if told else row for k, row in enumerate(donors))
    return loaded.address, kernel.ndim, types, kernel.broadcast, float(max(kernel.cost, 1)), donors


def _donors(instruction: Instruction, count: int) -> tuple[tuple[int, ...], ...]:
    """Return, for each of the first results, the inputs whose memory it may be put into."""
    return instruction.donors + ((),) * (count - len(instruction.donors))


def _reduction(kernel: ReductionKernel, loaded: LoadedKernel, instruction: Instruction) -> tuple[Any, ...]:
    reductions = kernel.reductions
    dtypes = (*kernel.input_dtypes, *kernel.kept_dtypes, *(reduction.output_dtype for reduction in reductions))
    return (
        loaded.address,
        loaded.outer_address,
        kernel.ndim,
        tuple(_number(dtype) for dtype in dtypes),
        tuple(_number(reduction.acc_dtype) for reduction in reductions),
        tuple(np.array(reduction.seed).astype(reduction.acc_dtype).tobytes() for reduction in reductions),
        tuple(_JOIN.get(reduction.combine.name) for reduction in reductions),
        kernel.broadcast,
        (tuple(d in kernel.axes for d in range(kernel.ndim)),),
        _donors(instruction, len(kernel.kept_dtypes)),
        any(reduction.identity is None for reduction in reductions),
        float(kernel.cost),
    )
