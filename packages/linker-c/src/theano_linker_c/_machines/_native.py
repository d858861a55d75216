"""The machine in C: programs as the extension `_runtime` takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import IntEnum
from types import MappingProxyType
from typing import Any

import numpy as np

from .._perform import OwnThunk, Runner, call_form, params_of, perform_runner
from .._programs._forms import KernelForm
from .._programs._instructions import Hooks, Instruction, Program, ProgramInput, array_spec_of
from .._programs._schedule import Branch
from .._storage._locks import update_lock_of
from ..cop import CThunk
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
    MultiOutputKernel,
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
from ._index_payload import index_payload
from ._machine import BUFFER_LIMIT, Machine
from ._results import Check, accept_result, checks_of
from ._run_errors import annotate, mismatch
from ._thunks import MachineView, intermediate_registers, python_runner

try:
    import theano_linker_c._runtime as _runtime
except ModuleNotFoundError:
    reason = "it was not built when the package was installed"
    HAS_RUNTIME = False
except ImportError as error:
    reason = str(error)
    HAS_RUNTIME = False
else:
    reason = ""
    HAS_RUNTIME = True


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
    MULTI_OUTPUT = 23
    ROUTINE = 24
    CONVOLUTION = 25
    POOLING = 26


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
        _runner_of,
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


def _runner_of(instruction: Instruction) -> Runner:
    return native_runner(instruction) or python_runner(instruction)


def native_runner(instruction: Instruction) -> Runner | None:
    """Return a function from input values to output values that runs native code on its own, in fresh memory.

    None where the instruction has no kernel, nor C code of its op.
    """
    form = instruction.form
    if isinstance(form, CThunk):
        return form
    if not isinstance(form, KernelForm) or not HAS_RUNTIME:
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
    code_object = instruction.form.code if isinstance(instruction.form, KernelForm) else None
    return int(code), *registers, payload, checks, code_object


def _payload(instruction: Instruction) -> tuple[Code, Any]:
    loaded: LoadedKernel | None = instruction.form.code if isinstance(instruction.form, KernelForm) else None
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
        case ElementwiseKernel() | ReductionKernel() | MultiOutputKernel() as kernel if loaded is not None:
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
    kernel: ElementwiseKernel | ReductionKernel | MultiOutputKernel, loaded: LoadedKernel, instruction: Instruction
) -> tuple[Code, tuple[Any, ...]]:
    match kernel:
        case ElementwiseKernel():
            return Code.ELEMENTWISE, _elementwise(kernel, loaded, instruction)
        case ReductionKernel():
            return Code.REDUCTION, _reduction(kernel, loaded)
        case MultiOutputKernel():
            return Code.MULTI_OUTPUT, _multi_output(kernel, loaded, instruction)


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
    node = instruction.node
    match instruction.form:
        case CThunk(capsule):
            specs = [array_spec_of(v) for v in node.outputs]
            types = tuple(-1 if spec is None else _number(spec.dtype) for spec in specs)
            return Code.THUNK, (capsule, types, tuple(0 if s is None else len(s.shape) for s in specs))
        case Branch(condition, chosen, otherwise):
            return Code.BRANCH, (condition, chosen, otherwise)
        case OwnThunk() as thunk:
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


def _reduction(kernel: ReductionKernel, loaded: LoadedKernel) -> tuple[Any, ...]:
    return (
        loaded.address,
        loaded.outer_address,
        kernel.ndim,
        tuple(_number(dtype) for dtype in kernel.input_dtypes),
        kernel.broadcast,
        (tuple(d in kernel.axes for d in range(kernel.ndim)),),
        _number(kernel.acc_dtype),
        _number(kernel.output_dtype),
        np.array(kernel.seed).astype(kernel.acc_dtype).tobytes(),
        kernel.identity is not None,
        kernel.keepdims,
        float(kernel.cost),
        _JOIN.get(kernel.combine.name),
    )


def _donors(instruction: Instruction, count: int) -> tuple[tuple[int, ...], ...]:
    """Return, for each of the first results, the inputs whose memory it may be put into."""
    return instruction.donors + ((),) * (count - len(instruction.donors))


def _multi_output(kernel: MultiOutputKernel, loaded: LoadedKernel, instruction: Instruction) -> tuple[Any, ...]:
    reductions = kernel.reductions
    dtypes = (*kernel.input_dtypes, *kernel.kept_dtypes, *(reduction.output_dtype for reduction in reductions))
    return (
        loaded.address,
        loaded.outer_address,
        kernel.ndim,
        tuple(_number(dtype) for dtype in dtypes),
        tuple(_number(reduction.acc_dtype) for reduction in reductions),
        tuple(np.array(reduction.seed).astype(reduction.acc_dtype).tobytes() for reduction in reductions),
        tuple(_JOIN[reduction.combine.name] for reduction in reductions),
        kernel.broadcast,
        (tuple(d in kernel.axes for d in range(kernel.ndim)),),
        _donors(instruction, len(kernel.kept_dtypes)),
        any(reduction.identity is None for reduction in reductions),
        float(kernel.cost),
    )
