"""The version, under the names that programs ask for."""

from ._version import __version__

version = __version__
full_version = __version__
short_version = __version__
FALLBACK_VERSION = f"{__version__}+unknown"
#: Not known: installed versions do not say which commit they were made of.
git_revision = None
release = not any(mark in __version__ for mark in ("a", "b", "rc", "dev"))
