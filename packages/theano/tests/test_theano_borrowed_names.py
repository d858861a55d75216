"""Tests of names that modules of Theano had because they imported them."""

import importlib
import importlib.util
import pickle
import pkgutil
import subprocess
import sys
from typing import Any
from unittest import TestCase

import numpy as np

import theano.tensor as tt
from theano import pp, pprint
from theano._names import further_names, table
from theano.misc.frozendict import FrozenOrderedDict, frozendict
from theano.printing import PrinterState
from theano.sandbox.rng_mrg import mrg_next_value
from theano.tensor.elemwise import DimShufflePrinter
from theano.tensor.opt import MakeVector, MakeVectorPrinter
from theano.tensor.subtensor import SubtensorPrinter
from theano.tensor.type_other import SliceType
from theano.typed_list import Append, TypedListType
from theano.typed_list.opt import typed_list_inplace_opt
from theano_testing.tiers import slow


class TestBorrowedNames(TestCase):
    def test_all_are_found(self) -> None:
        for module in table():
            for name in [word.split("=")[0] for words in further_names(module).values() for word in words.split()]:
                with self.subTest(module=module, name=name):
                    self.assertTrue(hasattr(importlib.import_module(module), name))

    def test_old_places_warn(self) -> None:
        for module, category in (
            ("theano.sandbox.solve", UserWarning),
            ("theano.sandbox.fourier", UserWarning),
            ("theano.tensor.signal.downsample", DeprecationWarning),
        ):
            loaded = importlib.import_module(module)
            with self.subTest(module=module), self.assertWarnsRegex(category, "theano"):
                importlib.reload(loaded)

    def test_what_they_are(self) -> None:
        self.assertIs(importlib.import_module("theano.tensor.nnet.conv").Apply, importlib.import_module("theano").Apply)
        self.assertIs(
            importlib.import_module("theano.tensor.nnet.nnet").opt, importlib.import_module("theano.tensor.opt")
        )

    def test_other_names_are_not_found(self) -> None:
        for module in ("theano.tensor.nnet.conv", "theano.printing", "theano.gradient", "theano.tensor.signal.pool"):
            with self.subTest(module=module), self.assertRaisesRegex(AttributeError, f"{module}.*no_such_name"):
                importlib.import_module(module).no_such_name  # noqa: B018

    @slow
    def test_stars_have_what_is_imported_when_asked_for(self) -> None:
        program = (
            "from theano.tensor.nnet import *\nfrom theano.tensor.signal.pool import *\n"
            "from theano.tensor.nnet.corr import *\nprint(conv2d.__name__, PoolGrad.__name__, EnumList.__name__)"
        )
        result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        self.assertEqual(result.stdout.split(), ["conv2d", "PoolGrad", "EnumList"])


