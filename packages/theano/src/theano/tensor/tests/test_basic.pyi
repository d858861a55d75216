# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_testing.tensor import make_broadcast_tester as _make_broadcast_tester
makeBroadcastTester = _make_broadcast_tester
from theano_testing.tensor import make_tester as _make_tester
makeTester = _make_tester
