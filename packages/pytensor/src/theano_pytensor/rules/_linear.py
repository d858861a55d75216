"""Rules for linear algebra, and for ops over stacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.tensor import nlinalg, slinalg

from .._lapack import Lapack
from .._translation import NoRule, Rule, Site, engine_type, find_rule, name_of, rule

# ---- Products and linear algebra; matrices may come in stacks, whose dimensions before the last two are the same

STACKED: set[str] = set()
"""The classes whose rules take stacks."""


def stacked_rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule that takes stacks, too."""
    STACKED.update(names)
    return rule(*names)


def transposed(x: Any) -> Any:
    """Return a stack with each matrix transposed."""
    return x.dimshuffle([*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


def by_lapack(site: Site, task: str, *options: Any) -> list[Any]:
    """Compute by SciPy's LAPACK, in the memory of inputs that the node overwrites."""
    dtypes = [np.dtype(x.dtype) for x in site.inputs if x.dtype.startswith("complex")]
    kinds = []
    for variable in site.outputs:
        dtype = variable.type.dtype
        # Factors of complex matrices are complex, whatever PyTensor's type of them says.
        if dtypes and dtype.startswith("float"):
            dtype = np.result_type(*dtypes).name
        kinds.append(engine_type(variable.type.clone(dtype=dtype)))
    return list(Lapack(task, options, kinds, site.overwritten)(*site.inputs, return_list=True))


@rule("tensor.Dot")
def _dot(site: Site) -> Any:
    return T.dot(*site.inputs)


@rule("tensor.BatchedDot")
def _batched_dot(site: Site) -> Any:
    return T.batched_dot(*site.inputs)


@stacked_rule("tensor.Cholesky")
def _cholesky(site: Site) -> Any:
    """The factor, or NaN where there is none."""
    if site.overwritten:
        return by_lapack(site, "cholesky", site.op.lower)
    return slinalg.Cholesky(lower=site.op.lower, on_error="nan")(site.inputs[0])


def _as_columns(a: Any, b: Any, b_ndim: int) -> tuple[Any, bool]:
    """Return the right-hand side with columns, and whether it is a stack of vectors."""
    if b_ndim == 2 or a.ndim == 2:
        return b, False
    return b.dimshuffle([*range(b.ndim), "x"]), True


def _solution(structure: str, a: Any, b: Any, b_ndim: int, lower: bool = False) -> Any:
    columns, are_vectors = _as_columns(a, b, b_ndim)
    result = slinalg.Solve(structure, lower=lower, on_error="nan")(a, columns)
    return result[..., 0] if are_vectors else result


@stacked_rule("tensor.Solve")
def _solve(site: Site) -> Any:
    (a, b), op = site.inputs, site.op
    real = not (a.dtype.startswith("complex") or b.dtype.startswith("complex"))
    if site.overwritten and op.assume_a == "tridiagonal":
        return by_lapack(site, "solve_tridiagonal")
    if site.overwritten and op.assume_a in ("sym", "her", "pos") and real:
        return by_lapack(site, "solve_definite" if op.assume_a == "pos" else "solve_symmetric", op.lower)
    if site.overwritten and op.assume_a == "gen":
        return by_lapack(site, "solve")
    if op.assume_a == "tridiagonal":
        below, middle, above = (T.diagonal(a, offset, a.ndim - 2, a.ndim - 1) for offset in (-1, 0, 1))
        return slinalg.SolveTridiagonal(op.b_ndim)(below, middle, above, b)
    structure = op.assume_a if op.assume_a in ("gen", "sym", "her", "pos") else "gen"
    if structure == "her" and a.dtype.startswith("complex"):
        raise NoRule("equations with a Hermitian matrix")
    if structure in ("sym", "her", "pos") and not a.dtype.startswith("complex"):
        return _solution("symmetric", a, b, op.b_ndim, op.lower)
    return _solution("general", a, b, op.b_ndim)


@stacked_rule("tensor.SolveTriangular")
def _solve_triangular(site: Site) -> Any:
    (a, b), op = site.inputs, site.op
    if site.overwritten:
        return by_lapack(site, "solve_triangular", op.lower, op.unit_diagonal)
    if op.unit_diagonal:
        ones = T.eye(a.shape[-1], dtype=a.dtype)
        a = T.switch(T.neq(ones, 0), ones, a)
    return _solution("lower_triangular" if op.lower else "upper_triangular", a, b, op.b_ndim)


@stacked_rule("tensor.CholeskySolve")
def _solve_by_cholesky(site: Site) -> Any:
    (factor, b), op = site.inputs, site.op
    if site.overwritten:
        return by_lapack(site, "solve_by_cholesky", op.lower)
    lower = factor if op.lower else transposed(factor)
    columns, are_vectors = _as_columns(lower, b, op.b_ndim)
    half = slinalg.Solve("lower_triangular", lower=True, on_error="nan")(lower, columns)
    result = slinalg.Solve("upper_triangular", on_error="nan")(transposed(lower), half)
    return result[..., 0] if are_vectors else result


@stacked_rule("tensor.MatrixInverse")
def _inverse(site: Site) -> Any:
    return nlinalg.matrix_inverse(site.inputs[0])


@stacked_rule("tensor.MatrixPinv")
def _pseudo_inverse(site: Site) -> Any:
    return nlinalg.pinv(site.inputs[0])


@stacked_rule("tensor.Det")
def _determinant(site: Site) -> Any:
    return nlinalg.det(site.inputs[0])


@stacked_rule("tensor.SLogDet")
def _log_determinant(site: Site) -> Any:
    return list(nlinalg.slogdet(site.inputs[0]))


@stacked_rule("tensor.Eig")
def _eigen(site: Site) -> Any:
    return list(nlinalg.eig(site.inputs[0]))


@stacked_rule("tensor.Eigh")
def _symmetric_eigen(site: Site) -> Any:
    """Eigenvalues and vectors of one matrix; the triangle is ``lower`` of the op, or in older versions ``UPLO``."""
    (a, *others), op = site.inputs, site.op
    if others:
        raise NoRule("generalized eigenvalues")
    triangle = ("L" if op.lower else "U") if hasattr(op, "lower") else op.UPLO
    return list(nlinalg.eigh(a, triangle))


@rule("tensor.Eigvalsh")
def _generalized_eigenvalues(site: Site) -> Any:
    a, *others = site.inputs
    return slinalg.eigvalsh(a, others[0] if others else None, lower=site.op.lower)


@stacked_rule("tensor.SVD")
def _singular(site: Site) -> Any:
    op = site.op
    parts = nlinalg.svd(site.inputs[0], op.full_matrices, op.compute_uv)
    return list(parts) if op.compute_uv else parts


@rule("tensor.QR")
def _orthogonal(site: Site) -> Any:
    (a,), op = site.inputs, site.op
    if op.pivoting or op.mode == "raw" or site.overwritten:
        return by_lapack(site, "qr", op.mode, op.pivoting)
    if op.mode == "r":
        return nlinalg.qr(a, "complete")[1]
    return list(nlinalg.qr(a, "reduced" if op.mode == "economic" else "complete"))


@stacked_rule("tensor.Expm")
def _exponential(site: Site) -> Any:
    return slinalg.expm(site.inputs[0])


@rule("tensor.BlockDiagonal")
def _block_diagonal(site: Site) -> Any:
    blocks = site.inputs
    rows, columns = (sum(block.shape[axis] for block in blocks) for axis in (0, 1))
    result = T.zeros((rows, columns), dtype=site.outputs[0].type.dtype)
    row, column = T.constant(0), T.constant(0)
    for block in blocks:
        next_row, next_column = row + block.shape[0], column + block.shape[1]
        result = T.set_subtensor(result[row:next_row, column:next_column], block)
        row, column = next_row, next_column
    return result


@rule("tensor.TensorInv")
def _tensor_inverse(site: Site) -> Any:
    return nlinalg.tensorinv(site.inputs[0], site.op.ind)


@rule("tensor.TensorSolve")
def _tensor_solve(site: Site) -> Any:
    return nlinalg.tensorsolve(site.inputs[0], site.inputs[1], axes=site.op.axes)


@stacked_rule("tensor.LU")
def _lower_upper(site: Site) -> Any:
    if site.overwritten:
        return by_lapack(site, "lu", site.op.permute_l, site.op.p_indices)
    return slinalg.lu(site.inputs[0], site.op.permute_l, site.op.p_indices)


@stacked_rule("tensor.LUFactor")
def _packed_lower_upper(site: Site) -> Any:
    """The factors, or NaN where the matrix is singular."""
    if site.overwritten:
        return by_lapack(site, "lu_factor")
    return slinalg.LUFactor(on_error="nan")(site.inputs[0], return_list=True)


@stacked_rule("tensor.PivotToPermutations")
def _permutation(site: Site) -> Any:
    return slinalg.PivotsToPermutation(not site.op.inverse)(site.inputs[0])


@stacked_rule("tensor.Schur")
def _schur(site: Site) -> Any:
    if site.overwritten:
        return by_lapack(site, "schur", site.op.output, site.op.sort)
    return slinalg.schur(site.inputs[0], site.op.output, site.op.sort)


@stacked_rule("tensor.QZ")
def _generalized_schur(site: Site) -> Any:
    op = site.op
    output = "complex" if op.complex_output else "real"
    return slinalg.QZ(output, op.sort, op.return_eigenvalues)(*site.inputs, return_list=True)


@stacked_rule("tensor.TRSYL")
def _sylvester(site: Site) -> Any:
    return slinalg.solve_triangular_sylvester(*site.inputs)


@stacked_rule("tensor.LUFactorTridiagonal")
def _tridiagonal_factors(site: Site) -> Any:
    if site.overwritten:
        return by_lapack(site, "tridiagonal_factors")
    return slinalg.TridiagonalFactor()(*site.inputs, return_list=True)


@stacked_rule("tensor.SolveLUFactorTridiagonal")
def _tridiagonal(site: Site) -> Any:
    if site.overwritten:
        return by_lapack(site, "solve_by_tridiagonal", "T" if site.op.transposed else "N")
    return slinalg.SolveTridiagonalFactor(site.op.b_ndim, site.op.transposed)(*site.inputs)


# ---- Ops on matrices applied to stacks of them, with stacks that broadcast against each other


@rule("tensor.Blockwise")
def _blockwise(site: Site) -> Any:
    """Apply the rule of the op inside to whole stacks where it takes them, else to each element in a loop."""
    op = site.op
    kind = type(op.core_op)
    core_rule = find_rule(kind)
    if core_rule is None:
        raise NoRule(f"there is no rule for {kind.__name__}")
    depths = [v.type.ndim - len(signature) for v, signature in zip(site.node.inputs, op.inputs_sig, strict=True)]
    depth = max(depths, default=0)
    if name_of(kind) == "tensor.Dot":
        return T.matmul(*site.inputs)
    core_node = op._create_dummy_core_node(site.node.inputs)
    inner = Site(core_node, site.inputs, site.translation)
    if not depth:
        return core_rule(inner)
    fronts = [_front(v, depth) for v in site.node.inputs]
    if name_of(kind) in STACKED and all(count == depth for count in depths):
        return core_rule(Site(core_node, _same_stacks(site, depth, fronts), site.translation))
    if any(v.type.ndim != depth + len(s) for v, s in zip(site.outputs, op.outputs_sig, strict=True)):
        raise NoRule("results that are no stacks")
    return _loop(site, core_node, depth, fronts)


def _front(variable: Any, depth: int) -> tuple[int | None, ...]:
    """Return the lengths of a stack that the type tells."""
    shape: tuple[int | None, ...] = variable.type.shape[:depth]
    return shape


def _lengths(inputs: Sequence[Any], depth: int, fronts: Sequence[tuple[int | None, ...]]) -> list[Any]:
    """Return the lengths of stacks after broadcasting: those of one that does not broadcast, axis by axis."""
    lengths: list[Any] = []
    for axis in range(depth):
        static = next((front[axis] for front in fronts if front[axis] not in (None, 1)), None)
        owner = next((x for x, front in zip(inputs, fronts, strict=True) if front[axis] != 1), None)
        length = 1 if owner is None else owner.shape[axis]
        lengths.append(length if static is None else static)
    return lengths


def _same_stacks(site: Site, depth: int, fronts: Sequence[tuple[int | None, ...]]) -> list[Any]:
    """Return the inputs, stacks that broadcast as copies of the common lengths."""
    lengths = _lengths(site.inputs, depth, fronts)
    broadcast = [any(front[axis] == 1 and lengths[axis] != 1 for axis in range(depth)) for front in fronts]
    return [
        T.alloc(x, *lengths, *(x.shape[axis] for axis in range(depth, x.ndim))) if copied else x
        for x, copied in zip(site.inputs, broadcast, strict=True)
    ]


def _loop(site: Site, core_node: Any, depth: int, fronts: Sequence[tuple[int | None, ...]]) -> list[Any]:
    """Apply the op inside in a loop over the stacks, which are put one behind the other."""
    lengths = _lengths(site.inputs, depth, fronts)
    single = [all(length == 1 for length in front) for front in fronts]
    stacks = _same_stacks(site, depth, fronts)
    flat = []
    for x, full, alone in zip(site.inputs, stacks, single, strict=True):
        source = x if alone else full
        tail = [source.shape[axis] for axis in range(depth, source.ndim)]
        lead = [] if alone else [-1]
        flat.append(T.reshape(source, _vector([*lead, *tail]), ndim=len(lead) + len(tail)))
    if all(single):
        results = site.translation.node(core_node, flat)
        return [T.shape_padleft(result, depth) for result in results]
    along = [x for x, alone in zip(flat, single, strict=True) if not alone]
    fixed = [x for x, alone in zip(flat, single, strict=True) if alone]

    def step(*values: Any) -> list[Any]:
        rows, constants = iter(values[: len(along)]), iter(values[len(along) :])
        return site.translation.node(core_node, [next(constants if alone else rows) for alone in single])

    results, _ = theano.scan(step, sequences=along, non_sequences=fixed, return_list=True)
    stacks = []
    for result in results:
        tail = [result.shape[axis] for axis in range(1, result.ndim)]
        stacks.append(T.reshape(result, _vector([*lengths, *tail]), ndim=depth + len(tail)))
    return stacks


def _vector(lengths: Sequence[Any]) -> Any:
    return T.stack(list(lengths)) if lengths else T.constant([], dtype="int64")
