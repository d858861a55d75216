"""Linear algebra: products by BLAS and their ops of Theano 1.0, structures of matrices, least squares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import theano_tensor as T
from theano_graph import Apply, Variable, config, describe, format_error
from theano_linker_c.cop import blas_arguments, blas_declarations
from theano_linker_c.scalar import upcast
from theano_tensor import AllocDiag, ShapeError, TensorType, as_tensor_variable, dimshuffle
from theano_tensor.elemwise import DimShuffle
from theano_tensor.gradient import DisconnectedType
from theano_tensor.linalg import Lstsq, hints, lstsq as _solution, rewrites as linalg_rules
from theano_tensor.linear import (
    Dot22,
    Gemv,
    Ger,
    gemm_inplace,
    gemm_no_inplace,
    gemv_inplace,
    gemv_no_inplace,
    ger,
    ger_destructive,
)
from theano_tensor.rewrites import blas as blas_rules

from ..gof._local_optimizers import Wrapped
from ..gof.opt import in2out, local_optimizer
from ..printing import debugprint

# ---- Helpers of linear algebra: products by BLAS, structures of matrices, least squares

# ---- How `theano.tensor.blas` looked for products that are added to something: its helpers, and its base of ops

_REAL = ("float16", "float32", "float64")
_NUMBERS = (*_REAL, "complex64", "complex128")
_INTEGERS = frozenset([f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)])

local_dot22_to_dot22scalar = Wrapped(blas_rules.dot22_to_dot22scalar)
local_dot_to_dot22 = Wrapped(blas_rules.dot_to_dot22)
local_gemm_to_gemv = Wrapped(blas_rules.gemm_to_gemv)
local_gemm_to_ger = Wrapped(blas_rules.gemm_to_ger)
local_dot22_to_ger_or_gemv = Wrapped(blas_rules.dot22_with_vectors)

#: Whether SciPy's BLAS can be called: always, it is a requirement.
have_fblas = True


class GemmRelated:
    """The base of ops that multiply matrices: the compiler's arguments of their C code."""

    def c_libraries(self) -> list[str]:
        """Return the libraries to link with."""
        libraries: list[str] = blas_arguments()
        return libraries

    def c_compile_args(self) -> list[str]:
        """Return further arguments for the compiler."""
        arguments: list[str] = blas_arguments(libs=False, flags=True)
        return arguments

    def c_lib_dirs(self) -> list[str]:
        """Return where the libraries are."""
        folders: list[str] = blas_arguments(libs=False, libs_dir=True)
        return folders

    def c_header_dirs(self) -> list[str]:
        """Return where their headers are."""
        folders: list[str] = blas_arguments(libs=False, include_dir=True)
        return folders

    def c_support_code(self) -> str:
        """Return the declarations of BLAS."""
        text: str = blas_declarations()
        return text


def check_init_y() -> bool:
    """Tell whether BLAS reads the result of a product that is added to 0 times it: it need not be initialized here."""
    return False


def res_is_a(node: Any, op: Any, maxclients: int | None = None) -> Any:
    """Tell whether a variable is the result of `op`, and read by no more than `maxclients`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> bool(T.blas.res_is_a(T.sqrt(T.dvector()), T.sqrt))
    True
    """
    few = maxclients is None or len(node.clients) <= maxclients
    return node.owner and node.owner.op == op and few


def _as_scalar(res: Any, dtype: str | None = None) -> Any:
    """Return a variable of one number as a 0-d tensor, or None if it has more, or is too large an integer."""
    dtype_name = config.floatX if dtype is None else dtype
    if not all(res.type.broadcastable):
        return None
    while res.owner and isinstance(res.owner.op, DimShuffle):
        res = res.owner.inputs[0]
    if not all(res.type.broadcastable):
        return None
    plain = dimshuffle(res, ()) if res.type.ndim else res
    if plain.type.dtype not in _INTEGERS:
        return plain
    return T.cast(plain, dtype_name) if upcast(res.type.dtype, dtype_name) == dtype_name else None


def _is_real_matrix(res: Any) -> bool:
    """Tell whether a variable is a matrix of real numbers that broadcasts nowhere."""
    return bool(res.type.dtype in _REAL and res.type.ndim == 2 and not any(res.type.broadcastable))


