"""The version of this distribution: the build reads it here, without an import."""

__version__ = "2.0.0"

# What `theano.version` has.
version = full_version = short_version = __version__
FALLBACK_VERSION = f"{__version__}+unknown"
#: Not known: installed versions do not say which commit they were made of.
git_revision = None
release = not any(mark in __version__ for mark in ("a", "b", "rc", "dev"))
