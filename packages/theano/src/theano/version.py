"""The version, under the names that programs ask for."""

from ._version import __version__

version = __version__
full_version = __version__
short_version = __version__
