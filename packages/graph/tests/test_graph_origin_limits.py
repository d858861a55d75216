from __future__ import annotations

import os
import subprocess
import sys
import unittest

from support import join, names

import theano_graph
from theano_graph import ConfigError, config, origin_from

LIBRARY = os.path.dirname(theano_graph.__file__)


class TestInternalFrames(unittest.TestCase):
    def test_none_are_kept_by_default(self) -> None:
        (x,) = names("x")
        with origin_from(join(x)):
            result = join(x)
        assert result.origin is not None
        self.assertEqual([f.filename for f in result.origin.frames if f.filename.startswith(LIBRARY)], [])

    def test_kept_after_the_users(self) -> None:
        (x,) = names("x")
        first = join(x)
        with config.change_flags({"traceback.compile_limit": 2}), origin_from(first):
            result = join(x)
        assert result.origin is not None and first.origin is not None
        self.assertEqual(result.origin.frames[: len(first.origin.frames)], first.origin.frames)
        internal = result.origin.frames[len(first.origin.frames) :]
        self.assertEqual([f.filename.startswith(LIBRARY) for f in internal], [True, True])
        self.assertEqual(str(result.origin), str(first.origin))
        with config.change_flags({"traceback.compile_limit": 1}), origin_from(result):
            again = join(x)
        assert again.origin is not None
        self.assertEqual(len(again.origin.frames), len(first.origin.frames) + 1)

    def test_the_environment_counts(self) -> None:
        code = (
            "from theano_graph import *\n"
            "class Copy(Op):\n"
            "    __props__ = ()\n"
            "    itypes = otypes = (generic,)\n"
            "x = Copy()(generic('x'))\n"
            "with origin_from(x):\n"
            "    print(len(Copy()(x).origin.frames) - len(x.origin.frames))\n"
        )
        environ = {**os.environ, "THEANO_FLAGS": "traceback.compile_limit=3", "THEANORC": os.devnull}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=600, check=True
        )
        self.assertEqual(done.stdout, "3\n")

    def test_bad_values(self) -> None:
        with self.assertRaises(ConfigError), config.change_flags({"traceback.compile_limit": -1}):
            self.fail("the block must not run")
