"""Special functions of scalars."""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_linker_c.scalar import (
    BetaInc as BetaInc, BinaryScalarOp as BinaryScalarOp, Chi2SF as Chi2SF, Erf as Erf, Erfc as Erfc,
    Erfcinv as Erfcinv, Erfcx as Erfcx, Erfinv as Erfinv, Gamma as Gamma, GammaInc as GammaInc, GammaIncC as GammaIncC,
    GammaL as GammaL, GammaLn as GammaLn, GammaU as GammaU, I0 as I0, I1 as I1, Iv as Iv, J0 as J0, J1 as J1, Jv as Jv,
    Psi as Psi, TriGamma as TriGamma, UnaryScalarOp as UnaryScalarOp, betainc as betainc, chi2sf as chi2sf, erf as erf,
    erfc as erfc, erfcinv as erfcinv, erfcx as erfcx, erfinv as erfinv, exp as exp, gamma as gamma,
    gammainc as gammainc, gammaincc as gammaincc, gammal as gammal, gammaln as gammaln, gammau as gammau, i0 as i0,
    i1 as i1, iv as iv, j0 as j0, j1 as j1, jv as jv, psi as psi, tri_gamma as tri_gamma, upcast as upcast,
    upgrade_to_float as upgrade_to_float, upgrade_to_float64 as upgrade_to_float64,
    upgrade_to_float_no_complex as upgrade_to_float_no_complex,
)
from theano_tensor import grad_not_implemented as grad_not_implemented
from .basic import complex_types as complex_types, discrete_types as discrete_types, float_types as float_types
# isort: on
# fmt: on
# End of the names of names.toml.


from .._lazy import lazy_names
from ._historical import imported_scipy_special as imported_scipy_special

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
