"""Things that Python 2 had elsewhere, or under other names."""

import configparser as configparser
import pickle as cPickle
from functools import reduce as reduce
from io import StringIO as StringIO
from itertools import zip_longest as zip_longest

filter = filter
input = input
map = map
range = range
xrange = range
zip = zip

__all__ = [
    "StringIO",
    "cPickle",
    "configparser",
    "filter",
    "input",
    "map",
    "range",
    "reduce",
    "xrange",
    "zip",
    "zip_longest",
]