class TestModulesWithoutFiles(TestCase):
    """Modules of Theano 1.0 that are rows of the table are modules like others."""

    def test_ways_to_import(self) -> None:
        import theano.gof.vm as by_name  # noqa: PLC0415
        from theano.gof import vm as from_package  # noqa: PLC0415

        module = importlib.import_module("theano.gof.vm")
        self.assertIs(module, sys.modules["theano.gof.vm"])
        for other in (by_name, from_package, vars(importlib.import_module("theano.gof"))["vm"]):
            self.assertIs(other, module)
        self.assertIs(module.VM_Linker, importlib.import_module("theano_linker_c.linkers").VM_Linker)

    def test_what_modules_have(self) -> None:
        module = importlib.import_module("theano.compat.six.moves")
        self.assertEqual(module.__doc__, "Things that Python 2 had elsewhere, or under other names.")
        self.assertIn("zip_longest", module.__all__)
        self.assertIn("zip_longest", dir(module))
        self.assertEqual((module.__package__, hasattr(module, "__file__")), ("theano.compat.six", False))
        self.assertIs(module.cPickle, pickle)
        self.assertIs(importlib.reload(module), module)
        self.assertIsNotNone(importlib.util.find_spec("theano.misc.frozendict"))
        self.assertIsNone(importlib.util.find_spec("theano.misc.no_such_module"))
        with self.assertRaises(ModuleNotFoundError):
            importlib.import_module("theano.compat.six.no_such_module")

    def test_walks_find_them(self) -> None:
        theano = importlib.import_module("theano")
        names = {module.name for module in pkgutil.iter_modules(theano.__path__, "theano.")}
        self.assertLessEqual({"theano.compat", "theano.version", "theano.tensor", "theano.printing"}, names)
        six = importlib.import_module("theano.compat.six")
        self.assertEqual([module.name for module in pkgutil.iter_modules(six.__path__)], ["moves"])
        nnet = {module.name for module in pkgutil.iter_modules(tt.nnet.__path__) if not module.ispkg}
        self.assertLessEqual({"conv", "corr", "sigm", "bn"}, nnet)

    def test_pickles_name_them(self) -> None:
        self.assertIs(pickle.loads(b"ctheano.misc.frozendict\nfrozendict\n."), frozendict)
        self.assertIs(pickle.loads(b"ctheano.tensor.type_other\nSliceType\n."), SliceType)

    def test_functions_of_packages_stay(self) -> None:
        for package, name in (("scan_module", "scan"), ("compile", "function"), ("tensor", "sort")):
            with self.subTest(name=name):
                module = importlib.import_module(f"theano.{package}.{name}")
                self.assertIsNot(getattr(importlib.import_module(f"theano.{package}"), name), module)
                self.assertTrue(callable(getattr(module, name)))

    def test_other_names_of_modules(self) -> None:
        for other, name in (("graph.sched", "gof.sched"), ("scan.utils", "scan_module.scan_utils")):
            module = importlib.import_module(f"theano.{other}")
            self.assertIs(module, importlib.import_module(f"theano.{name}"))


class TestPrinters(TestCase):
    def test_texts(self) -> None:
        m, x, y = tt.matrix("m"), tt.scalar("x"), tt.scalar("y")
        vector = MakeVector(m.dtype)(x, y)
        state = PrinterState(pprinter=pprint)
        cases: list[tuple[Any, Any, str | None]] = [
            (SubtensorPrinter(), m[x.astype("int64") :], None),
            (DimShufflePrinter(), m.T, "m.T"),
            (DimShufflePrinter(), m.dimshuffle("x", 0, 1), "m"),
            (MakeVectorPrinter(), vector, "[x, y]"),
        ]
        for printer, variable, text in cases:
            with self.subTest(printer=type(printer).__name__):
                self.assertEqual(printer.process(variable, state), text or pp(variable))
                table = pprint.clone_assign(type(variable.owner.op), printer)
                self.assertEqual(table(variable), text or pp(variable))
        self.assertEqual(pp(vector), "[x, y]")

    def test_other_ops(self) -> None:
        with self.assertRaisesRegex(TypeError, "Subtensor"):
            SubtensorPrinter().process(tt.matrix() + 1)


class TestHelpers(TestCase):
    def test_next_value_of_a_stream(self) -> None:
        new = np.empty(6, "int32")
        value = mrg_next_value(np.full(6, 12345, "int32"), new, 2.0, 0xFF, 7)
        self.assertEqual(value, 316.0)
        self.assertEqual(new.tolist(), [240667857, 12345, 12345, 809054265, 12345, 12345])

    def test_mappings_as_keys(self) -> None:
        first = frozendict(a=1, b=2)
        self.assertEqual({first: "found"}[frozendict({"b": 2, "a": 1})], "found")
        self.assertEqual(dict(first.copy(a=3)), {"a": 3, "b": 2})
        self.assertEqual((len(first), "a" in first, first["b"]), (2, True, 2))
        self.assertEqual(list(FrozenOrderedDict([("z", 1), ("a", 2)])), ["z", "a"])

    def test_lists_are_changed_where_they_are(self) -> None:
        numbers, x = TypedListType(tt.dvector.make_variable().type)("numbers"), tt.dvector("x")
        (changed,) = typed_list_inplace_opt.transform(Append()(numbers, x).owner)
        self.assertTrue(changed.owner.op.inplace)
        self.assertFalse(typed_list_inplace_opt.transform(changed.owner))
