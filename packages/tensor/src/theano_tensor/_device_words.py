"""The archive reader's allowlist for variables and ops on devices; see `theano_graph.safe_loading`.

Nothing of the device layer is imported before an archive asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from theano_gpuarray.archives import require_context
from theano_graph.safe_loading import ClassWord, Function, NodeForm, ObjectForm, Value, Word, class_words, refused
from theano_linker_c.scalar import ScalarOp

if TYPE_CHECKING:
    from theano_graph.safe_loading import Reader

_VARIABLES = "theano_tensor.device._variables"
#: Ops and variables that are made as others are.
_CLASSES = MappingProxyType(
    {
        _VARIABLES: "GpuArrayConstant GpuArraySharedVariable GpuArrayVariable",
        "theano_tensor.device.ops._elementwise": "GpuErfcinv GpuErfinv",
        "theano_tensor.device.ops._memory": "GpuAlloc GpuAllocEmpty GpuContiguous GpuEye",
    }
)
#: Ops that do the work of a host's op on a device.
_OPS = MappingProxyType(
    {
        "theano_tensor.device.ops._blas": "GpuBatchedDot GpuDot GpuDot22 GpuDot22Scalar GpuGemm GpuGemv GpuGer",
        "theano_tensor.device.ops._diagonals": "GpuAllocDiag GpuExtractDiag",
        "theano_tensor.device.ops._elementwise": (
            "GpuCAReduceCPY GpuCAReduceCuda GpuDimShuffle GpuElemwise GpuFusedReduce"
        ),
        "theano_tensor.device.ops._indexing": (
            "GpuAdvancedBooleanIncSubtensor GpuAdvancedBooleanSubtensor GpuAdvancedIncSubtensor "
            "GpuAdvancedIncSubtensor1 GpuAdvancedIncSubtensor1_dev20 GpuAdvancedSubtensor GpuAdvancedSubtensor1 "
            "GpuIncSubtensor GpuSubtensor"
        ),
        "theano_tensor.device.ops._memory": "GpuJoin GpuReshape GpuSplit",
        "theano_tensor.device.ops._pooling": (
            "GpuAveragePoolGrad GpuCumOp GpuDownsampleFactorMaxGradGrad GpuMaxPoolGrad GpuPool"
        ),
        "theano_tensor.device.ops._random": "GPUAChoiceFromUniform GPUAMultinomialFromUniform GPUA_mrg_uniform",
        "theano_tensor.device.ops._sorting": "GpuArgSortOp GpuSortOp GpuTopKOp",
    }
)


class _DeviceOpForm(ObjectForm):
    """Ops that an op of the host tells all about, but for how they are carried out."""

    def __init__(self) -> None:
        super().__init__(
            left_out=("reduce_mask",), kept={"inplace": bool, "view": bool}, anew=("pre_scalar_op", "name")
        )

    def _made(self, word: ClassWord, given: dict[str, Any]) -> Any:
        target: Any = word.target
        host_op, before, name = given.get("host_op"), given.get("pre_scalar_op"), given.get("name")
        if not isinstance(host_op, target.host_classes):
            raise refused(f"{word} stands for an op that is none of its own")
        if not (before is None or isinstance(before, ScalarOp)) or not (name is None or type(name) is str):
            raise refused(f"{word} has attributes that it cannot have")
        device_op = target.of(host_op)
        if before is not None:
            device_op.pre_scalar_op = before
        if name is not None:
            device_op.name = name
        return device_op


class _OnHostForm(NodeForm):
    """Shared variables of a device that becomes one of the host."""

    def build(self, reader: Reader, word: ClassWord, op: Any, state: Any) -> None:
        """Give it the attributes that variables of the host have."""
        if type(state) is tuple and len(state) > 2 and type(state[1]) is tuple and len(state) == len(state[1]) + 2:
            attributes = [(k, v) for k, v in zip(state[1], state[2:], strict=True) if k != "_gives_device_arrays"]
            state = (state[0], tuple(k for k, _ in attributes), *(v for _, v in attributes))
        super().build(reader, word, op, state)


def _shared(reader: Reader, word: Any, context_name: Any) -> Any:
    """Return a shared variable without contents; of the host where its context is not there and a flag permits it."""
    if not isinstance(word, ClassWord) or str(word) != f"{_VARIABLES}.GpuArraySharedVariable":
        raise refused("the archive makes a shared variable of a device of something else")
    if not (context_name is None or type(context_name) is str):
        raise refused("the archive has a shared variable in a context without a name")
    require_context(context_name)
    kind = type(Word(_VARIABLES, "_revived").resolve()(word.target, context_name))
    chosen = word if kind is word.target else ClassWord(kind.__module__, kind.__name__, _OnHostForm())
    return chosen.new(reader, ())


def device_words() -> Iterator[Word]:
    """Yield the words for devices."""
    yield from class_words(_CLASSES)
    for module, names in _OPS.items():
        for name in names.split():
            yield ClassWord(module, name, _DeviceOpForm())
    yield Function(_VARIABLES, "_revived", _shared)
    yield Value("theano_tensor.device.ops._memory", "_always_near")
