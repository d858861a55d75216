# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.compat import cmp as cmp
from theano.gof._walks import Comparator as Comparator
from theano.gof._walks import KeyT as KeyT
from theano.gof._walks import ValueT as ValueT
from theano.gof._walks import _toposort as _toposort
from theano.gof._walks import key_to_cmp as key_to_cmp
from theano.gof._walks import list_of_nodes as list_of_nodes
from theano.gof._walks import make_dependence_cmp as make_dependence_cmp
from theano.gof._walks import make_depends as make_depends
from theano.gof._walks import memodict as memodict
from theano.gof._walks import posort as posort
from theano.gof._walks import reverse_dict as reverse_dict
from theano.gof._walks import sort_apply_nodes as sort_apply_nodes
from theano.gof._walks import sort_schedule_fn as sort_schedule_fn
