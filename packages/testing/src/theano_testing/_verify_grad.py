"""Gradients of tensor expressions against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from theano_linker_c import DebugMode, function, get_mode
from theano_tensor import TensorType, as_tensor_variable
from theano_tensor.gradient import grad

from ._seeds import fetch_seed

# ---- Derivatives by finite differences


class GradientError(Exception):
    """A gradient was computed, but it is wrong.

    Parameters
    ----------
    arg : int
        Which argument of the function.
    err_pos : int
        Position of the worst element in the flattened argument.
    shape : tuple of int
        Shape of the argument.
    val1, val2 : float
        The gradient under test and the numeric one, there.
    abs_err, rel_err, abs_tol, rel_tol : float
        The errors there, and the tolerances.
    """

    def __init__(
        self,
        arg: int,
        err_pos: int,
        shape: tuple[int, ...],
        val1: float,
        val2: float,
        abs_err: float,
        rel_err: float,
        abs_tol: float,
        rel_tol: float,
    ) -> None:
        super().__init__(arg, err_pos, shape, val1, val2, abs_err, rel_err, abs_tol, rel_tol)
        self.arg, self.err_pos, self.shape = arg, err_pos, shape
        self.val1, self.val2 = val1, val2
        self.abs_err, self.rel_err, self.abs_tol, self.rel_tol = abs_err, rel_err, abs_tol, rel_tol

    def __str__(self) -> str:
        index = tuple(int(i) for i in np.unravel_index(self.err_pos, self.shape)) if self.shape else ()
        return (
            f"the gradient with respect to argument {self.arg} is wrong at {index} (shape {self.shape})\n"
            f"  symbolic: {self.val1!r}, by finite differences: {self.val2!r}\n"
            f"  absolute error {self.abs_err:.3g} (allowed {self.abs_tol:.3g}), relative error {self.rel_err:.3g} "
            f"(allowed {self.rel_tol:.3g}); one of the two must hold"
        )


class numeric_grad:
    """The derivative of a scalar-valued function at a point, by central differences.

    Parameters
    ----------
    f : callable
        Takes arrays, returns a number.
    pt : array, or list or tuple of arrays
        Where; float16, float32 or float64. The arrays are not changed.
    eps : float, optional
        Step. By default the cube root of the precision of the least precise array.
    out_type : str, optional
        Dtype of the value of `f`; a less precise one makes the default step larger.

    Attributes
    ----------
    gf : array or list of arrays
        The derivative, in the form and with the shapes of `pt`.

    Raises
    ------
    TypeError
        If an array is of another dtype.

    Examples
    --------
    >>> round(float(numeric_grad(lambda x: x**2, np.asarray(3.0)).gf), 6)
    6.0
    """

    type_eps: ClassVar[dict[str, float]] = {"float64": 6e-6, "float32": 5e-3, "float16": 1e-1}

    def __init__(
        self,
        f: Callable[..., Any],
        pt: Any,
        eps: float | None = None,
        out_type: str | None = None,
    ) -> None:
        single = not isinstance(pt, (list, tuple))
        points = [np.array(p, order="C") for p in ([pt] if single else pt)]
        for p in points:
            if p.dtype.name not in self.type_eps:
                raise TypeError(
                    f"finite differences need float16, float32 or float64, not {p.dtype.name}\n"
                    "  Hint: pass floating-point arrays; bind other arguments with a lambda"
                )
        names = [p.dtype.name for p in points] + ([out_type] if out_type in self.type_eps else [])
        step = max((self.type_eps[name] for name in names if name is not None), default=1e-5) if eps is None else eps
        gradients = [self._one(f, points, k, step) for k in range(len(points))]
        self.gf: Any = gradients[0] if single else gradients

    @staticmethod
    def _one(f: Callable[..., Any], points: list[Any], k: int, step: float) -> Any:
        """Return the derivative with respect to argument `k`: two evaluations for each element."""
        x = points[k]
        gradient = np.zeros(x.shape, dtype="float64")
        flat, out = x.reshape(-1), gradient.reshape(-1)
        for i in range(flat.size):
            saved = flat[i]
            # The steps that are really taken, after rounding to the dtype of the argument.
            flat[i] = saved + step
            upper = float(flat[i])
            above = float(f(*points))
            flat[i] = saved - step
            lower = float(flat[i])
            below = float(f(*points))
            flat[i] = saved
            out[i] = (above - below) / (upper - lower)
        return gradient.astype(x.dtype)

    @staticmethod
    def abs_rel_err(a: Any, b: Any) -> tuple[Any, Any]:
        """Return ``|a - b|`` and ``|a - b| / max(|a| + |b|, 1e-8)``."""
        # A gradient by a table of which few rows are used may be a sparse matrix.
        mine, other = (x.toarray() if hasattr(x, "toarray") else x for x in (a, b))
        abs_err = np.abs(np.asarray(mine, dtype="float64") - np.asarray(other, dtype="float64"))
        return abs_err, abs_err / np.maximum(np.abs(mine) + np.abs(other), 1e-8)

    def abs_rel_errors(self, g_pt: Any) -> list[tuple[Any, Any]]:
        """Return the errors of a gradient, for each argument.

        Raises
        ------
        ValueError
            If the number or a shape of the arrays differs from that of the numeric gradient.
        """
        mine = self.gf if isinstance(self.gf, list) else [self.gf]
        operands: Sequence[Any] = list(g_pt) if isinstance(g_pt, (list, tuple)) else [g_pt]
        if len(operands) != len(mine):
            raise ValueError(f"{len(operands)} gradients were given for {len(mine)} arguments")
        pairs = []
        for k, (a, b) in enumerate(zip(operands, mine, strict=True)):
            if np.shape(a) != b.shape:
                raise ValueError(f"the gradient for argument {k} has shape {np.shape(a)}, not {b.shape}")
            pairs.append(self.abs_rel_err(a, b))
        return pairs

    def max_err(self, g_pt: Any, abs_tol: float, rel_tol: float) -> tuple[int, int, float, float]:
        """Return the argument and position of the worst violation, and the errors there.

        The violation is ``min(abs_err / abs_tol, rel_err / rel_tol)``; above 1 both tolerances are exceeded. NaN is
        the worst.
        """
        worst, result = -1.0, (0, 0, 0.0, 0.0)
        for k, (abs_err, rel_err) in enumerate(self.abs_rel_errors(g_pt)):
            violation = np.minimum(abs_err / abs_tol, rel_err / rel_tol)
            violation = np.where(np.isfinite(violation), violation, np.inf)
            if not violation.size:
                continue
            position = int(np.argmax(violation))
            if violation.flat[position] > worst:
                worst = float(violation.flat[position])
                result = (
                    k,
                    position,
                    float(np.asarray(abs_err).flat[position]),
                    float(np.asarray(rel_err).flat[position]),
                )
        return result


# ---- The comparison

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
