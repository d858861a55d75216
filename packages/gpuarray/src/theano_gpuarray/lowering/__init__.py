"""Nodes of a graph that run on a device, put together to regions when the graph is lowered."""

from ._clusters import DEVICE_CLUSTERS as DEVICE_CLUSTERS, RegionRunner as RegionRunner

__all__ = ["DEVICE_CLUSTERS", "RegionRunner"]
