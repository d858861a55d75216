"""Loops."""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from . import scan_op as scan_op, scan_opt as scan_opt, scan_utils as scan_utils, scan_views as scan_views
from .scan import scan as scan
from .scan_checkpoints import scan_checkpoints as scan_checkpoints
from .scan_utils import clone as clone, until as until
from .scan_views import foldl as foldl, foldr as foldr, map as map, reduce as reduce
# isort: on
# fmt: on
# End of the names of names.toml.

import sys

# In Theano 1.1 this package is called `theano.scan`, as the function is, and its modules go without the prefix.
_package = sys.modules[__name__]
for _name in ("op", "opt", "utils", "views"):
    _module = sys.modules[f"{__name__}.scan_{_name}"]
    setattr(_package, _name, _module)
    sys.modules[f"theano.scan.{_name}"] = _module
sys.modules["theano.scan"] = _package
sys.modules["theano.scan.basic"] = sys.modules[f"{__name__}.scan"]
sys.modules["theano.scan.checkpoints"] = sys.modules[f"{__name__}.scan_checkpoints"]
