from __future__ import annotations

import os
import tempfile
import unittest

from theano_graph import BoolFlag, Config, ConfigError, EnumFlag, FloatFlag, IntFlag, StrFlag, UnknownFlagError


def make(environ: dict[str, str] | None = None) -> Config:
    config = Config({"THEANORC": os.devnull} if environ is None else environ)
    config.add_flag("mode", "How to run.", EnumFlag("fast", "slow"))
    config.add_flag("size", "How much.", IntFlag(3, lambda n: n > 0))
    config.add_flag("ratio", "How fine.", FloatFlag(0.5))
    config.add_flag("loud", "Whether to talk.", BoolFlag(False))
    config.add_flag("gcc.cxxflags", "Options.", StrFlag(""))
    config.add_flag("root", "Where.", StrFlag(lambda: "computed"), fixed=True)
    return config


class TestSources(unittest.TestCase):
    def test_defaults(self) -> None:
        config = make()
        self.assertEqual((config.mode, config.size, config.ratio, config.loud), ("fast", 3, 0.5, False))
        self.assertEqual((config.gcc.cxxflags, config.gcc__cxxflags, config.root), ("", "", "computed"))

    def test_environment_right_most_wins(self) -> None:
        config = make(
            {"THEANO_FLAGS": "size=4, mode=slow,size=5,gcc.cxxflags=-O3 -march=native,loud=1", "THEANORC": ""}
        )
        self.assertEqual((config.size, config.mode, config.loud), (5, "slow", True))
        self.assertEqual(config.gcc.cxxflags, "-O3 -march=native")

    def test_files_and_precedence(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            first, second = os.path.join(folder, "a"), os.path.join(folder, "b")
            with open(first, "w", encoding="utf-8") as file:
                file.write("[global]\nsize = 7  # seven\nmode = slow\n[gcc]\ncxxflags = -O1\n")
            with open(second, "w", encoding="utf-8") as file:
                file.write("[global]\nsize = 8\nratio = 0.1\n")
            environ = {"THEANORC": os.pathsep.join([first, second]), "THEANO_FLAGS": "ratio=0.25"}
            config = make(environ)
            self.assertEqual((config.size, config.mode, config.ratio), (8, "slow", 0.25))
            self.assertEqual(config.gcc.cxxflags, "-O1")
            config.size = 9
            self.assertEqual(config.size, 9)

    def test_errors_name_the_source(self) -> None:
        with self.assertRaisesRegex(ConfigError, r"(?s)`mode` cannot be 'wild' \(from THEANO_FLAGS\).*'fast', 'slow'"):
            _ = make({"THEANO_FLAGS": "mode=wild", "THEANORC": ""}).mode
        with self.assertRaisesRegex(ConfigError, "entry without a value: 'mode'"):
            _ = make({"THEANO_FLAGS": "mode", "THEANORC": ""}).mode

    def test_unused_settings(self) -> None:
        self.assertEqual(
            make({"THEANO_FLAGS": "nothing=1", "THEANORC": ""}).unused_settings(), ["nothing (from THEANO_FLAGS)"]
        )


class TestAssignment(unittest.TestCase):
    def test_values_are_checked(self) -> None:
        config = make()
        for name, value in [("size", "many"), ("size", 0), ("loud", "perhaps"), ("mode", None), ("ratio", "x")]:
            with self.subTest(flag=name, value=value), self.assertRaisesRegex(ConfigError, f"flag `{name}` cannot be"):
                setattr(config, name, value)
        self.assertEqual(config.size, 3)

    def test_unknown_flag_suggests(self) -> None:
        config = make()
        with self.assertRaisesRegex(UnknownFlagError, "did you mean `mode`"):
            config.modes = "slow"
        with self.assertRaises(AttributeError):
            _ = config.gcc.nothing

    def test_fixed_flag(self) -> None:
        with self.assertRaisesRegex(ConfigError, "cannot be changed once"):
            make().root = "elsewhere"

    def test_second_declaration(self) -> None:
        with self.assertRaisesRegex(ConfigError, "declared twice"):
            make().add_flag("mode", "Again.", BoolFlag(True))


class TestChangeFlags(unittest.TestCase):
    def test_context_manager_restores(self) -> None:
        config = make()
        with self.assertRaises(RuntimeError), config.change_flags({"gcc.cxxflags": "-O0"}, size=10):
            self.assertEqual((config.size, config.gcc.cxxflags), (10, "-O0"))
            raise RuntimeError
        self.assertEqual((config.size, config.gcc.cxxflags), (3, ""))

    def test_decorator(self) -> None:
        config = make()

        @config.change_flags(mode="slow")
        def inside() -> str:
            return str(config.mode)

        self.assertEqual((inside(), config.mode, inside()), ("slow", "fast", "slow"))

    def test_bad_value_restores_the_others(self) -> None:
        config = make()
        with self.assertRaises(ConfigError), config.change_flags(size=10, mode="wild"):
            self.fail("the block must not run")
        self.assertEqual(config.size, 3)

    def test_print_lists_everything(self) -> None:
        text = str(make())
        for part in ("mode (one of 'fast', 'slow')", "Doc:  How to run.", "Value:  fast", "gcc.cxxflags"):
            self.assertIn(part, text)
