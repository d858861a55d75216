# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.tests._historical import MismatchError as MismatchError
from theano.tests._historical import Record as Record
from theano.tests._historical import RecordMode as RecordMode
from theano.tests._historical import _MOST as _MOST
from theano.tests._historical import _digests as _digests
from theano.tests._historical import _shortened as _shortened