def _is_real_vector(res: Any) -> bool:
    """Tell whether a variable is a vector of real numbers that does not broadcast."""
    return bool(res.type.dtype in _REAL and res.type.ndim == 1 and not any(res.type.broadcastable))


def _scaled(thing: Any, scale: Any) -> Any:
    if isinstance(scale, int | float) and scale == 1:
        return thing
    if isinstance(scale, int | float) and scale == -1 and thing.type.dtype != "bool":
        return -thing
    return scale * thing


def _gemm_canonicalize(r: Any, scale: Any, rval: list[Any], maxclients: int) -> list[Any] | None:
    """Append to `rval` the terms (factor, matrix or vector) of which `scale` times `r` is the sum."""
    if getattr(getattr(r, "type", None), "broadcastable", None) is None:
        return None
    if r.type.ndim not in (1, 2) or r.type.dtype not in _NUMBERS:
        rval.append(_scaled(r, scale))
        return rval
    node = r.owner
    if node is None or (maxclients and len(getattr(r, "clients", ())) > maxclients):
        rval.append((scale, r))
        return rval
    if node.op == T.sub:
        _gemm_canonicalize(node.inputs[0], scale, rval, 1)
        _gemm_canonicalize(node.inputs[1], -scale, rval, 1)
    elif node.op == T.add:
        for term in node.inputs:
            _gemm_canonicalize(term, scale, rval, 1)
    elif node.op == T.neg:
        _gemm_canonicalize(node.inputs[0], -scale, rval, 1)
    elif node.op == T.mul:
        _canonicalize_product(r, scale, rval)
    else:
        rval.append((scale, r))
    return rval


def _canonicalize_product(r: Any, scale: Any, rval: list[Any]) -> None:
    factors, arrays = [], []
    for factor in r.owner.inputs:
        if all(factor.type.broadcastable):
            while factor.owner and isinstance(factor.owner.op, DimShuffle):
                factor = factor.owner.inputs[0]
            factors.append(dimshuffle(factor, ()) if factor.type.broadcastable else factor)
        elif _is_real_vector(factor) or _is_real_matrix(factor):
            arrays.append(factor)
        else:
            arrays = []
            break
    if len(arrays) != 1:
        rval.append((scale, r))
        return
    if factors:
        first = _scaled(factors[0], scale)
        scale = T.mul(first, *factors[1:]) if len(factors) > 1 else first
    _gemm_canonicalize(arrays[0], scale, rval, 1)


def _factor_canonicalized(lst: Iterable[Any]) -> list[Any]:
    """Return terms (factor, array) with the factors of equal arrays added up."""
    factors: list[Any] = []
    for term in lst:
        pair = isinstance(term, list | tuple) and len(term) == 2
        at = next((i for i, old in enumerate(factors) if pair and isinstance(old, tuple) and old[1] is term[1]), None)
        if at is None:
            factors.append(tuple(term) if pair else term)
        else:
            factors[at] = (factors[at][0] + term[0], term[1])
    return factors


def _beta_L_plus_alpha_M(beta: Any, L: Any, alpha: Any, M: Any, recurse_flip: bool = True) -> tuple[Any, Any]:
    """Return ``beta L + alpha M`` as one product that is added, and the product, or (False, False)."""
    for b, z, a, product in ((beta, L, alpha, M), (alpha, M, beta, L))[: 1 + recurse_flip]:
        if res_is_a(product, Dot22(), 1) and not all(z.type.broadcastable):
            dtype = product.type.dtype
            numbers = [f if isinstance(f, Variable) else T.constant(f, dtype=dtype) for f in (a, b)]
            factors = [_as_scalar(f, dtype) for f in numbers]
            if None not in factors and all(f.type.dtype == product.type.dtype for f in factors):
                left, right = product.owner.inputs
                if z.type == product.type:
                    return [gemm_no_inplace(z, factors[0], left, right, factors[1])], product
    return False, False


@local_optimizer([gemm_no_inplace], inplace=True)
def local_inplace_gemm(node: Apply) -> Any:
    """Add a product in the memory of the addend."""
    return [gemm_inplace(*node.inputs)] if node.op == gemm_no_inplace else None


@local_optimizer([gemv_no_inplace], inplace=True)
def local_inplace_gemv(node: Apply) -> Any:
    """Add a product with a vector in the memory of the addend."""
    return [gemv_inplace(*node.inputs)] if node.op == gemv_no_inplace else None


