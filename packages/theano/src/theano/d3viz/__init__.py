"""Interactive pictures of graphs: pages for a browser that need nothing but themselves."""

from . import formatting as formatting
from .d3viz import d3viz as d3viz, d3write as d3write

__all__ = ["d3viz", "d3write", "formatting"]
