"""Linear algebra: inverses, determinants, factors, eigenvalues, equations, and their common part.

Matrices are the last two dimensions of a tensor; the dimensions before are those of a stack.
"""

from theano_linker_c import announce_straight_rules

from . import _native as _native, _numpy_names as _numpy_names, rewrites as rewrites
from ._equations._cofactors import Cofactors as Cofactors, CofactorsChange as CofactorsChange
from ._equations._inverse import (
    Det as Det,
    MatrixInverse as MatrixInverse,
    MatrixPinv as MatrixPinv,
    SLogDet as SLogDet,
    det as det,
    matrix_inverse as matrix_inverse,
    pinv as pinv,
    slogdet as slogdet,
    trace as trace,
)
from ._equations._solve import (
    Solve as Solve,
    solve as solve,
    solve_lower_triangular as solve_lower_triangular,
    solve_symmetric as solve_symmetric,
    solve_upper_triangular as solve_upper_triangular,
)
from ._equations._sylvester import (
    TriangularSylvester as TriangularSylvester,
    solve_triangular_sylvester as solve_triangular_sylvester,
)
from ._equations._tridiagonal import (
    SolveTridiagonal as SolveTridiagonal,
    SolveTridiagonalFactor as SolveTridiagonalFactor,
    TridiagonalFactor as TridiagonalFactor,
    solve_tridiagonal as solve_tridiagonal,
)
from ._exponential import Expm as Expm, ExpmGrad as ExpmGrad, expm as expm
from ._factors._cholesky import (
    Cholesky as Cholesky,
    CholeskyGrad as CholeskyGrad,
    cholesky as cholesky,
    cholesky_solve as cholesky_solve,
)
from ._factors._eigen import (
    Eig as Eig,
    Eigh as Eigh,
    EighGrad as EighGrad,
    Eigvalsh as Eigvalsh,
    EigvalshGrad as EigvalshGrad,
    eig as eig,
    eigh as eigh,
    eigvalsh as eigvalsh,
)
from ._factors._lu import (
    LUFactor as LUFactor,
    PivotsToPermutation as PivotsToPermutation,
    lu as lu,
    lu_factor as lu_factor,
    lu_solve as lu_solve,
)
from ._factors._orthogonal import (
    SVD as SVD,
    QRFull as QRFull,
    QRIncomplete as QRIncomplete,
    qr as qr,
    svd as svd,
)
from ._factors._schur import QZ as QZ, Schur as Schur, qz as qz, schur as schur
from ._matrices._hints import (
    Hint as Hint,
    HintsFeature as HintsFeature,
    HintsOptimizer as HintsOptimizer,
    hints as hints,
    is_hint_node as is_hint_node,
    psd as psd,
)
from ._products import (
    kron as kron,
    matrix_dot as matrix_dot,
    matrix_power as matrix_power,
    norm as norm,
    spectral_radius_bound as spectral_radius_bound,
)
from ._tensors import (
    Lstsq as Lstsq,
    TensorInv as TensorInv,
    TensorSolve as TensorSolve,
    lstsq as lstsq,
    tensorinv as tensorinv,
    tensorsolve as tensorsolve,
)

__all__ = [
    "QZ",
    "SVD",
    "Cholesky",
    "CholeskyGrad",
    "Cofactors",
    "CofactorsChange",
    "Det",
    "Eig",
    "Eigh",
    "EighGrad",
    "Eigvalsh",
    "EigvalshGrad",
    "Expm",
    "ExpmGrad",
    "Hint",
    "HintsFeature",
    "HintsOptimizer",
    "LUFactor",
    "Lstsq",
    "MatrixInverse",
    "MatrixPinv",
    "PivotsToPermutation",
    "QRFull",
    "QRIncomplete",
    "SLogDet",
    "Schur",
    "Solve",
    "SolveTridiagonal",
    "SolveTridiagonalFactor",
    "TensorInv",
    "TensorSolve",
    "TriangularSylvester",
    "TridiagonalFactor",
    "cholesky",
    "cholesky_solve",
    "det",
    "eig",
    "eigh",
    "eigvalsh",
    "expm",
    "hints",
    "is_hint_node",
    "kron",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matrix_dot",
    "matrix_inverse",
    "matrix_power",
    "norm",
    "pinv",
    "psd",
    "qr",
    "qz",
    "rewrites",
    "schur",
    "slogdet",
    "solve",
    "solve_lower_triangular",
    "solve_symmetric",
    "solve_triangular_sylvester",
    "solve_tridiagonal",
    "solve_upper_triangular",
    "spectral_radius_bound",
    "svd",
    "tensorinv",
    "tensorsolve",
    "trace",
]

announce_straight_rules("theano_tensor.linalg._straight")