@local_optimizer([ger], inplace=True)
def local_inplace_ger(node: Apply) -> Any:
    """Add a product of two vectors in the memory of the addend."""
    return [ger_destructive(*node.inputs)] if node.op == ger else None


blas_opt_inplace = in2out(local_inplace_gemm, local_inplace_gemv, local_inplace_ger, name="blas_opt_inplace")


@local_optimizer(None)
def local_print_as_we_go_along(node: Apply) -> Any:
    """Print sums and differences as rewriting meets them, and change nothing."""
    if node.op in (T.sub, T.add):
        debugprint(node)
    return False


def blas_header_version() -> tuple[int]:
    """Return a version for `c_code_cache_version`; code is found again by its text, so it need never grow."""
    return (1,)


# ---- Helpers and local optimizers of `theano.tensor.nlinalg`, `theano.tensor.slinalg` and `theano.sandbox.linalg.ops`

#: The structures of a matrix that `Solve` accepts.
MATRIX_STRUCTURES = (
    "general",
    "symmetric",
    "lower_triangular",
    "upper_triangular",
    "hermitian",
    "banded",
    "diagonal",
    "toeplitz",
)
#: Whether SciPy is there: always, it is a requirement.
imported_scipy = True

remove_hint_nodes = Wrapped(linalg_rules.remove_hint_nodes)
transinv_to_invtrans = Wrapped(linalg_rules.transinv_to_invtrans)
inv_as_solve = Wrapped(linalg_rules.inv_as_solve)
tag_solve_triangular = Wrapped(linalg_rules.tag_solve_triangular)
psd_solve_with_chol = Wrapped(linalg_rules.psd_solve_with_chol)
local_det_chol = Wrapped(linalg_rules.determinant_by_factor)


def _zero_disconnected(outputs: Sequence[Variable], grads: Sequence[Variable]) -> list[Any]:
    """Return gradients, with zeros for missing ones."""
    return [T.zeros_like(o) if isinstance(g.type, DisconnectedType) else g for o, g in zip(outputs, grads, strict=True)]


def is_psd(v: Variable) -> bool:
    """Tell whether a hint says that a matrix is positive semi-definite."""
    return bool(hints(v).get("psd", False))


def is_symmetric(v: Variable) -> bool:
    """Tell whether a hint says that a matrix is symmetric."""
    return bool(hints(v).get("symmetric", False))


def is_positive(v: Variable) -> bool:
    """Tell whether the elements of a variable are known to be positive: by a hint, or as squares of real numbers."""
    if hints(v).get("positive", False):
        return True
    node = v.owner
    if node is None or node.op != T.pow:
        return False
    try:
        exponent = T.get_scalar_constant_value(node.inputs[1])
    except T.NotScalarConstantError:
        return False
    return bool(exponent == 2)


@local_optimizer([T.DimShuffle])
def no_transpose_symmetric(node: Apply) -> Any:
    """The transpose of a matrix that is hinted to be symmetric is the matrix."""
    x = node.inputs[0]
    if x.type.ndim == 2 and is_symmetric(x) and tuple(node.op.new_order) == (1, 0):
        return [x]
    return None


@local_optimizer([T.log])
def local_log_prod_sqr(node: Apply) -> Any:
    """The logarithm of a product of positive numbers is the sum of their logarithms."""
    inner = node.inputs[0].owner
    if inner is not None and isinstance(inner.op, T.Prod) and is_positive(inner.inputs[0]):
        return [T.log(inner.inputs[0]).sum(axis=inner.op.axis)]
    return None


@local_optimizer([T.log])
def local_log_pow(node: Apply) -> Any:
    """The logarithm of a power is the exponent times the logarithm of the base."""
    inner = node.inputs[0].owner
    if inner is None or inner.op != T.pow:
        return None
    base, exponent = inner.inputs
    return [exponent * T.log(base)]


# ---- The name `lstsq`: a function here, and the class of an op in Theano 1.0


