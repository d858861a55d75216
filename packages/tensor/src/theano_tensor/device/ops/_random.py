"""Draws from streams of MRG31k3p and of categories on devices: they equal the host's."""

from __future__ import annotations

from typing import Any, Self

from theano_gpuarray.codegen.random import CategoriesKernel, MRGKernel
from theano_gpuarray.types import DEVICE, host_type
from theano_graph import Apply
from theano_linker_c.kernels import Kernel, native_kernel

from ..._core._type import Tensor, TensorType, tensor_type
from ...on_devices import NamedDeviceOp, stands_for
from ...random._distributions import size_vector
from ...random.mrg import ChoiceFromUniform, MRGUniform, MultinomialFromUniform

_rules = native_kernel.for_target(DEVICE)


@_rules.register(MRGUniform)
def _draw(node: Apply[MRGUniform, Tensor]) -> Kernel | None:
    drawn = node.op.output_type
    return MRGKernel(drawn.dtype, drawn.ndim)


@stands_for(MRGUniform)
class GPUA_mrg_uniform(NamedDeviceOp):  # the documented name
    """Draw numbers between 0 and 1 from streams on a device; see :class:`~theano_tensor.random.mrg.MRGUniform`.

    Parameters
    ----------
    output_type : TensorType or GpuArrayType
        Of the draw.
    inplace : bool
        States that the states may be overwritten.
    """

    host_op: MRGUniform

    def __init__(self, output_type: Any, inplace: bool = False) -> None:
        super().__init__(MRGUniform(host_type(output_type.dtype, output_type.shape), inplace))

    @property
    def output_type(self) -> TensorType:
        """The type of the draw on the host."""
        return self.host_op.output_type

    @property
    def inplace(self) -> bool:
        """Whether the op says that the states may be overwritten."""
        return self.host_op.inplace

    @classmethod
    def new(cls, rstate: Any, ndim: int | None, dtype: str, size: Any) -> list[Any]:
        """Return the states after a draw and the draw, both on the device of the states.

        Parameters
        ----------
        rstate : variable
            States of streams, of shape (n, 6).
        ndim : int or None
            Number of dimensions; None where `size` tells it.
        dtype : {"float16", "float32", "float64"}
        size : sequence of int and scalars, or integer vector
        """
        lengths, shape = size_vector(cls.__name__, size, ndim, ())
        results: list[Any] = cls(tensor_type(dtype, shape)).make_node(rstate, lengths).outputs
        return results

    def __str__(self) -> str:
        return f"GPUA_{self.host_op}"


@_rules.register(MultinomialFromUniform)
def _counts(node: Apply[MultinomialFromUniform, Tensor]) -> Kernel | None:
    return CategoriesKernel(node.outputs[0].type.dtype, "count")


@_rules.register(ChoiceFromUniform)
def _choices(node: Apply[ChoiceFromUniform, Tensor]) -> Kernel | None:
    return CategoriesKernel(node.outputs[0].type.dtype, "choose" if node.op.replace else "choose_once")


@stands_for(MultinomialFromUniform)
class GPUAMultinomialFromUniform(NamedDeviceOp):  # the documented name
    """How often categories come up, on a device; see :class:`~theano_tensor.random.mrg.MultinomialFromUniform`.

    Parameters
    ----------
    odtype : str
        Dtype of the counts; ``"auto"`` stands for that of the probabilities.
    """

    host_op: MultinomialFromUniform

    def __init__(self, odtype: str) -> None:
        super().__init__(MultinomialFromUniform(odtype))

    @property
    def odtype(self) -> str:
        """Dtype of the result."""
        return self.host_op.odtype

    def make_node(self, pvals: Any, unis: Any, n: Any = 1) -> Apply[Self]:
        """Apply to a matrix of probabilities, ``n * rows`` uniform numbers, and the number of draws from each row."""
        return super().make_node(pvals, unis, n)


@stands_for(ChoiceFromUniform)
class GPUAChoiceFromUniform(NamedDeviceOp):  # the documented name
    """Which categories come up, on a device; see :class:`~theano_tensor.random.mrg.ChoiceFromUniform`.

    Parameters
    ----------
    odtype : str
        Dtype of the numbers of the categories; ``"auto"`` stands for int64.
    replace : bool
        Whether a category may come up in a row more than once.
    """

    host_op: ChoiceFromUniform

    def __init__(self, odtype: str, replace: bool = False) -> None:
        super().__init__(ChoiceFromUniform(odtype, replace))

    @property
    def odtype(self) -> str:
        """Dtype of the result."""
        return self.host_op.odtype

    @property
    def replace(self) -> bool:
        """Whether a category may come up in a row more than once."""
        return self.host_op.replace

    def make_node(self, pvals: Any, unis: Any, n: Any = 1) -> Apply[Self]:
        """Apply to a matrix of probabilities, ``n * rows`` uniform numbers, and the number of draws from each row."""
        return super().make_node(pvals, unis, n)
