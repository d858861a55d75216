"""The layer that will hold symbolic sparse matrices.

Nothing but the version is defined yet.
"""

from ._version import __version__ as __version__

__all__ = ["__version__"]
