"""The project's own workshop: a fuzzer, an attack on archives, a stand-in for CUDA; it is not released.

Its parts are imported by themselves: :mod:`theano_testing_workshop.fuzz`, :mod:`theano_testing_workshop.archives`,
:mod:`theano_testing_workshop.cuda` and :mod:`theano_testing_workshop.exported`.
"""
