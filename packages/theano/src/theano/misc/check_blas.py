"""How fast products of matrices are here: ``python check_blas.py [-q]``.

With OMP_NUM_THREADS set to 1 and to more, the times tell whether the BLAS uses several cores.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

import numpy as np

import theano
import theano.tensor as T
from theano._doctor import examine


def execute(
    execute: bool = True,
    verbose: bool = True,
    M: int = 2000,
    N: int = 2000,
    K: int = 2000,
    iters: int = 10,
    order: str = "C",
) -> tuple[float, str]:
    """Compile ``c = 0.4 * c + 0.8 * dot(a, b)`` for shared matrices, and time it.

    Parameters
    ----------
    execute : bool
        Whether to run it; otherwise the time is 0.
    verbose : bool
        Whether to name the BLAS in use, and how it is called.
    M, N, K : int
        `a` is M by N, `b` is N by K.
    iters : int
        How often it runs.
    order : {"C", "F"}
        Whether rows or columns lie together in memory.

    Returns
    -------
    tuple of (float, str)
        Seconds for all runs, and the library that computes the product.
    """
    rng = np.random.default_rng(23)
    values = [np.asarray(rng.random(shape), order=order) for shape in ((M, N), (N, K), (M, K))]  # type: ignore[call-overload]  # one of two letters
    a, b, c = (theano.shared(value.astype(theano.config.floatX, order="K")) for value in values)
    f = theano.function([], updates=[(c, 0.4 * c + 0.8 * T.dot(a, b))])
    names = [str(node.op) for node in f.maker.fgraph.apply_nodes]
    how = next((name for name in names if "emm" in name or "ot22" in name), "no BLAS")
    if verbose:
        for finding in examine():
            if finding.subject in ("blas", "threads"):
                print(f"{finding.subject}: {finding.name}: {finding.value}")
        print(f"the product is computed by {how}")
    seconds = 0.0
    if execute:
        f()  # memory is taken, and threads are woken, outside the time
        start = time.perf_counter()
        for _ in range(iters):
            f()
        seconds = time.perf_counter() - start
    return seconds, how


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script; return its status."""
    parser = argparse.ArgumentParser(prog="check_blas.py", description="Times products of matrices.")
    parser.add_argument("--version", action="version", version=f"theano {theano.__version__}")
    parser.add_argument("-q", "--quiet", action="store_true", help="print the seconds alone")
    parser.add_argument("--print_only", action="store_true", help="name the BLAS, without running it")
    for name, meaning in (("M", "rows of the first"), ("N", "columns of the first"), ("K", "columns of the second")):
        parser.add_argument(f"-{name}", type=int, default=2000, help=f"{meaning} matrix (2000)")
    parser.add_argument("--iter", type=int, default=10, help="number of products (10)")
    parser.add_argument("--order", choices=("C", "F"), default="C", help="order of the elements in memory")
    options = parser.parse_args(arguments)
    seconds, how = execute(
        not options.print_only, not options.quiet, options.M, options.N, options.K, options.iter, options.order
    )
    if options.print_only:
        return 0
    if options.quiet:
        print(f"{seconds:.4f}")
    else:
        rate = 2 * options.M * options.N * options.K * options.iter / seconds / 1e9
        print(f"{options.iter} products by {how}: {seconds:.3f} s, {rate:.1f} GFLOPS in {theano.config.floatX}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
