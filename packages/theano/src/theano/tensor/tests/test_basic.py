"""Test cases made of tables of values."""

from theano_testing.tensor import make_broadcast_tester as makeBroadcastTester, make_tester as makeTester

__all__ = ["makeBroadcastTester", "makeTester"]
