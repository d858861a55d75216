"""Special functions: of error, gamma, beta, Bessel and others."""

from .._derivative import ScalarRecord
from . import _error_functions, _gamma, _incomplete

# Names that these define, written by tools/generate_names.py:
#     _error_functions _gamma _incomplete
# fmt: off
# isort: off
from ._error_functions import (
    Erf as Erf, Erfc as Erfc, Erfcinv as Erfcinv, Erfcx as Erfcx, ErfcxIntegral as ErfcxIntegral, Erfinv as Erfinv,
    Hyp2F1 as Hyp2F1, OwensT as OwensT, erf as erf, erfc as erfc, erfcinv as erfcinv, erfcx as erfcx, erfinv as erfinv,
    hyp2f1 as hyp2f1, owens_t as owens_t,
)
from ._gamma import (
    Gamma as Gamma, GammaLn as GammaLn, I0 as I0, I1 as I1, Iv as Iv, Ive as Ive, J0 as J0, J1 as J1, Jv as Jv,
    Kve as Kve, PolyGamma as PolyGamma, Psi as Psi, TriGamma as TriGamma, Zeta as Zeta, gamma as gamma,
    gammaln as gammaln, i0 as i0, i1 as i1, iv as iv, ive as ive, j0 as j0, j1 as j1, jv as jv, kve as kve, psi as psi,
    tri_gamma as tri_gamma, zeta as zeta,
)
from ._incomplete import (
    BetaInc as BetaInc, BetaIncInv as BetaIncInv, BetaLn as BetaLn, Chi2SF as Chi2SF, GammaInc as GammaInc,
    GammaIncC as GammaIncC, GammaIncCInv as GammaIncCInv, GammaIncDer as GammaIncDer, GammaIncInv as GammaIncInv,
    GammaL as GammaL, GammaU as GammaU, betainc as betainc, betaincinv as betaincinv, betaln as betaln,
    chi2sf as chi2sf, gammainc as gammainc, gammainc_der as gammainc_der, gammaincc as gammaincc,
    gammainccinv as gammainccinv, gammaincinv as gammaincinv, gammal as gammal, gammau as gammau,
)
# isort: on
# fmt: on
# End of the names that these define.

#: How to test each op.
RECORDS: tuple[ScalarRecord, ...] = (*_error_functions.RECORDS, *_gamma.RECORDS, *_incomplete.RECORDS)

__all__: list[str] = []

# Their names, written by tools/generate_names.py.
# fmt: off
# isort: off
__all__ += [
    "BetaInc", "BetaIncInv", "BetaLn", "Chi2SF", "Erf", "Erfc", "Erfcinv", "Erfcx", "ErfcxIntegral", "Erfinv", "Gamma",
    "GammaInc", "GammaIncC", "GammaIncCInv", "GammaIncDer", "GammaIncInv", "GammaL", "GammaLn", "GammaU", "Hyp2F1",
    "I0", "I1", "Iv", "Ive", "J0", "J1", "Jv", "Kve", "OwensT", "PolyGamma", "Psi", "TriGamma", "Zeta", "betainc",
    "betaincinv", "betaln", "chi2sf", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "gamma", "gammainc", "gammainc_der",
    "gammaincc", "gammainccinv", "gammaincinv", "gammal", "gammaln", "gammau", "hyp2f1", "i0", "i1", "iv", "ive", "j0",
    "j1", "jv", "kve", "owens_t", "psi", "tri_gamma", "zeta",
]
# isort: on
# fmt: on
# End of their names.
