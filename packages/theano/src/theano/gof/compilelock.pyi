# Written by tools/generate_names.py from names.tsv.
# fmt: off
from contextlib import AbstractContextManager as AbstractContextManager
from contextlib import ExitStack as ExitStack
from contextlib import contextmanager as contextmanager
from theano.gof._compilers import _KEY as _KEY
from theano.gof._compilers import _folder as _folder
from theano.gof._compilers import _held as _held
from theano.gof._compilers import force_unlock as force_unlock
from theano.gof._compilers import get_lock as get_lock
from theano.gof._compilers import lock_ctx as lock_ctx
from theano.gof._compilers import release_lock as release_lock
from theano_graph import config as config
from theano_linker_c.compiler import CompileDirectory as CompileDirectory
from theano_linker_c.compiler import build_lock as build_lock
from theano_linker_c.compiler import set_lock_status as set_lock_status
