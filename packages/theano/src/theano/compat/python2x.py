"""Containers that older versions of Python lacked."""

from collections import (
    Counter as Counter,
    OrderedDict as OrderedDict,
)
