"""Special functions: of error, gamma, beta and Bessel."""

from .._contract._record import ScalarRecord
from . import _bessel, _error_functions, _gamma, _incomplete

# Names that these define, written by tools/generate_names.py:
#     _bessel _error_functions _gamma _incomplete
# fmt: off
# isort: off
from ._bessel import (
    I0 as I0, I1 as I1, Iv as Iv, J0 as J0, J1 as J1, Jv as Jv, i0 as i0, i1 as i1, iv as iv, j0 as j0, j1 as j1,
    jv as jv,
)
from ._error_functions import (
    Erf as Erf, Erfc as Erfc, Erfcinv as Erfcinv, Erfcx as Erfcx, ErfcxIntegral as ErfcxIntegral, Erfinv as Erfinv,
    erf as erf, erfc as erfc, erfcinv as erfcinv, erfcx as erfcx, erfinv as erfinv,
)
from ._gamma import (
    Gamma as Gamma, GammaLn as GammaLn, PolyGamma as PolyGamma, Psi as Psi, TriGamma as TriGamma, gamma as gamma,
    gammaln as gammaln, psi as psi, tri_gamma as tri_gamma,
)
from ._incomplete import (
    BetaInc as BetaInc, BetaLn as BetaLn, Chi2SF as Chi2SF, GammaInc as GammaInc, GammaIncC as GammaIncC,
    GammaIncDer as GammaIncDer, GammaL as GammaL, GammaU as GammaU, betainc as betainc, betaln as betaln,
    chi2sf as chi2sf, gammainc as gammainc, gammainc_der as gammainc_der, gammaincc as gammaincc, gammal as gammal,
    gammau as gammau,
)
# isort: on
# fmt: on
# End of the names that these define.

#: How to test each op.
RECORDS: tuple[ScalarRecord, ...] = (
    *_error_functions.RECORDS,
    *_gamma.RECORDS,
    *_incomplete.RECORDS,
    *_bessel.RECORDS,
)

__all__: list[str] = []

# Their names, written by tools/generate_names.py.
# fmt: off
# isort: off
__all__ += [
    "BetaInc", "BetaLn", "Chi2SF", "Erf", "Erfc", "Erfcinv", "Erfcx", "ErfcxIntegral", "Erfinv", "Gamma", "GammaInc",
    "GammaIncC", "GammaIncDer", "GammaL", "GammaLn", "GammaU", "I0", "I1", "Iv", "J0", "J1", "Jv", "PolyGamma", "Psi",
    "TriGamma", "betainc", "betaln", "chi2sf", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "gamma", "gammainc",
    "gammainc_der", "gammaincc", "gammal", "gammaln", "gammau", "i0", "i1", "iv", "j0", "j1", "jv", "psi", "tri_gamma",
]
# isort: on
# fmt: on
# End of their names.
