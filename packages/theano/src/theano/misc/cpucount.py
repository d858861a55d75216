"""The number of processors."""

from .._processors import cpuCount as cpuCount

__all__ = ["cpuCount"]
