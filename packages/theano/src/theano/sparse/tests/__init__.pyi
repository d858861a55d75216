# Written by tools/generate_names.py from names.tsv.
# fmt: off
from . import test_basic as test_basic
