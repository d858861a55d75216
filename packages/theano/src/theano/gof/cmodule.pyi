# Written by tools/generate_names.py from names.tsv.
# fmt: off
from functools import cache as cache
import theano as theano
from theano.compat import PY3 as PY3
from theano.compat import decode as decode
from theano.compat import decode_iter as decode_iter
from theano.configdefaults import gcc_version_str as gcc_version_str
from theano.configdefaults import local_bitwidth as local_bitwidth
from theano.gof import compilelock as compilelock
from theano.gof._compilers import Compiler as Compiler
from theano.gof._compilers import GCC_compiler as GCC_compiler
from theano.gof._compilers import ModuleCache as ModuleCache
from theano.gof._compilers import _version_of as _version_of
from theano.gof._compilers import dlimport_workdir as dlimport_workdir
from theano.gof._compilers import gcc_version as gcc_version
from theano.gof._compilers import get_gcc_shared_library_arg as get_gcc_shared_library_arg
from theano.gof._compilers import get_lib_extension as get_lib_extension
from theano.gof._compilers import get_module_cache as get_module_cache
from theano.gof._compilers import std_include_dirs as std_include_dirs
from theano.gof._historical_utils import string_types as string_types
from theano.gof.utils import flatten as flatten
from theano.gof.utils import hash_from_code as hash_from_code
from theano_graph import config as config
from theano_linker_c.cache_tool import open_cache as open_cache
from theano_linker_c.compiler import CompileDirectory as CompileDirectory
from theano_linker_c.compiler import CompileError as CompileError
from theano_linker_c.compiler import find_toolchain as find_toolchain
from theano_linker_c.cop import NoCompilerError as _NoCompilerError
MissingGXX = _NoCompilerError
