"""The archive reader's allowlist for tensors; see `theano_graph.safe_loading`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from theano_gpuarray.archives import require_context
from theano_graph.safe_loading import (
    FORMS,
    ClassWord,
    EnumForm,
    Form,
    Function,
    NodeForm,
    ObjectForm,
    Reader,
    RecordForm,
    UnusedForm,
    Value,
    Word,
    class_words,
    is_int,
    refused,
)
from theano_linker_c.scalar import ScalarOp

from ._core._type import TensorType
from ._graph_op import MapRows
from .builders import OpFromGraph
from .elemwise import DimShuffle, Elemwise
from .gradient._types import NullType
from .indexing.entries import Slice, Symbol
from .linalg.rewrites import Hint
from .nnet._activations import AlongAxis
from .nnet.convolution._former import ConvOp
from .random._function import RandomFunction
from .reduce import CAReduce
from .shape import Rebroadcast

# ---- The archive reader's allowlist for variables and ops on devices; see `theano_graph.safe_loading`
#
# Nothing of the device layer is imported before an archive asks for it.

_VARIABLES = "theano_tensor.device._variables"
#: Ops and variables that are made as others are.
_DEVICE_CLASSES = MappingProxyType(
    {
        _VARIABLES: "GpuArrayConstant GpuArraySharedVariable GpuArrayVariable",
        "theano_tensor.device.ops._elementwise": "GpuErfcinv GpuErfinv",
        "theano_tensor.device.ops._memory": "GpuAlloc GpuAllocEmpty GpuContiguous GpuEye",
    }
)
#: Ops that do the work of a host's op on a device.
_OPS = MappingProxyType(
    {
        "theano_tensor.device.ops._linear_algebra": (
            "GpuBatchedDot GpuDot GpuDot22 GpuDot22Scalar GpuGemm GpuGemv GpuGer"
        ),
        "theano_tensor.device.ops._indexing": (
            "GpuAdvancedBooleanIncSubtensor GpuAdvancedBooleanSubtensor GpuAdvancedIncSubtensor "
            "GpuAdvancedIncSubtensor1 GpuAdvancedIncSubtensor1_dev20 GpuAdvancedSubtensor "
            "GpuAdvancedSubtensor1 GpuAllocDiag GpuArgSortOp GpuExtractDiag GpuIncSubtensor GpuSortOp "
            "GpuSubtensor GpuTopKOp"
        ),
        "theano_tensor.device.ops._elementwise": (
            "GpuCAReduceCPY GpuCAReduceCuda GpuDimShuffle GpuElemwise GpuFusedReduce"
        ),
        "theano_tensor.device.ops._memory": (
            "GPUAChoiceFromUniform GPUAMultinomialFromUniform GPUA_mrg_uniform GpuJoin GpuReshape GpuSplit"
        ),
        "theano_tensor.device.ops._convolution": (
            "GpuAveragePoolGrad GpuCumOp GpuDownsampleFactorMaxGradGrad GpuMaxPoolGrad GpuPool"
        ),
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
    yield from class_words(_DEVICE_CLASSES)
    for module, names in _OPS.items():
        for name in names.split():
            yield ClassWord(module, name, _DeviceOpForm())
    yield Function(_VARIABLES, "_revived", _shared)
    yield Value("theano_tensor.device.ops._memory", "_always_near")


# ---- The archive reader's allowlist for tensors; see `theano_graph.safe_loading`

Arguments = tuple[Sequence[Any], Mapping[str, Any]]

#: Classes by modules. Not here, on purpose: ops that read files and talk to other processes (`theano_tensor.io`).
_CLASSES = MappingProxyType(
    {
        "theano_tensor._core._ops": "Assert CheckAndRaise Refused",
        "theano_tensor._core._convert": "ScalarFromTensor TensorFromScalar TensorSharedVariable",
        "theano_tensor._core._type": "TensorConstant TensorType TensorVariable",
        "theano_tensor.builders._rules": "Checkpoint",
        "theano_tensor.builders._op_from_graph": "OpFromGraph",
        "theano_tensor.control": "IfElse",
        "theano_tensor.creation._alloc": "Alloc AllocEmpty",
        "theano_tensor.creation._ranges": "ARange Eye",
        "theano_tensor.elemwise._dimshuffle": "DimShuffle",
        "theano_tensor.elemwise._elemwise": "Elemwise",
        "theano_tensor.extra_ops._searching": "Bartlett BinCount SearchsortedOp Unique",
        "theano_tensor.extra_ops._cumulative": "Cumulative Recurrence",
        "theano_tensor.extra_ops._diagonal": "AllocDiag ExtractDiag FillDiagonal FillDiagonalOffset",
        "theano_tensor.extra_ops._flat_index": "CpuContiguous RavelMultiIndex UnravelIndex",
        "theano_tensor.extra_ops._repeat": "RepeatedNumbers",
        "theano_tensor.fourier": "Fourier InverseRealFourier RealFourier",
        "theano_tensor.gradient._blocks": "DisconnectedGrad GradClip GradScale GradientGate UndefinedGrad ZeroGrad",
        "theano_tensor.gradient._products": "EvaluationPoint",
        "theano_tensor._graph_op": "MapRows",
        "theano_tensor.gradient._types": "DisconnectedType NullType",
        "theano_tensor.indexing._advanced": (
            "AdvancedBooleanIncSubtensor AdvancedBooleanSubtensor AdvancedIncSubtensor AdvancedIncSubtensor1 "
            "AdvancedSubtensor AdvancedSubtensor1"
        ),
        "theano_tensor.indexing._choose": "Choose",
        "theano_tensor.indexing._getitem": "Nonzero",
        "theano_tensor.indexing._subtensor": "IncSubtensor Subtensor",
        "theano_tensor.joining": "Join Split",
        "theano_tensor.linalg._cholesky": "Cholesky CholeskyGrad LUFactor PivotsToPermutation",
        "theano_tensor.linalg._eigen": "Eig Eigh EighGrad Eigvalsh EigvalshGrad",
        "theano_tensor.linalg._schur": "Expm ExpmGrad QZ Schur TriangularSylvester",
        "theano_tensor.linalg.rewrites": "Hint",
        "theano_tensor.linalg._inverse": "Cofactors CofactorsChange Det MatrixInverse MatrixPinv SLogDet",
        "theano_tensor.linalg._solve": "Solve SolveTridiagonal SolveTridiagonalFactor TridiagonalFactor",
        "theano_tensor.linalg._orthogonal": "QRFull QRIncomplete SVD SpectralGate",
        "theano_tensor.linalg._products": "Lstsq TensorInv TensorSolve",
        "theano_tensor.linear._dot": "BatchedDot Dot",
        "theano_tensor.linear._gemm": "Dot22 Dot22Scalar Gemm Gemv Ger",
        "theano_tensor.nnet._activations": "LogSoftmax Softmax",
        "theano_tensor.nnet.blocksparse": "SparseBlockGemv SparseBlockOuter",
        "theano_tensor.nnet.convolution._functions": (
            "AbstractConv2d AbstractConv2d_gradInputs AbstractConv2d_gradWeights AbstractConv3d "
            "AbstractConv3d_gradInputs AbstractConv3d_gradWeights"
        ),
        "theano_tensor.nnet.convolution._former": "ConvOp",
        "theano_tensor.nnet.convolution._ops": "AbstractConv AbstractConv_gradInputs AbstractConv_gradWeights",
        "theano_tensor.nnet.ctc": "ConnectionistTemporalClassification",
        "theano_tensor.random._function": "RandomFunction RandomVariable",
        "theano_tensor.random._states": (
            "GeneratorOfKey GeneratorType KeyOfGenerator RandomStateSharedVariable RandomStateType"
        ),
        "theano_tensor.random.mrg._choose": "ChoiceFromUniform MultinomialFromUniform",
        "theano_tensor.random.mrg._uniform": "DotModulo MRGUniform",
        "theano_tensor.reduce._careduce": "ArgMax ArgMin CAReduce CAReduceDtype ProdWithoutZeros",
        "theano_tensor.reduce._reduce": "All Any_ Max Min Prod Reduce Sum Supremum",
        "theano_tensor.rewrites._groups": "FusedReduce",
        "theano_tensor.rewrites.movements": "Unfolded",
        "theano_tensor.shape._rearrange": "Roll SameLengths",
        "theano_tensor.shape._rebroadcast": "Rebroadcast",
        "theano_tensor.shape._reshape": "Reshape",
        "theano_tensor.shape._shape": "MakeVector ShapeI ShapeOf SpecifyShape",
        "theano_tensor.signal._ops": "AveragePoolGrad MaxPoolGrad MaxPoolGradGrad Pool",
        "theano_tensor.sorting": "ArgSort Sort TopK",
        "theano_tensor.typed_list": (
            "Append Count Extend GetItem Index Insert Length MakeList Remove Reverse TypedListConstant "
            "TypedListType TypedListVariable"
        ),
    }
)
#: Methods of NumPy's generators that draw.
_DRAWS = (
    "beta binomial bytes chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric integers "
    "laplace logistic lognormal logseries multinomial multivariate_hypergeometric multivariate_normal "
    "negative_binomial noncentral_chisquare noncentral_f normal pareto permutation permuted poisson power rand randint "
    "randn random random_integers random_sample rayleigh standard_cauchy standard_exponential standard_gamma "
    "standard_normal standard_t triangular uniform vonmises wald weibull zipf"
)
#: The options of the function inside an op.
_OPTIONS = frozenset({"allow_input_downcast", "mode", "name", "on_unused_input", "profile"})


class _ElemwiseForm(Form):
    """Elementwise ops: pickles have the arguments of their constructor."""

    def call(self, reader: Reader, word: ClassWord, arguments: tuple[Any, ...]) -> Any:
        """Return the op."""
        if len(arguments) != 5:
            raise refused(f"the archive makes an {word.name} of a form that is not known")
        scalar_op, pattern, label, function, openmp = arguments
        reader.complete(scalar_op)
        if not isinstance(scalar_op, ScalarOp) or openmp not in (None, True, False):
            raise refused(f"the archive makes an {word.name} of something that is no scalar op")
        if type(pattern) is not dict or not all(is_int(k) and is_int(v) for k, v in pattern.items()):
            raise refused(f"the archive makes an {word.name} with a pattern that is none")
        if not (label is None or type(label) is str) or not (function is None or _is_numpy_function(function)):
            raise refused(f"the archive makes an {word.name} with a function that is none of NumPy")
        if function is not None:
            function = tuple(function)
        return word.target(scalar_op, dict(pattern), label, function, openmp)


def _is_numpy_function(value: Any) -> bool:
    return (
        type(value) in (list, tuple)
        and list(map(type, value)) == [str, int, int]
        and isinstance(getattr(np, value[0], None), np.ufunc)
    )


def _dimshuffle(state: dict[str, Any]) -> Arguments:
    order, ndim = state["order"], state["input_ndim"]
    if type(order) is not tuple or len(order) > 1000 or not is_int(ndim) or not 0 <= ndim <= 1000:
        raise refused("the archive has a DimShuffle without an order")
    return ([axis not in order for axis in range(ndim)], order, state.get("inplace", True)), {}


def _of_graph(state: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the function inside."""
    options = state.get("options", {})
    if type(options) is not dict or not options.keys() <= _OPTIONS:
        raise refused("the archive has an op with options for its function that are not known")
    return options


