"""Whether SciPy is there, with whose convolutions tests compare those of Theano."""

from importlib.util import find_spec

imported_scipy_signal = find_spec("scipy") is not None