class lstsq(Lstsq):
    """Least squares: ``lstsq(a, b, rcond)`` gives the results, ``lstsq()`` the op that does.

    Examples
    --------
    >>> from theano.tensor import nlinalg
    >>> nlinalg.lstsq()([[1.0], [1.0]], [1.0, 3.0], -1.0)[0].eval()
    array([2.])
    >>> nlinalg.lstsq([[1.0], [1.0]], [1.0, 3.0])[0].eval()
    array([2.])
    """

    __props__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return an op, or with arguments its results."""
        return _solution(*args, **kwargs) if args or kwargs else super().__new__(cls)

    def make_node(self, a: Any, b: Any, rcond: Any) -> Apply:
        """Apply to a matrix, a vector or matrix, and a number; LinAlgError at run time for other dimensions."""
        try:
            return super().make_node(a, b, rcond)
        except ShapeError:
            inputs = [as_tensor_variable(x) for x in (a, b, rcond)]
            kinds = (("float64", 2), ("float64", 1), ("int64", 0), ("float64", 1))
            return Apply(self, inputs, [TensorType(dtype, (None,) * ndim).make_variable() for dtype, ndim in kinds])


# ---- Products of matrices and vectors in C: ops of Theano 1.0, which are those of `theano.tensor.blas` here


class BaseBLAS(GemmRelated):
    """Base of ops with C code that calls BLAS."""


class CGer(BaseBLAS, Ger):
    """Rank-1 update ``A + alpha x y'``; see :class:`theano.tensor.blas.Ger`."""


class CGemv(BaseBLAS, Gemv):
    """General product of a matrix and a vector ``beta y + alpha A x``; see :class:`theano.tensor.blas.Gemv`."""


cger_inplace, cger_no_inplace = CGer(True), CGer(False)
cgemv_inplace, cgemv_no_inplace = CGemv(inplace=True), CGemv(inplace=False)


def check_force_gemv_init() -> bool:
    """Tell whether BLAS reads the result of a product that is added to 0 times it: it need not be initialized here."""
    return False


@local_optimizer([ger, ger_destructive])
def use_c_ger(node: Apply) -> Any:
    """Put `CGer` in the place of `Ger`."""
    return [CGer(node.op.destructive)(*node.inputs)] if type(node.op) is Ger else None


@local_optimizer([CGer], inplace=True)
def make_c_ger_destructive(node: Apply) -> Any:
    """Overwrite the addend of the product."""
    return [cger_inplace(*node.inputs)] if node.op == cger_no_inplace else None


@local_optimizer([gemv_inplace, gemv_no_inplace])
def use_c_gemv(node: Apply) -> Any:
    """Put `CGemv` in the place of `Gemv`."""
    return [CGemv(node.op.inplace)(*node.inputs)] if type(node.op) is Gemv else None


@local_optimizer([CGemv], inplace=True)
def make_c_gemv_destructive(node: Apply) -> Any:
    """Overwrite the addend of the product."""
    return [cgemv_inplace(*node.inputs)] if node.op == cgemv_no_inplace else None


# ---- Products of vectors by SciPy's BLAS: ops of Theano 1.0, which are those of `theano.tensor.blas` here


class ScipyGer(Ger):
    """Rank-1 update ``A + alpha x y'``; see :class:`theano.tensor.blas.Ger`."""


scipy_ger_no_inplace, scipy_ger_inplace = ScipyGer(False), ScipyGer(True)


@local_optimizer([ger, ger_destructive])
def use_scipy_ger(node: Apply) -> Any:
    """Put `ScipyGer` in the place of `Ger`."""
    return [scipy_ger_no_inplace(*node.inputs)] if node.op == ger else None


@local_optimizer([scipy_ger_no_inplace], inplace=True)
def make_ger_destructive(node: Apply) -> Any:
    """Overwrite the addend of the product."""
    return [scipy_ger_inplace(*node.inputs)] if node.op == scipy_ger_no_inplace else None


use_scipy_blas = in2out(use_scipy_ger)
make_scipy_blas_destructive = in2out(make_ger_destructive)


# ---- The op `nlinalg.alloc_diag`: a matrix with a vector on its diagonal, and nothing else


class _DiagonalOfMatrix(AllocDiag):
    """Makes the nodes of `AllocDiag`, which takes stacks of vectors, too, for one vector only."""

    def make_node(self, x: Any) -> Apply:
        """Apply to a vector; TypeError for other dimensions."""
        variable = as_tensor_variable(x)
        if variable.type.ndim != 1:
            what = f"alloc_diag: a vector is wanted, not a tensor of {variable.type.ndim} dimensions"
            raise TypeError(
                format_error(what, context=[describe(variable)], hint="apply theano.tensor.AllocDiag() to it")
            )
        return AllocDiag().make_node(variable)


alloc_diag = _DiagonalOfMatrix()