def _op_from_graph(state: dict[str, Any]) -> Arguments:
    count = len(state["inputs"]) - len(state.get("shared_inputs") or ())
    named = {"inline": state["inline"], "connection_pattern": state["given_pattern"], "name": state["name"]}
    return (state["inputs"][:count], state["outputs"]), {**named, **_of_graph(state)}


def _map_rows(state: dict[str, Any]) -> Arguments:
    _of_graph(state)
    graph = state["fgraph"]
    return (graph.inputs, graph.outputs, state["sequences"], state["kinds"], state["likes"]), {}


def _random_function(state: dict[str, Any]) -> Arguments:
    draw = state["fn"]
    if type(draw) is str and draw not in _DRAWS.split():
        raise refused(f"the archive draws with {draw!r:.40}, which is no distribution")
    return (), {name: state[name] for name in ("fn", "outtype", "inplace", "ndim_added")}


def _careduce(state: dict[str, Any]) -> Arguments:
    named: dict[str, Any] = {
        name: state[name] for name in ("axis", "dtype", "acc_dtype", "no_zeros_in_input") if name in state
    }
    positional: Sequence[Any] = (state["combine"],) if "combine" in state else ()
    return positional, named


def _former_convolution(state: dict[str, Any]) -> Arguments:
    images, filters = state["imshp"], state["kshp"]
    named: dict[str, Any] = {"output_mode": state["border_mode"]}
    named["dx"], named["dy"] = state["subsample"]
    if type(images) is tuple and any(n is not None for n in images):
        named["bsize"], named["imshp"] = images[0], images[1:]
    if type(filters) is tuple and any(n is not None for n in filters):
        named["nkern"], named["kshp"] = filters[0], filters[2:]
    return (), named


