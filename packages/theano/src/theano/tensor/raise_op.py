"""An op that raises when it runs."""

from ..raise_op import Raise as Raise

__all__ = ["Raise"]
