"""The version of this distribution: the build reads it here, without an import."""

__version__ = "0.1.0"
