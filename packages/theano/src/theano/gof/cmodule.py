"""The directory of compiled code, and the compiler."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from functools import cache
from typing import Any

import numpy as np

from theano_graph import config
from theano_linker_c.cache_tool import open_cache


def get_lib_extension() -> str:
    """Return the suffix of shared libraries that Python loads, without its dot."""
    return str(sysconfig.get_config_var("SHLIB_SUFFIX") or ".so").lstrip(".")


def get_gcc_shared_library_arg() -> str:
    """Return the argument by which compilers make shared libraries."""
    return "-dynamiclib" if sys.platform == "darwin" else "-shared"


@cache
def _version_of(compiler: str) -> str:
    if not compiler:
        return ""
    done = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def gcc_version() -> str:
    """Return the version of the compiler that the flag ``cxx`` names, as it tells itself; empty without one."""
    return _version_of(str(config.cxx))


def std_include_dirs() -> list[str]:
    """Return the directories of the headers that C code of ops may include: Python's and NumPy's."""
    paths = sysconfig.get_paths()
    return [*dict.fromkeys((paths["include"], paths["platinclude"])), np.get_include()]


def dlimport_workdir(basedir: str | None = None) -> str:
    """Return the directory of compiled code: `basedir`, or the value of the flag `compiledir`."""
    return str(config.compiledir) if basedir is None else basedir


class ModuleCache:
    """The compiled code that is kept in a directory.

    Parameters
    ----------
    dirname : str, optional
        By default the value of the flag ``compiledir``.

    Attributes
    ----------
    dirname : str
    """

    def __init__(self, dirname: str | None = None, **kwargs: Any) -> None:
        self._cache = open_cache(dirname)
        self.dirname = self._cache.folder.path

    def __len__(self) -> int:
        return len(self._cache.objects())

    def clear(self, **kwargs: Any) -> int:
        """Remove everything; return how many objects that were."""
        return self._cache.clear()

    def clear_old(self, **kwargs: Any) -> int:
        """Remove objects that are too old or above the limit of size; return their number."""
        return self._cache.clean()


def get_module_cache(dirname: str | None = None, init_args: Any = None) -> ModuleCache:
    """Return the cache of compiled code in a directory; `init_args` is taken for compatibility.

    Examples
    --------
    >>> import theano
    >>> from theano.gof import cmodule
    >>> cmodule.get_module_cache().dirname == str(theano.config.compiledir)
    True
    """
    return ModuleCache(dirname)
