"""Scalars: the types and ops that elementwise tensor ops are made of."""

from . import basic as basic, basic_scipy as basic_scipy
from .basic import *
