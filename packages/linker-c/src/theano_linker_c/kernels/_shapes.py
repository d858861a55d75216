"""Views and arrays that follow from shapes: transposes, reshapes, lengths, stacks, parts; the runtime has them all."""

from __future__ import annotations

from theano_graph import record

from ._description._kernel import Encoded, Kernel, LoadedKernel, Site, type_number

__all__ = [
    "ConcatenateKernel",
    "FullKernel",
    "LengthKernel",
    "ReshapeKernel",
    "SpecifyShapeKernel",
    "SplitKernel",
    "StackKernel",
    "TransposeKernel",
]


@record
class TransposeKernel(Kernel):
    """Transpose: a view with the axes in another order, some dropped and some inserted.

    Parameters
    ----------
    order : tuple of (int or None)
        Which axis of the input stands in each place; None for a new axis of length 1.
    drop : tuple of int
        Axes of length 1 that disappear.
    """

    order: tuple[int | None, ...]
    drop: tuple[int, ...]

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        axes = tuple(-1 if axis is None else axis for axis in self.order)
        return "transpose", (len(self.drop) + sum(axis >= 0 for axis in axes), axes, self.drop)


@record
class LengthKernel(Kernel):
    """The length of dimension `axis` of an array, as int64."""

    axis: int

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        return "length", (self.axis,)


@record
class StackKernel(Kernel):
    """Stack scalars of `dtype` to a vector."""

    dtype: str

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        return "stack", (type_number(self.dtype),)


@record
class ReshapeKernel(Kernel):
    """Reshape an array to the shape that the second input (int64) gives; a view where the array is contiguous.

    Parameters
    ----------
    dtype : str
    ndim, ndim_out : int
        Numbers of dimensions of the array and of the result.
    """

    dtype: str
    ndim: int
    ndim_out: int

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        return "reshape", (type_number(self.dtype), self.ndim, self.ndim_out)


@record
class FullKernel(Kernel):
    """A new array full of a value of `dtype`; further inputs are the lengths, int64.

    Parameters
    ----------
    dtype : str
    broadcastable : tuple of bool
        Which dimensions of the value are broadcast.
    """

    dtype: str
    broadcastable: tuple[bool, ...]

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        return "full", (type_number(self.dtype), len(self.broadcastable), (self.broadcastable,))


@record
class ConcatenateKernel(Kernel):
    """Concatenate arrays of `dtype` along `axis`; the first input is the axis again."""

    dtype: str
    ndim: int
    axis: int

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        return "concatenate", (type_number(self.dtype), self.ndim, self.axis)


@record
class SpecifyShapeKernel(Kernel):
    """The array itself, if dimensions have the lengths that further inputs (int64) give, or 1 without inputs.

    Parameters
    ----------
    checked : tuple of bool
        Which dimensions are checked.
    compared : bool
        Whether the lengths are those of a value that this is used with, not a promise of the program.
    """

    checked: tuple[bool, ...]
    compared: bool = False

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        return "specify_shape", ((self.checked,),)


@record
class SplitKernel(Kernel):
    """Split an array of `dtype` along `axis` into views; further inputs are the axis again and the lengths, int64."""

    dtype: str
    ndim: int
    axis: int

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        return "split", (type_number(self.dtype), self.ndim, self.axis)
