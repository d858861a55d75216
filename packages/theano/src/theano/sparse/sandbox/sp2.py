"""Random sparse matrices."""

from theano_sparse import (
    Binomial as Binomial,
    Multinomial as Multinomial,
    Poisson as Poisson,
    csc_dbinomial as csc_dbinomial,
    csc_fbinomial as csc_fbinomial,
    csr_dbinomial as csr_dbinomial,
    csr_fbinomial as csr_fbinomial,
    multinomial as multinomial,
    poisson as poisson,
)

from ..._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __package__, {})

__all__ = [
    "Binomial",
    "Multinomial",
    "Poisson",
    "csc_dbinomial",
    "csc_fbinomial",
    "csr_dbinomial",
    "csr_fbinomial",
    "multinomial",
    "poisson",
]
