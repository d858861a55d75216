"""Containers and functions that older versions of Python lacked."""

from collections import (
    Counter as Counter,
    OrderedDict as OrderedDict,
    defaultdict as defaultdict,
)
from functools import partial as partial
from itertools import product as product

all = all
any = any

__all__ = ["Counter", "OrderedDict", "all", "any", "defaultdict", "partial", "product"]