def _bound(value: Any) -> bool:
    return value is None or is_int(value) or isinstance(value, Symbol)


_GRAPH = ("_function", "_lock")
FORMS[Elemwise] = _ElemwiseForm()
FORMS[DimShuffle] = ObjectForm(_dimshuffle, left_out=("shuffle", "drop"))
FORMS[TensorType] = ObjectForm(kept={"found": bool})
FORMS[OpFromGraph] = ObjectForm(_op_from_graph, left_out=("derivatives", *_GRAPH), anew=("fgraph",))
FORMS[MapRows] = ObjectForm(_map_rows, left_out=_GRAPH, anew=("fgraph", "options"))
FORMS[RandomFunction] = ObjectForm(_random_function)
FORMS[CAReduce] = ObjectForm(_careduce)
FORMS[Rebroadcast] = ObjectForm(lambda state: (state["pattern"], {}))
FORMS[Hint] = ObjectForm(lambda state: ((), dict(state["hints"])))
FORMS[AlongAxis] = ObjectForm(kept={"_takes_rows": bool})
FORMS[ConvOp] = ObjectForm(_former_convolution, anew=("imshp", "kshp"))
FORMS[NullType] = ObjectForm()
FORMS[Slice] = RecordForm(start=_bound, stop=_bound, step=_bound)
FORMS[Symbol] = EnumForm()


def words() -> Iterator[Word]:
    """Yield all words of this layer."""
    yield from class_words(_CLASSES)
    yield from device_words()
    yield from class_words({"theano_tensor.indexing.entries": "Slice Symbol"})
    # Derivatives of ops made of graphs are worked out again.
    yield ClassWord("theano_tensor.builders._rules", "_Derivative", UnusedForm())
    yield Value("theano_tensor.creation._alloc", "_always_near")
    for name in ("choice_helper", "multinomial_helper", "permutation_helper", "random_integers_helper"):
        yield Value("theano_tensor.random._function", name)
