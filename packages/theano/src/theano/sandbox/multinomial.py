"""From uniform random numbers to categories with given probabilities."""

from theano_tensor.random.mrg import (
    ChoiceFromUniform as ChoiceFromUniform,
    MultinomialFromUniform as MultinomialFromUniform,
)

MultinomialWOReplacementFromUniform = ChoiceFromUniform
