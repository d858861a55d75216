"""Bounds of the cache: entries go by age, by size, when damaged, or on demand."""

from __future__ import annotations

import gc
import os
import time
from dataclasses import replace
from pathlib import Path

from theano_linker_c import scalar as sc
from theano_linker_c.kernels import KernelLibrary

from .cache_support import CacheTestCase, kernel

_DAY = 24 * 3600


class TestBounds(CacheTestCase):
    def test_least_recently_used_goes_first(self) -> None:
        ops = (sc.exp, sc.neg, sc.sqr, sc.tanh)
        now = time.time()
        for age, op in enumerate(ops):
            reference = set(self.names("objects"))
            self.build(op)
            (name,) = set(self.names("objects")) - reference
            path = Path(self.path, "objects", name)
            # The first is the oldest, but was used last.
            os.utime(path, (now - (0 if age == 0 else 100 - age), now - 200 + age))
        cache = self.cache()
        order = [item.name for item in cache.objects()]
        sizes = [item.bytes for item in cache.objects()]
        small = self.cache(max_bytes=sum(sizes) - 1)
        self.assertEqual(small.clean(), 1)
        self.assertEqual([item.name for item in cache.objects()], order[1:])
        self.assertEqual(self.build(sc.exp).compiler_runs, 0)
        self.assertEqual(self.build(sc.neg).compiler_runs, 1)

    def test_entries_go_with_their_object(self) -> None:
        self.build(sc.exp, sc.neg)
        self.assertEqual(len(self.names("index")), 2)
        self.assertEqual(self.cache(max_bytes=10).clean(), 1)
        self.assertEqual((self.names("index"), self.names("objects")), ([], []))

    def test_within_the_bound_nothing_goes(self) -> None:
        self.build(sc.exp)
        self.assertEqual(self.cache().clean(), 0)

    def test_old_objects_are_removed_a_week_after_their_end(self) -> None:
        self.build(sc.exp)
        (path,) = self.object_paths()
        for age, removed in ((1000 + 6 * _DAY, 0), (1000 + 8 * _DAY, 1)):
            result = time.time() - age
            os.utime(path, (result, result))
            with self.subTest(age=age):
                self.assertEqual(self.cache(max_age=1000).clean(), removed)

    def test_a_build_cleans_now_and_then(self) -> None:
        self.build(sc.exp)
        stamp = Path(self.path, "cleaned")
        long_ago = time.time() - 2 * 3600
        tight = replace(self.options, max_bytes=20)
        self.build(sc.neg, options=tight)
        self.assertEqual(len(self.names("objects")), 2)
        os.utime(stamp, (long_ago, long_ago))
        self.build(sc.sqr, options=tight)
        self.assertEqual(self.names("objects"), [])

    def test_taking_an_object_marks_it_as_used(self) -> None:
        self.build(sc.exp)
        (path,) = self.object_paths()
        then = time.time() - 5 * 3600
        os.utime(path, (then, then))
        self.build(sc.exp)
        info = path.stat()
        self.assertGreater(info.st_atime, then + 3600)
        self.assertAlmostEqual(info.st_mtime, then, delta=1)

    def test_few_failures_are_kept(self) -> None:
        cache = self.cache()
        for index in range(30):
            cache.folder.write(b"int x", "failed", f"{index:02d}.c")
            os.utime(Path(self.path, "failed", f"{index:02d}.c"), (index, index))
        cache.clean()
        self.assertEqual(self.names("failed"), [f"{index:02d}.c" for index in range(10, 30)])


class TestMemory(CacheTestCase):
    """Machine code that nobody needs any more leaves the process."""

    def mapped(self) -> int:
        with open("/proc/self/maps", encoding="utf-8") as file:
            return len({line.split()[-1] for line in file if self.path in line and " r-xp " in line})

    def test_code_goes_with_its_kernels(self) -> None:
        library = KernelLibrary(kept=2)
        held = library.build([kernel(sc.exp)], self.options)
        for op in (sc.neg, sc.sqr, sc.tanh, sc.sqrt):
            library.build([kernel(op)], self.options)
        gc.collect()
        self.assertEqual(self.mapped(), 3)
        del held
        gc.collect()
        self.assertEqual(self.mapped(), 2)
        library.clear()
        gc.collect()
        self.assertEqual(self.mapped(), 0)

    def test_what_was_dropped_is_found_on_disk_again(self) -> None:
        library = KernelLibrary(kept=1)
        for op in (sc.exp, sc.neg, sc.exp):
            library.build([kernel(op)], self.options)
        self.assertEqual(library.compiler_runs, 2)

    def test_kernels_in_use_are_shared(self) -> None:
        library = KernelLibrary(kept=1)
        first = library.build([kernel(sc.exp), kernel(sc.neg)], self.options)
        again = library.build([kernel(sc.exp), kernel(sc.neg)], self.options)
        self.assertEqual([a is b for a, b in zip(first, again, strict=True)], [True, True])


class TestDamage(CacheTestCase):
    def test_a_flipped_bit_is_noticed(self) -> None:
        self.build(sc.exp)
        (path,) = self.object_paths()
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.unlink()  # another file, so that code that is loaded here stays whole
        path.write_bytes(data)
        self.assertEqual(self.build(sc.exp).compiler_runs, 1)
        self.cache().clean_damaged()
        self.assertEqual(self.build(sc.exp).compiler_runs, 0)

    def test_damaged_objects_and_entries_are_cleaned(self) -> None:
        self.build(sc.exp)
        self.build(sc.neg)
        first, second = self.object_paths()
        copy = first.read_bytes()
        first.unlink()
        first.write_bytes(copy[:-10])
        Path(self.path, "index", "0" * 40 + ".json").write_text("{}")
        self.assertEqual(self.cache().clean_damaged(), 1)
        self.assertEqual(self.object_paths(), [second])
        self.assertEqual(len(self.names("index")), 1)


class TestSources(CacheTestCase):
    def test_sources_are_kept_on_demand(self) -> None:
        self.build(sc.exp)
        self.assertEqual(self.names("sources"), [])
        self.build(sc.neg, options=replace(self.options, keep_sources=True))
        (name,) = self.names("sources")
        self.assertIn(name.removesuffix(".c") + ".so", self.names("objects"))
        self.assertIn("int64_t", Path(self.path, "sources", name).read_text())
        self.assertEqual(self.cache(max_bytes=1).clean(), 2)
        self.assertEqual(self.names("sources"), [])

    def test_everything_can_be_loaded_at_once(self) -> None:
        self.build(sc.exp)
        (path,) = self.object_paths()
        path.unlink()
        path.write_bytes(b"not code")
        self.assertEqual(self.build(sc.neg, options=replace(self.options, preload=True)).compiler_runs, 1)
