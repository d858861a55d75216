"""Compiled functions in many processes: parameter sweeps, chains, and training steps whose gradients are averaged.

The processes are those of an engine that is there already: Dask, MPI, `concurrent.futures`, joblib. Nothing of them is
imported before it is used: ``pip install 'theano-stack[dask]'`` or ``'theano-stack[mpi]'``.
"""

from ._gradients import DataParallel as DataParallel
from ._map import map as map
from ._training import data_parallel as data_parallel

__all__ = ["DataParallel", "data_parallel", "map"]
