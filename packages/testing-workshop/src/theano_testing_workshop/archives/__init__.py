"""Attacks on `load(file, safe=True)`: archives that are nearly right, and a watch on their effects.

python -m theano_testing_workshop.archives --inputs 20000
"""

from ._attack import Finding, Outcome, attack
from ._mutate import Mutator, samples

__all__ = ["Finding", "Mutator", "Outcome", "attack", "samples"]
