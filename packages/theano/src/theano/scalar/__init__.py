"""Scalars: the types and ops that elementwise tensor ops are made of."""

from . import basic as basic
from .basic import *
