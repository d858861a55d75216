# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano._version import FALLBACK_VERSION as FALLBACK_VERSION
from theano._version import full_version as full_version
from theano._version import git_revision as git_revision
from theano._version import release as release
from theano._version import short_version as short_version
from theano._version import version as version
