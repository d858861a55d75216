"""Products with a logarithm that are zero where the other factor is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import Apply
from theano_tensor import Elemwise

from ..scalar import BinaryScalarOp, UnaryScalarOp, eq, log, switch, upgrade_to_float


class XlogX(UnaryScalarOp):
    """``x * log(x)``, and 0 at 0."""

    @staticmethod
    def st_impl(x: Any) -> Any:
        """Compute one number."""
        return x * np.log(x) if x != 0 else x

    def impl(self, x: Any) -> Any:
        """Compute one number."""
        return self.st_impl(x)

    def c_code(self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Any) -> str:
        """The same in C."""
        (x,), (z,) = inputs, outputs
        return f"{z} = {x} == 0 ? 0 : {x} * log({x});"

    def c_headers(self) -> list[str]:
        """Where the logarithm is declared."""
        return ["<math.h>"]

    def grad(self, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
        """``1 + log(x)``, which goes to minus infinity at 0."""
        (x,), (gz,) = inputs, output_gradients
        return [gz * (1 + log(x))]


class XlogY0(BinaryScalarOp):
    """``x * log(y)``, and 0 where `x` is 0, for any `y`."""

    @staticmethod
    def st_impl(x: Any, y: Any) -> Any:
        """Compute one number."""
        return x * np.log(y) if x != 0 else x

    def impl(self, x: Any, y: Any) -> Any:
        """Compute one number."""
        return self.st_impl(x, y)

    def c_code(self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Any) -> str:
        """The same in C."""
        (x, y), (z,) = inputs, outputs
        return f"{z} = {x} == 0 ? 0 : {x} * log({y});"

    def c_headers(self) -> list[str]:
        """Where the logarithm is declared."""
        return ["<math.h>"]

    def grad(self, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
        """``log(y)`` and ``x / y``; by `y` it is 0 where `x` is."""
        (x, y), (gz,) = inputs, output_gradients
        return [gz * log(y), switch(eq(x, 0), 0 * gz, gz * x / switch(eq(x, 0), 1, y))]


scalar_xlogx = XlogX(upgrade_to_float, name="scalar_xlogx")
xlogx = Elemwise(scalar_xlogx, name="xlogx")
scalar_xlogy0 = XlogY0(upgrade_to_float, name="scalar_xlogy0")
xlogy0 = Elemwise(scalar_xlogy0, name="xlogy0")
