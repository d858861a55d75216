"""Attacks on `load(file, safe=True)`: archives that are nearly right, and a watch on what they do.

python -m theano_testing_workshop.archives --inputs 20000
"""

from ._attack import Finding as Finding, Outcome as Outcome, attack as attack
from ._mutate import Mutator as Mutator
from ._samples import samples as samples

__all__ = ["Finding", "Mutator", "Outcome", "attack", "samples"]
