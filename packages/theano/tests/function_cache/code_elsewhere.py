"""Functions whose code of the user's imports when it runs, or belongs to variables, in several processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

_MODULES = {
    # A rewrite reaches its factor by an import inside, by a member of a module, and by their own references.
    "rules": """
import theano
import theano.tensor as T
from theano.gof import Apply, local_optimizer

import beside
import deeper


class Scaled(theano.Op):
    __props__ = ()

    def make_node(self, x):
        return Apply(self, [T.as_tensor_variable(x)], [T.dvector()])

    def perform(self, node, inputs, output_storage, params=None):
        raise AssertionError("it is rewritten")


@local_optimizer([Scaled])
def scale(fgraph, node):
    if not isinstance(node.op, Scaled):
        return False
    from helpers import factor
    return [node.inputs[0] * factor() + beside.inner.term(2.0)]


theano.compile.optdb["specialize"].register("scale", scale, "fast_run", "fast_compile")
""",
    "helpers": "import deeper\nBY = 2.0\n\ndef factor():\n    return BY * deeper.more()\n",
    "deeper": """
LEAST = 1.0


def more():
    import last
    return max(LEAST, last.AMOUNT)


def unused():
    return 1
""",
    "last": "AMOUNT = 1.0\n",
    "beside": "import inner\n",
    "inner": "def term(x):\n    return x - 2.0\n",
    # Variables as those of a package for models: their owners import inside of functions.
    "models": """
import theano.tensor as T

import helpers


class Model:
    def density(self, variable):
        import later
        return later.density(variable)

    def mean(self, variable):
        from helpers import factor
        return variable * factor()


class Factor:
    @property
    def density(self):
        return self.model.density(self)


class Free(Factor, T.TensorVariable):
    def __init__(self, type=None, owner=None, index=None, name=None, model=None):
        super(Free, self).__init__(type, owner, index, name)
        self.model = model

    def __str__(self):
        return f"{self.name} of {self.model}"

    def __matmul__(self, other):
        return helpers.factor()

    @property
    def initial(self):
        return self.model.mean(self)


class Marked(T.TensorVariable):
    def clone(self):
        from helpers import factor
        found = self.type(self.name)
        found.tag.factor = factor() * self.by
        return found
""",
}
_HEAD = """
import json

import theano
import theano.tensor as T
"""
_TAIL = """
print(json.dumps([bool(f.maker.profile.parts), f([0.0, 1.0]).tolist()]))
"""
#: Here, modules imported inside of functions have not been loaded when the function is looked for.
_RULES = _HEAD + "import rules\nx = T.dvector('x')\nf = theano.function([x], rules.Scaled()(x))" + _TAIL
_LOADED = _HEAD + "import helpers, last, rules\nx = T.dvector('x')\nf = theano.function([x], rules.Scaled()(x))" + _TAIL
_FREE = (
    _HEAD
    + """
import models

x = models.Free(T.dvector, name="x", model=models.Model())
y = x.initial + T.exp(x)
f = theano.function([x], y - T.exp(x))
"""
    + _TAIL
)
_MARKED = (
    _HEAD
    + """
import models

x = models.Marked(T.dvector, name="x")
x.by = 1.0
f = theano.function([x], x * 2.0)
"""
    + _TAIL
)


class CodeElsewhere(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, text in _MODULES.items():
            (self.folder / f"{name}.py").write_text(text)

    def change(self, name: str, old: str, new: str) -> None:
        text = _MODULES[name]
        self.assertIn(old, text)
        (self.folder / f"{name}.py").write_text(text.replace(old, new))

    def check(self, program: str, rewritten: bool, last: float) -> None:
        """Compare with whether the function was rewritten, and its value at 1."""
        flags = f"base_compiledir={self.folder}/theano,function_cache=True,gcc.cxxflags=-O0"
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        environment["THEANO_FLAGS"] = ",".join(filter(None, [os.environ.get("THEANO_FLAGS"), flags]))
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        result, values = json.loads(done.stdout)
        self.assertEqual((result, values[1]), (rewritten, last))

    def test_all_that_a_rewrite_reaches_counts_and_nothing_else(self) -> None:
        self.check(_LOADED, True, 2.0)
        self.check(_LOADED, False, 2.0)
        for name, old, new, result in (
            ("helpers", "BY = 2.0", "BY = 3.0", 3.0),
            ("helpers", "BY *", "2 + BY *", 4.0),
            ("deeper", "LEAST = 1.0", "LEAST = 5.0", 10.0),
            ("deeper", "max(", "4 * max(", 8.0),
            ("last", "AMOUNT = 1.0", "AMOUNT = 7.0", 14.0),
            ("inner", "x - 2.0", "x - 1.0", 3.0),
            ("beside", "import inner", "import last as inner\ninner.term = abs", 4.0),
        ):
            with self.subTest(name=name, new=new):
                self.change(name, old, new)
                self.check(_LOADED, True, result)
                self.change(name, old, old)
        # Unreachable code does not count.
        self.change("deeper", "return 1\n", "return 2\n")
        self.check(_LOADED, False, 2.0)

    def test_a_module_that_is_not_loaded_leaves_the_function_without_a_name(self) -> None:
        for _ in range(2):
            self.check(_RULES, True, 2.0)

    def test_variables_that_are_copied_plainly_do_not_count_by_their_class(self) -> None:
        self.check(_FREE, True, 2.0)
        self.check(_FREE, False, 2.0)
        self.change("models", "return later.density", "return 2 * later.density")
        self.check(_FREE, False, 2.0)
        self.change("helpers", "BY = 2.0", "BY = 3.0")  # the graph is another one
        self.check(_FREE, True, 3.0)

    def test_how_variables_are_copied_counts(self) -> None:
        program = "import last\n" + _MARKED
        self.check(program, True, 2.0)
        self.check(program, False, 2.0)
        self.change("helpers", "BY = 2.0", "BY = 3.0")
        self.check(program, True, 2.0)
        self.check(program, False, 2.0)
        self.check(program.replace("x.by = 1.0", "x.by = 2.0"), True, 2.0)


if __name__ == "__main__":
    unittest.main()
