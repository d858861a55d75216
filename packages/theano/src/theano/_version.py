"""The version of this distribution: the build reads it here, without an import."""

__version__ = "2.0.0"
