"""Convolutions, pooling, normalization and recurrent networks on devices; whether cuDNN computes convolutions there."""

from __future__ import annotations

from collections.abc import Hashable

from theano_gpuarray.contexts import (
    ContextNotDefined,
    GpuContext,
    cudnn_problem,
    cudnn_version,
    get_context,
    list_contexts,
)
from theano_graph import format_error

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_tensor.device.dnn import (
    DnnBase as DnnBase, GpuDnnConv as GpuDnnConv, GpuDnnConvDesc as GpuDnnConvDesc, GpuDnnConvGradI as GpuDnnConvGradI,
    GpuDnnConvGradW as GpuDnnConvGradW, GpuDnnPool as GpuDnnPool, GpuDnnPoolBase as GpuDnnPoolBase,
    GpuDnnPoolDesc as GpuDnnPoolDesc, GpuDnnPoolGrad as GpuDnnPoolGrad,
    dnn_batch_normalization_test as dnn_batch_normalization_test,
    dnn_batch_normalization_train as dnn_batch_normalization_train, dnn_conv as dnn_conv, dnn_conv3d as dnn_conv3d,
    dnn_gradinput as dnn_gradinput, dnn_gradinput3d as dnn_gradinput3d, dnn_gradweight as dnn_gradweight,
    dnn_gradweight3d as dnn_gradweight3d, dnn_pool as dnn_pool,
)
from ._dnn_ops import (
    GpuDnnBatchNorm as GpuDnnBatchNorm, GpuDnnBatchNormInference as GpuDnnBatchNormInference,
    GpuDnnSoftmax as GpuDnnSoftmax, GpuDnnSoftmaxBase as GpuDnnSoftmaxBase, GpuDnnSoftmaxGrad as GpuDnnSoftmaxGrad,
)
from ._dnn_rnn import RNNBlock as RNNBlock
from ._dnn_transformer import (
    GpuDnnTransformerGradI as GpuDnnTransformerGradI, GpuDnnTransformerGradT as GpuDnnTransformerGradT,
    GpuDnnTransformerGrid as GpuDnnTransformerGrid, GpuDnnTransformerSampler as GpuDnnTransformerSampler,
    dnn_spatialtf as dnn_spatialtf,
)
# isort: on
# fmt: on
# End of the names of names.toml.

#: The ways of choosing a convolution that the flags ``dnn.conv.*`` know.
DNN_CONV_ALGO_CHOOSE_ONCE = ["guess_once", "time_once"]
DNN_CONV_ALGO_CHOOSE_TIME = ["time_once", "time_on_shape_change"]


class _Question:
    """A question about the library; `avail` and `msg` hold the latest answer, and its reason.

    Parameters
    ----------
    name, doc : str
    """

    def __init__(self, name: str, doc: str) -> None:
        self.__name__ = self.__qualname__ = name
        self.__doc__ = doc
        self.avail: bool | None = None
        self.msg: str | None = None

    def answer(self, problem: str | None) -> bool:
        """Keep a problem, or that there is none, and tell whether there is none."""
        self.avail, self.msg = problem is None, problem
        return problem is None


class _Present(_Question):
    def __call__(self) -> bool:
        return self.answer(_problem_of_all())


class _Available(_Question):
    def __call__(self, context_name: Hashable) -> bool:
        try:
            context = get_context(context_name)
        except ContextNotDefined as error:
            return self.answer(str(error))
        return self.answer(cudnn_problem(context))


def _contexts() -> list[GpuContext]:
    return [context for context in map(get_context, list_contexts()) if context.kind == "cuda"]


def _problem_of_all() -> str | None:
    """Say why no device can use the library; None if one can."""
    problems = [cudnn_problem(context) for context in _contexts()]
    if not problems:
        return "no device of CUDA is in use"
    return None if None in problems else problems[0]


dnn_present = _Present("dnn_present", "Tell whether a device of CUDA that is in use can use cuDNN.")
dnn_available = _Available("dnn_available", "Tell whether a context, of which the name is given, can use cuDNN.")


def version(raises: bool = True) -> int:
    """Return the version of cuDNN, as 90100 for 9.1.0, or -1.

    Parameters
    ----------
    raises : bool
        Whether it is an error that no device that is in use can use cuDNN.

    Raises
    ------
    RuntimeError
        If it cannot be used, unless `raises` is false; always, if a header of another version than the library has is
        where the flags ``dnn.include_path`` and ``dnn.base_path`` say.
    """
    problem = _problem_of_all()
    if problem is None:
        return max(cudnn_version(context) for context in _contexts() if cudnn_problem(context) is None)
    if raises:
        raise RuntimeError(
            format_error(
                "the version of cuDNN is not known",
                context=problem.splitlines(),
                hint="run with device=cuda and cuDNN, or ask version(raises=False)",
            )
        )
    return -1
