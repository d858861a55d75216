"""The layer that will run expression graphs on graphics cards.

Nothing but the version is defined yet.
"""

from ._version import __version__ as __version__

__all__ = ["__version__"]
