"""The archive reader's allowlist for classes of this package, and for others by their names here."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from theano_graph.safe_loading import ClassWord, Word, class_words

from ._names import HOMES

#: Classes by modules.
_CLASSES = MappingProxyType(
    {
        "theano.tensor._old_ops": (
            "Raise CumOp CumprodOp CumsumOp DiffOp RepeatOp Default Mean PermuteRowElements Tile Tri"
        ),
        "theano.scalar._historical": "ScalarSharedVariable",
        "theano.sparse._historical": (
            "AddSSData CSMGrad ColScaleCSC EqualSD EqualSS GreaterEqualSD GreaterEqualSS GreaterThanSD "
            "GreaterThanSS LessEqualSD LessEqualSS LessThanSD LessThanSS MulSV NotEqualSD NotEqualSS "
            "RowScaleCSC SamplingDot StructuredAddSV StructuredDotGradCSC StructuredDotGradCSR"
        ),
        "theano.sparse._historical_opt": (
            "AddSD_ccode CSMGradC MulSDCSC MulSDCSR MulSVCSR SamplingDotCSR StructuredAddSVCSR "
            "StructuredDotCSC StructuredDotCSR"
        ),
        "theano.tensor._expression_ops": "ExpressionOp Fourier XlogX XlogY0",
        "theano.tensor._linear_algebra": "lstsq CGemv CGer ScipyGer",
        "theano.tensor._old_rewrites": "MaxAndArgmax",
        "theano.tensor.nnet._layer_ops": (
            "AbstractBatchNormInference AbstractBatchNormTrain AbstractBatchNormTrainGrad BNComposite Images2Neibs"
        ),
        "theano.tensor.nnet._corr": (
            "Corr3dMM Corr3dMM_gradInputs Corr3dMM_gradWeights CorrMM CorrMM_gradInputs CorrMM_gradWeights"
        ),
        "theano.tensor.nnet._conv_rewrites": "DiagonalSubtensor IncDiagonalSubtensor",
        "theano.tensor.nnet._softmax": (
            "CrossentropyCategorical1Hot CrossentropyCategorical1HotGrad CrossentropySoftmax1HotWithBiasDx "
            "CrossentropySoftmaxArgmax1HotWithBias Prepend_scalar_constant_to_each_row "
            "Prepend_scalar_to_each_row SoftmaxGrad SoftmaxWithBias"
        ),
        "theano.tensor.signal._pool_ops": "DownsampleFactorMaxGradGrad MaxPoolRop PoolGrad",
        "theano.tensor._index_tools": "MakeSlice NoneTypeT SliceConstant SliceType",
    }
)
#: Modules of classes that no archive may hold: functions, and state of debugging.
_NO_VALUES = frozenset(
    {
        "theano.compile.debugmode",
        "theano.compile.function_module",
        "theano.compile.io",
        "theano.compile.monitormode",
        "theano.compile.nanguardmode",
        "theano.compile.profiling",
        "theano.gof.op",
    }
)
#: Ops of functions of programs.
_OF_PROGRAMS = frozenset({"FromFunctionOp"})


def words() -> Iterator[Word]:
    """Yield all words of this package."""
    yield from class_words(_CLASSES)
    for module, names in HOMES.items():
        if module not in _NO_VALUES:
            for name in names:
                if name not in _OF_PROGRAMS:
                    yield ClassWord(module, name)
