"""From uniform random numbers to categories with given probabilities."""

from theano_tensor.random.mrg import (
    ChoiceFromUniform as ChoiceFromUniform,
    MultinomialFromUniform as MultinomialFromUniform,
)

from .._lazy import lazy_names

MultinomialWOReplacementFromUniform = ChoiceFromUniform

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
