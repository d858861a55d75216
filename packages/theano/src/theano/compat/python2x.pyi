# Written by tools/generate_names.py from names.tsv.
# fmt: off
from builtins import all as all
from builtins import any as any
from collections import Counter as Counter
from collections import OrderedDict as OrderedDict
from collections import defaultdict as defaultdict
from functools import partial as partial
from itertools import product as product
