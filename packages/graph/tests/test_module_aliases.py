"""Modules under earlier names: pickles that have them are read, by pickle and by the reader that trusts nothing."""

from __future__ import annotations

import base64
import importlib
import pickle
import unittest
import zlib

from support import NUMBER

from theano_graph import FunctionGraph, as_string
from theano_graph._module_aliases import ALIASES
from theano_graph._modules import current_module
from theano_graph.safe_loading import vocabulary

#: A graph, pickled when tables, nodes and scratchpads each had a module: compressed, in base 85.
GRAPH = (
    "c-oayTWb?R6i(aCt+Yn1ZAGXSDOi2Tg7_pw@ItL!yAMVC7M9s$k~3y^X4#o-lLtW`YAp;XIQ~I@iDzb$7zG9MusN6czVppFXFhn}"
    "e|Q!5(>n?%;UXI3B!hO;FL+lm!DqhvH+pq{l6dL-Z|43-^WN<0Di=K}(P+d4OBCbMXfI(>*(1jo|AU{7vYbkZMD55zBdLg@MmIP;"
    "a{<KZJO9RDiN*=Z8Hp2n{M=xj5T!8Qqa!TONs5eBamHzmt{P|PdXXXnqiZ5(1ICRqp<Wo_r!I>u6S=}vSfnu`CU?_~Oh~5KDK(ce"
    "4)ylmMNK$$Bf^jpxm5+*y7^Ypd_T8p9A^jH@xVV5`Or@Z<9<fELo%S!ca*+Dtn?>x+S%9y&-C)1?PXV_*%L!!*eO}y9;T}HnsP3x"
    "TfRy&q#n{f8##iiZtSI^S0vQJFI=mXiD3n<+MdBpY{J-tuoc3?GQO%C&jrV!a5dlBs7Dkra2?j*2CTydY$_8hg}SOBr?h0aJCoNA"
    "YT(oOd|FT6{=Ih@>kbpf2W^}Q&JgF>wBsjPmW*xdR(191)NXx34%mkSXhG|uv|k+?3NLgGIfk@{r*@$kV&PyhSO^xWwJK;Y1zxZ~"
    "gGvWAAPxb2mLv`UZ}8AAl5SeP^UCYLl>cvhQrJpRm}|jW$Aly-?e&g<t*PUxb|8kq3{#@0yX}dS2M2mlWUkCD?Hvl-u*qt|n)cpV"
    "U&ffK9gyS{o9L1=z6!FDIW~LQjX6D2+f~HvZ$^DeRDlbO6?MG}gyU+OprY$Nn&T_z**9^e$Z!*Al;W&#fcSpAl%~R_YK&)vl1}e6"
    "ctmww6lxN|-Zx7x5`EkLqo88z61^NbSR_&ImlF9^uS85n+`UFDd#TqWATlDklYszyaHz?AMwx;uimN&)3Xkpm;SgTK5n30fh}%B_"
    "s(#`1"
)


class TestEarlierNames(unittest.TestCase):
    """Modules that have been merged or renamed."""

    def test_a_pickle_of_before_loads(self) -> None:
        graph: FunctionGraph = pickle.loads(zlib.decompress(base64.b85decode(GRAPH)))
        self.assertEqual(as_string(graph.inputs, graph.outputs), ["join(Halves(join(x, three)), y)"])
        self.assertEqual(graph.inputs[0].type, NUMBER)

    def test_each_name_leads_to_its_module(self) -> None:
        for alias, name in ALIASES.items():
            with self.subTest(alias):
                module = importlib.import_module(f"theano_graph.{name}")
                self.assertIs(importlib.import_module(f"theano_graph.{alias}"), module)
                self.assertEqual(module.__name__, f"theano_graph.{name}")

    def test_allowlists_have_them_too(self) -> None:
        for module, name in (("_expression._tags", "Tag"), ("_pickling._tables", "linked")):
            word = vocabulary().find(f"theano_graph.{module}", name)
            self.assertEqual(word.module, current_module(f"theano_graph.{module}"))

    def test_other_names_stay_unknown(self) -> None:
        for name in ("theano_graph._nothing", "theano_graph._pickling._nothing", "theano_graph._user_code.nothing"):
            with self.subTest(name), self.assertRaises(ModuleNotFoundError):
                importlib.import_module(name)
