# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.misc._tools import _arrays as _arrays
from theano.misc._tools import _devices as _devices
from theano.misc._tools import _overlap as _overlap
from theano.misc._tools import may_share_memory as may_share_memory
