"""Gradients of tensor expressions against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from theano_linker_c import DebugMode, function, get_mode
from theano_tensor import TensorType, as_tensor_variable
from theano_tensor.gradient import grad

from ._numeric_grad import GradientError, numeric_grad
from ._seeds import fetch_seed

#: Absolute and relative tolerance by the least precise dtype among arguments and result; one of the two must hold.
_TOLERANCES = {"float16": 5e-2, "float32": 1e-2, "float64": 1e-4}


def verify_grad(
    fun: Callable[..., Any],
    pt: Sequence[Any] | npt.NDArray[Any],
    n_tests: int = 2,
    rng: Any = None,
    eps: float | None = None,
    out_type: str | None = None,
    abs_tol: float | None = None,
    rel_tol: float | None = None,
    mode: Any = None,
    cast_to_output_type: bool = False,
    no_debug_ref: bool = True,
) -> None:
    """Check the gradient of an expression by finite differences of random projections of its value.

    Parameters
    ----------
    fun : callable
        Takes variables, returns one variable. An op with one output will do.
    pt : sequence of array_like, or array
        Values of the arguments, or that of the only one: float16, float32 or float64. Lengths of 1 are taken as
        broadcastable.
    n_tests : int
        How many projections are tried.
    rng : RandomState, optional
        Draws the projections, anything with ``rand`` or ``random``; by default seeded with :func:`fetch_seed`.
    eps : float, optional
        Step of the finite differences.
    out_type : str, optional
        Dtype of the result, if complex.
    abs_tol, rel_tol : float, optional
        By default by the least precise dtype. The check fails where both are exceeded.
    mode : Mode or str, optional
        How the functions are compiled.
    cast_to_output_type : bool
        Draw the projection in the dtype of the result (else float64).
    no_debug_ref : bool
        Whether the function that finite differences are taken of runs in FAST_RUN where `mode`, or the default mode, is
        a DebugMode: it is called many times.

    Raises
    ------
    GradientError
        If the gradient is wrong; says where and by how much.
    TypeError
        If `fun` returns several variables or an argument is of another dtype.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> T.verify_grad(T.tanh, [np.asarray([[2.0, 3, 4], [-1, 3.3, 9.9]])], rng=np.random.default_rng(1))
    """
    points = [np.array(p, order="C") for p in ([pt] if isinstance(pt, np.ndarray) else pt)]
    for p in points:
        if p.dtype.name not in _TOLERANCES:
            raise TypeError(
                f"verify_grad: an argument of dtype {p.dtype.name}\n"
                "  Hint: pass float16, float32 or float64; bind others: lambda x: op(x, index)"
            )
    variables = [
        TensorType(p.dtype.name, [1 if n == 1 else None for n in p.shape])(f"input {i}") for i, p in enumerate(points)
    ]
    output = fun(*variables)
    if isinstance(output, (list, tuple)):
        if len(output) != 1:
            raise TypeError("verify_grad: the function returns several variables\n  Hint: check them one by one")
        output = output[0]
    output = as_tensor_variable(output)
    shape = function(variables, output, mode=mode, on_unused_input="ignore", accept_inplace=True)(
        *_copies(points)
    ).shape
    names = [p.dtype.name for p in points] + [output.type.dtype]
    default = max(_TOLERANCES.get(name, 1e-4) for name in names)
    projection_dtype = output.type.dtype if cast_to_output_type and output.type.dtype == "float32" else "float64"
    plain = get_mode("FAST_RUN") if no_debug_ref and isinstance(get_mode(mode), DebugMode) else mode
    check = _Check(variables, output, points, (mode, plain), eps, out_type)
    generator = np.random.RandomState(fetch_seed()) if rng is None else rng
    draw = getattr(generator, "rand", None)
    check.compile(TensorType(projection_dtype, [1 if n == 1 else None for n in shape])("projection"))
    for _ in range(n_tests):
        values = draw(*shape) if draw is not None else generator.random(shape)
        projection = np.asarray(values + 0.5, dtype=projection_dtype)
        check.run(projection, default if abs_tol is None else abs_tol, default if rel_tol is None else rel_tol)


def _copies(points: Sequence[Any]) -> list[Any]:
    """Return copies of the points, which in-place ops may overwrite."""
    return [p.copy() for p in points]


class _Check:
    """One expression, compiled once with its projection as an argument."""

    def __init__(
        self,
        variables: list[Any],
        output: Any,
        points: list[Any],
        modes: tuple[Any, Any],
        eps: float | None,
        out_type: str | None,
    ) -> None:
        self.variables, self.output, self.points = variables, output, points
        (self.mode, self.plain_mode), self.eps = modes, eps
        self.out_type = output.type.dtype if out_type is None else out_type
        self.cost: Any = None
        self.gradient: Any = None

    def compile(self, projection: Any) -> None:
        """Compile the projected value and its gradient."""
        cost = (projection * self.output).sum()
        if cost.type.dtype.startswith("complex"):
            cost = cost.real
        gradients = grad(cost, self.variables, disconnected_inputs="ignore")
        inputs = [*self.variables, projection]
        # In-place ops are checked like others.
        options: dict[str, Any] = {"on_unused_input": "ignore", "allow_input_downcast": True, "accept_inplace": True}
        self.cost = function(inputs, cost, mode=self.plain_mode, **options)
        self.gradient = function(inputs, gradients, mode=self.mode, **options)

    def run(self, projection: Any, abs_tol: float, rel_tol: float) -> None:
        """Compare for one projection."""
        numeric = numeric_grad(lambda *p: self.cost(*_copies(p), projection), self.points, self.eps, self.out_type)
        analytic = list(self.gradient(*_copies(self.points), projection))
        for i, (g, p) in enumerate(zip(analytic, self.points, strict=True)):
            if g.shape != p.shape:
                raise AssertionError(f"the gradient for argument {i} has shape {g.shape}, the argument {p.shape}")
            if g.dtype != p.dtype:
                raise AssertionError(f"the gradient for argument {i} has dtype {g.dtype}, the argument {p.dtype}")
        arg, position, abs_err, rel_err = numeric.max_err(analytic, abs_tol, rel_tol)
        if abs_err <= abs_tol or rel_err <= rel_tol:
            return
        raise GradientError(
            arg,
            position,
            self.points[arg].shape,
            float(np.asarray(analytic[arg]).flat[position]),
            float(numeric.gf[arg].flat[position]),
            abs_err,
            rel_err,
            abs_tol,
            rel_tol,
        )


#: The error, where programs that catch it look for it.
verify_grad.E_grad = GradientError  # type: ignore[attr-defined]
