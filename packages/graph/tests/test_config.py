from __future__ import annotations

import asyncio
import os
import tempfile
import threading
import unittest
from collections.abc import AsyncIterator, Iterator

from hypothesis import given, settings, strategies as st

from theano_graph import (
    BoolFlag,
    Config,
    ConfigError,
    ConfigWarning,
    EnumFlag,
    FloatFlag,
    IntFlag,
    StrFlag,
    UnknownFlagError,
    parse_settings,
)
from theano_graph._flag_kinds import config_files
from theano_testing.tiers import examples


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
    def test_files_that_may_not_be_read_are_left_out_with_a_warning(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            # What is no file, and what lies below a file, cannot be read by anybody, the superuser included.
            plain = os.path.join(folder, "plain")
            with open(plain, "w") as file:
                file.write("[global]\nsize = 4\n")
            for path in (folder, os.path.join(plain, "rc")):
                config = make({"THEANORC": os.pathsep.join([path, plain])})
                with self.assertWarnsRegex(ConfigWarning, "cannot be read.*goes on without it"):
                    self.assertEqual(config.size, 4)

    def test_a_user_without_a_home_reads_no_file_of_the_working_directory(self) -> None:
        self.assertEqual(
            config_files({"THEANORC": os.pathsep.join(["~nobody-has-this-name/rc", "/etc/rc"])}), ["/etc/rc"]
        )

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

    def test_names_in_files_keep_or_lose_their_capitals(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rc")
            for written in ("floatX", "floatx"):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f"[global]\n{written} = float32\n[DebugMode]\ncheck = %(x)s\n[other]\nthing = 1\n")
                config = Config({"THEANORC": path})
                config.add_flag("floatX", "Precision.", EnumFlag("float64", "float32"))
                config.add_flag("DebugMode.check", "Whatever.", StrFlag(""))
                self.assertEqual((config.floatX, config.DebugMode.check), ("float32", "%(x)s"))
                self.assertEqual(config.source_of("floatX"), path)
                self.assertEqual(config.unused_settings(), [f"other.thing (from {path})"])
                self.assertEqual(config.check_settings(), [])

    def test_file_errors_name_the_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rc")
            for text, message in (("size = 3\n", "cannot be read"), ("[global]\nsize = many\n", "'many' .from .*rc")):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                with self.assertRaisesRegex(ConfigError, message):
                    make({"THEANORC": path}).check_settings()

    def test_values_with_commas_and_quotes(self) -> None:
        text = 'a=[1,2], b=\'x,y\' ,c="q",d=-O3 -L"/a,b",e=f(1,2),g=\''
        self.assertEqual(
            [(s.name, s.text) for s in parse_settings(text)],
            [("a", "[1,2]"), ("b", "x,y"), ("c", "q"), ("d", '-O3 -L"/a,b"'), ("e", "f(1,2)"), ("g", "'")],
        )

    @given(st.dictionaries(st.from_regex(r"\A[a-z]{1,5}(\.[a-z]{1,5})?\Z"), st.from_regex(r"\A[\w./:-]{0,8}\Z")))
    @settings(deadline=None, max_examples=examples(100))
    def test_what_is_written_is_read(self, expected: dict[str, str]) -> None:
        text = ",".join(f"{name}={value}" for name, value in expected.items())
        self.assertEqual({s.name: s.text for s in parse_settings(text)}, expected)

    def test_settings_are_checked_at_once(self) -> None:
        config = make({"THEANO_FLAGS": "modee=slow,nothing.at_all=3,size=4", "THEANORC": ""})
        first, second = config.check_settings()
        self.assertIn("`modee`, which is no flag and has no effect: did you mean `mode`?", first)
        self.assertIn("`nothing.at_all`", second)
        with self.assertRaisesRegex(ConfigError, "'many' .from THEANO_FLAGS"):
            make({"THEANO_FLAGS": "size=many", "THEANORC": ""}).check_settings()

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

    def test_capitals_are_suggested(self) -> None:
        config = make()
        config.add_flag("floatX", "Precision.", EnumFlag("float64", "float32"))
        with self.assertRaisesRegex(UnknownFlagError, "did you mean `floatX`"):
            _ = config.floatx

    def test_sections(self) -> None:
        config = make()
        with self.assertRaisesRegex(UnknownFlagError, "`gcc` is a section"):
            config.gcc = "-O3"
        self.assertEqual(dir(config.gcc), ["cxxflags"])
        self.assertIn("gcc.cxxflags (a string)", str(config.gcc))
        self.assertNotIn("mode", str(config.gcc))

    def test_names_that_cannot_be(self) -> None:
        for name in ("a b", "", "gcc.", "_hidden", "gcc", "gcc.cxxflags.more"):
            with self.subTest(name), self.assertRaises(ConfigError):
                make().add_flag(name, "Bad.", BoolFlag(True))

    def test_sources_of_values(self) -> None:
        config = make({"THEANO_FLAGS": "size=4", "THEANORC": ""})
        self.assertEqual((config.source_of("size"), config.source_of("mode")), ("THEANO_FLAGS", "the default"))
        config.size = 5
        self.assertEqual(config.source_of("size"), "an assignment")
        with config.change_flags(size=6):
            self.assertEqual(config.source_of("size"), "change_flags")

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

    def test_left_more_often_than_entered(self) -> None:
        config = make()
        change = config.change_flags(size=10)
        with change:
            self.assertEqual(config.size, 10)
        change.__exit__()
        self.assertEqual(config.size, 3)

    def test_nested_and_entered_twice(self) -> None:
        config = make()
        change = config.change_flags(size=10)
        with change:
            with config.change_flags(size=11), change:
                self.assertEqual(config.size, 10)
                config.size = 12
                self.assertEqual(config.size, 12)
            self.assertEqual(config.size, 10)
        self.assertEqual(config.size, 3)

    def test_fixed_flags_are_refused(self) -> None:
        config = make()
        with self.assertRaisesRegex(ConfigError, "cannot be changed once"), config.change_flags(size=10, root="x"):
            self.fail("the block must not run")
        self.assertEqual(config.size, 3)

    def test_ends_in_another_order(self) -> None:
        config = make()
        first, second = config.change_flags(size=10), config.change_flags(size=11)
        first.__enter__()
        second.__enter__()
        first.__exit__()
        self.assertEqual(config.size, 11)
        second.__exit__()
        self.assertEqual(config.size, 3)

    def test_generators_change_flags_while_they_run(self) -> None:
        config = make()

        @config.change_flags(size=10)
        def steps() -> Iterator[int]:
            try:
                yield config.size
                yield config.size
            except KeyError:
                yield config.size
            finally:
                seen.append(config.size)

        seen: list[int] = []
        running = steps()
        self.assertEqual((next(running), config.size), (10, 3))
        with config.change_flags(size=7):
            self.assertEqual((next(running), config.size), (10, 7))
        running = steps()
        next(running)
        running.throw(KeyError())  # type: ignore[attr-defined]
        running.close()  # type: ignore[attr-defined]
        self.assertEqual((list(steps()), seen, config.size), ([10, 10], [10, 10, 10], 3))

    def test_coroutines_change_flags_while_they_run(self) -> None:
        config = make()
        outside: list[int] = []

        @config.change_flags(size=10)
        async def inside() -> int:
            await asyncio.sleep(0)
            return int(config.size)

        async def main() -> list[int]:
            async def watch() -> int:
                outside.append(config.size)
                return 0

            return list(await asyncio.gather(inside(), watch()))

        self.assertEqual((asyncio.run(main()), outside, config.size), ([10, 0], [3], 3))

    def test_what_cannot_be_decorated(self) -> None:
        async def endless() -> AsyncIterator[int]:
            yield 1

        with self.assertRaisesRegex(TypeError, "cannot decorate"):
            make().change_flags(size=10)(endless)

    def test_threads_leave_nothing_behind(self) -> None:
        config = make()
        start = threading.Barrier(4)

        def work(size: int) -> None:
            start.wait()
            for _ in range(200):
                with config.change_flags(size=size):
                    pass

        threads = [threading.Thread(target=work, args=(size,)) for size in range(5, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(config.size, 3)

    def test_hooks_see_every_change(self) -> None:
        messages: list[int] = []
        config = Config({"THEANORC": ""})
        config.add_flag("size", "How much.", IntFlag(3), on_change=messages.append)
        with config.change_flags(size=4):
            config.size = 5
        self.assertEqual(messages, [3, 4, 5, 3])

    def test_bad_value_restores_the_others(self) -> None:
        config = make()
        with self.assertRaises(ConfigError), config.change_flags(size=10, mode="wild"):
            self.fail("the block must not run")
        self.assertEqual(config.size, 3)

    def test_print_lists_everything(self) -> None:
        text = str(make())
        for part in (
            "mode (one of 'fast', 'slow')",
            "Doc:  How to run.",
            "Value:  fast",
            "gcc.cxxflags",
            "Cannot be changed",
        ):
            self.assertIn(part, text)
