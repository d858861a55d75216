"""
9. Saving and exporting
=======================

Parameters, graphs and compiled functions can be saved. A function can also become
C code that runs without Python.
"""

import pickle
import tempfile
from pathlib import Path

import numpy as np

import theano
import theano.tensor as T

folder = Path(tempfile.mkdtemp())

# %%
# Parameters
# ----------
#
# Save arrays, not variables: the files of NumPy depend on no class or version.

w = theano.shared(np.eye(2), name="w")
b = theano.shared(np.array([1.0, -1.0]), name="b")
np.savez(folder / "model.npz", **{p.name: p.get_value() for p in (w, b)})

stored = np.load(folder / "model.npz")
for parameter in (w, b):
    parameter.set_value(stored[parameter.name])
print(sorted(stored.files), b.get_value())

# %%
# Functions
# ---------
#
# A compiled function can be pickled. Its shared variables go with it.

x = T.dmatrix("x")
predict = theano.function([x], T.tanh(T.dot(x, w) + b))
text = pickle.dumps(predict)
again = pickle.loads(text)
print(again([[0.5, 0.5]]))

# %%
# A pickle can run any code when it is loaded: load only your own. The archives of
# ``theano.misc.pkl_utils`` can be loaded safely. They hold the same objects, and
# ``safe=True`` accepts arrays, graphs and operations of the library only.

from theano.misc.pkl_utils import dump, load

with open(folder / "model.zip", "wb") as file:
    dump([w, b], file)
with open(folder / "model.zip", "rb") as file:
    loaded = load(file, safe=True)
print([variable.name for variable in loaded])

# %%
# C code
# ------
#
# :func:`theano.export_c` writes a function as C99. With known shapes, calls need no
# memory beyond their arguments.

theano.export_c(predict, folder / "predict", shapes={x: (1, 2)}, static=True)
print(sorted(path.name for path in folder.glob("predict*")))
header = (folder / "predict.h").read_text()
print(
    "\n".join(line for line in header.splitlines() if line.startswith("int predict("))
)

# %%
# :doc:`/howto/saving` and :doc:`/howto/export` have the details: the state of random
# streams, updates of shared variables in C, and functions for ctypes, SciPy and
# CasADi.
#
# Next: :doc:`lesson_10_own_ops`.
