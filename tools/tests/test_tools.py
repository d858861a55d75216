from __future__ import annotations

import ast
import configparser
import contextlib
import io
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile
from collections import Counter
from email.message import Message
from pathlib import Path
from unittest import mock

import build_wheels
import check_imports
import check_install
import check_release
import check_size
import install_layer
import summarise
from _house import LAYERS, RELEASED, ROOT, STACK, Layer, closure, layer, layer_of, split_requirements

TOOLS = Path(__file__).resolve().parent.parent

PASSED = '<testcase classname="a" name="b"><system-out /></testcase>'
FAILED = '<testcase classname="a" name="c"><failure message="no" /></testcase>'
ERROR = '<testcase classname="a" name="d"><error message="no" /></testcase>'
SKIPPED = '<testcase classname="a" name="e"><skipped /></testcase>'


class FolderTestCase(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


class TestPagesOfTheDesign(unittest.TestCase):
    def test_lines_are_short(self) -> None:
        for path in sorted((ROOT / "docs" / "design").glob("*.md")):
            lines = path.read_text(encoding="utf-8").splitlines()
            long = [number for number, line in enumerate(lines, 1) if len(line) > 140]
            with self.subTest(path.name):
                self.assertEqual(long, [], "wrap these lines, or make a table or a list of them")


class TestRequirementsFile(FolderTestCase):
    def test_one_a_line(self) -> None:
        path = self.write("requirements.txt", "# What is needed.\nfuro>=2024.8\n\nsphinx>=8  # the builder\n")
        self.assertEqual(install_layer.requirements_of(path), ["furo>=2024.8", "sphinx>=8"])

    def test_the_site_has_one_place_for_them(self) -> None:
        needed = install_layer.requirements_of(ROOT / "docs" / "requirements.txt")
        self.assertTrue(any(name.startswith("sphinx>=") for name in needed))
        for name in ("noxfile.py", "tox.ini"):
            self.assertNotIn("myst-parser", (ROOT / name).read_text(encoding="utf-8"))


class TestSummarise(FolderTestCase):
    def summarise(self, *reports: str) -> tuple[str, int]:
        for i, cases in enumerate(reports):
            self.write(f"{i}.xml", f"<testsuite>{cases}</testsuite>")
        command = [sys.executable, str(TOOLS / "summarise.py"), str(self.folder)]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.stdout.splitlines()[-1], done.returncode

    def test_sums_all_reports(self) -> None:
        self.assertEqual(("3 passed, 0 failed, 1 skipped", 0), self.summarise(PASSED + PASSED, PASSED + SKIPPED))

    def test_errors_count_as_failures(self) -> None:
        self.assertEqual(("1 passed, 2 failed, 0 skipped", 1), self.summarise(PASSED, FAILED + ERROR))

    def test_no_report_is_a_failure(self) -> None:
        self.assertEqual(("0 passed, 0 failed, 0 skipped", 1), self.summarise())

    def test_only_skipped_tests_are_a_failure(self) -> None:
        self.assertEqual(("0 passed, 0 failed, 1 skipped", 1), self.summarise(SKIPPED))

    def test_wording(self) -> None:
        self.assertEqual("2 passed, 0 failed, 0 skipped", summarise.sentence(Counter(passed=2)))


class TestLayers(unittest.TestCase):
    def test_environment_names(self) -> None:
        for name, expected in (
            ("graph", "graph"),
            ("py312-linker-c", "linker-c"),
            ("py311-numpy126-tensor", "tensor"),
            ("nocompiler-theano", "theano"),
            ("py313-testing-workshop", "testing-workshop"),
        ):
            with self.subTest(name):
                self.assertEqual(expected, layer_of(name).name)

    def test_import_roots(self) -> None:
        self.assertEqual(["theano", "theano_linker_c"], [layer(name).module for name in ("theano", "linker-c")])

    def test_each_list_of_released_layers(self) -> None:
        for name, pattern in (
            ("README.md", r"^\| \[`packages/(.+?)`\]"),
            ("docs/architecture.md", r'^    ([a-z-]+)\["<b>'),
        ):
            with self.subTest(name):
                text = (ROOT / name).read_text(encoding="utf-8")
                self.assertEqual(list(RELEASED), re.findall(pattern, text, re.MULTILINE))
        requirements = (ROOT / "requirements.txt").read_text(encoding="utf-8")
        self.assertEqual(list(STACK), re.findall(r"^\./packages/(.+)$", requirements, re.MULTILINE))
        self.assertIn(f"RELEASED = {RELEASED}".replace("'", '"'), (ROOT / "noxfile.py").read_text(encoding="utf-8"))

    def test_each_layer_has_its_environments(self) -> None:
        config = configparser.ConfigParser(interpolation=None)
        config.read(ROOT / "tox.ini")
        names = {name for text in re.findall(r"{(.+?)}", config["tox"]["env_list"]) for name in text.split(",")}
        self.assertLessEqual(set(LAYERS), names)
        sources = re.findall(r"packages]?}?/([a-z-]+)/src", config["layers"]["sources"])
        self.assertEqual(list(LAYERS), sources)

    def test_commands_of_the_readme(self) -> None:
        readme = (ROOT / "README.md").read_text()
        self.assertEqual("python3 -m pip install -r requirements.txt", check_install.command_of(readme))
        self.assertIn("theano.function(", check_install.program_of(readme))
        with self.assertRaisesRegex(SystemExit, "no command"):
            check_install.command_of("# x\n\n## Install\n\nAsk somebody.\n\n## Next\n\n    python3 other\n")

    def test_unknown_layer(self) -> None:
        with self.assertRaisesRegex(SystemExit, r"no such layer: 'grap'; the layers are graph, optimize"):
            layer_of("grap")

    def test_closure_is_ordered_lowest_first(self) -> None:
        names = [item.name for item in closure(layer("tensor"))]
        self.assertEqual(["graph", "optimize", "linker-c", "gpuarray", "tensor"], names)

    def test_lowest_layers_need_no_other_package(self) -> None:
        for name in ("graph", "optimize"):
            self.assertEqual([], split_requirements(layer(name).requires)[1])

    def test_requirements_are_split_by_distribution(self) -> None:
        ours, others = split_requirements(["theano-graph~=0.1.0", "theano-testing[tensor]~=0.1.0", "numpy>=1.26"])
        self.assertEqual((["graph", "testing"], ["numpy>=1.26"]), ([item.name for item in ours], others))

    def test_bounds_fit_the_versions_of_the_layers(self) -> None:
        for name in LAYERS:
            for text in layer(name).requires:
                if text.startswith("theano"):
                    (below,) = split_requirements([text])[0]
                    bound = text.partition("~=")[2].rsplit(".", 1)[0]
                    self.assertTrue(check_release.source_version(below).startswith(bound + "."), (name, text))


class TestWheelFingerprint(FolderTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.write("pyproject.toml", "[project]")
        self.write("src/theano_x/__init__.py", "a = 1")
        self.item = Layer("x", self.folder, "theano-x", (), ())

    def test_changes_with_the_content_and_the_variant(self) -> None:
        before = build_wheels.fingerprint(self.item, "any")
        self.assertNotEqual(before, build_wheels.fingerprint(self.item, "cp311"))
        self.write("src/theano_x/__init__.py", "a = 2")
        self.assertNotEqual(before, build_wheels.fingerprint(self.item, "any"))

    def test_built_files_do_not_count(self) -> None:
        before = build_wheels.fingerprint(self.item, "any")
        self.write("src/theano_x/_runtime.cpython-311.so", "")
        self.write("src/theano_x/__pycache__/a.pyc", "")
        self.write("src/theano_x.egg-info/PKG-INFO", "")
        self.assertEqual(before, build_wheels.fingerprint(self.item, "any"))

    def test_only_a_layer_with_c_sources_is_built_per_python(self) -> None:
        self.assertEqual("any", build_wheels.variant_of(self.item, sys.executable))
        self.write("setup.py", "")
        with mock.patch.dict("os.environ", {"CC": "/nonexistent/cc"}):
            tag = f"cp{sys.version_info[0]}{sys.version_info[1]}-nocompiler"
            self.assertEqual(tag, build_wheels.variant_of(self.item, sys.executable))
        with (
            mock.patch.dict("os.environ", {"THEANO_CFLAGS": "-O1 -g0"}),
            mock.patch.object(build_wheels, "can_compile", return_value=True),
        ):
            tag = f"cp{sys.version_info[0]}{sys.version_info[1]}-O1-g0"
            self.assertEqual(tag, build_wheels.variant_of(self.item, sys.executable))


class TestReleases(FolderTestCase):
    def test_the_wheel_of_testing_holds_what_authors_of_ops_use(self) -> None:
        wheel, _ = build_wheels.wheel(layer("testing"))
        with zipfile.ZipFile(wheel) as archive:
            names = [name.split("/") for name in archive.namelist()]
        modules = {parts[1].removesuffix(".py") for parts in names if parts[0] == "theano_testing"}
        public = {name for name in modules if not name.startswith("_")} - {"py.typed"}
        layers = {"graph", "optimize", "linker_c", "gpuarray", "tensor", "sparse"}
        self.assertEqual(layers | {"device", "gaps", "interrupts", "nose2_plugin", "overwriting", "tiers"}, public)
        private = {"_records", "_seeds", "_testers", "_tolerance", "_verify_grad", "_version", "__init__"}
        self.assertEqual(private, modules - public - {"py.typed"})
        self.assertEqual(set(), {parts[-1] for parts in names if parts[-1].endswith((".c", ".h"))})

    def test_what_is_not_released_is_not_required(self) -> None:
        metadata = Message()
        metadata["Requires-Dist"] = "theano-graph~=0.1.0"
        metadata["Requires-Dist"] = 'theano-testing-workshop[fuzz]~=0.1.0; extra == "fuzz"'
        problems = list(check_release.metadata_problems(layer("testing"), metadata))
        self.assertIn("metadata: requires theano-testing-workshop, which is not released", problems)
        self.assertFalse([problem for problem in problems if "theano-graph" in problem])

    def test_the_workshop_is_not_released(self) -> None:
        command = [sys.executable, str(TOOLS / "check_release.py"), "testing-workshop"]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(2, done.returncode)
        self.assertIn("invalid choice: 'testing-workshop'", done.stderr)


class TestImportRules(FolderTestCase):
    def problems(self, text: str) -> list[str]:
        return [message for _, message in check_imports.problems(self.write("a.py", text), "theano_tensor")]

    def test_private_names_of_another_package(self) -> None:
        for text in (
            "from theano_graph._expression._type import Type",
            "from theano_graph import _type",
            "import theano_linker_c.scalar._op",
        ):
            with self.subTest(text):
                self.assertIn("takes the private name theano_", self.problems(text)[0])

    def test_allowed(self) -> None:
        self.assertEqual(
            [],
            self.problems(
                "from theano_graph import Type, __version__\nfrom theano_tensor._type import x\nfrom ._y import _z\n"
            ),
        )

    def test_tests_reach_what_is_installed_with_them(self) -> None:
        paths = [
            self.write("test_a.py", "from theano_testing_workshop.fuzz import bump\n"),
            self.write("test_b.py", "def f():\n    import theano_scan\n\nfrom theano_testing.gaps import find_gaps\n"),
        ]
        problems = list(check_imports.unreachable(paths, layer("tensor")))
        self.assertEqual([paths[0]], [path for path, _ in problems])
        self.assertIn("-> theano_scan, which is not installed where the tests of tensor run", problems[0][1])

    def test_star_import(self) -> None:
        self.assertEqual(["star import from theano_graph"], self.problems("from theano_graph import *"))


class TestSizes(unittest.TestCase):
    def lengths(self, text: str) -> list[tuple[str, int, int]]:
        return list(check_size.long_functions(ast.parse(text)))

    def test_long_function(self) -> None:
        body = "    x = 1\n"
        self.assertEqual([], self.lengths("def f():\n" + body * 59))
        self.assertEqual([("f", 1, 61)], self.lengths("def f():\n" + body * 60))

    def test_docstring_does_not_count(self) -> None:
        self.assertEqual([], self.lengths('def f():\n    """' + "text\n" * 40 + '    """\n' + "    x = 1\n" * 59))


class TestChangelogRules(FolderTestCase):
    def problems(self, **fragments: str) -> list[str]:
        source = layer("graph").folder
        self.write("pyproject.toml", (source / "pyproject.toml").read_text())
        self.write("CHANGELOG.md", "# Changelog\n\n<!-- release notes start -->\n")
        self.write("src/theano_graph/_version.py", '__version__ = "0.1.0"\n')
        self.write("changelog.d/.gitkeep", "")
        for name, text in fragments.items():
            self.write(f"changelog.d/{name.replace('__', '.')}.md", text)
        return list(check_release.changelog_problems(Layer("graph", self.folder, "theano-graph", (), ())))

    def test_good_fragment(self) -> None:
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual([], self.problems(**{"+merge__added": "Merging keeps names.\n"}))

    def test_lost_fragments(self) -> None:
        problems_reported = self.problems(**{"merge": "A.\n", "12__improved": "B.\n", "+empty__fixed": "\n"})
        self.assertEqual(3, len(problems_reported))
        self.assertIn("changelog: +empty.fixed.md would be lost", problems_reported)

    def test_nothing_to_tell(self) -> None:
        self.assertEqual(["changelog: no section for 0.1.0 and no fragment to make one of"], self.problems())


class TestBootstrap(unittest.TestCase):
    def run_bootstrap(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(TOOLS.parent / "bootstrap.py"), *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    def test_help(self) -> None:
        done = self.run_bootstrap("--help")
        self.assertEqual(0, done.returncode)
        self.assertIn("python3 bootstrap.py demo", done.stdout)

    def test_unknown_task(self) -> None:
        for arguments in ((), ("tests",)):
            done = self.run_bootstrap(*arguments)
            self.assertEqual((2, 1), (done.returncode, len(done.stderr.splitlines())))


if __name__ == "__main__":
    unittest.main()
