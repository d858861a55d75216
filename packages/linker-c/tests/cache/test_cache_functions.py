"""Rewritten functions in the cache: evicted, read-only, of somebody else, and old."""

from __future__ import annotations

import os
import threading
import time
import unittest
import warnings

from theano_linker_c._cache import KernelCache
from theano_linker_c.compiler import CompileDirectory, CompilerWarning

from .cache_support import CacheTestCase

KEY = "{:040x}"


class TestFunctionsOnDisk(CacheTestCase):
    def test_eviction_while_others_read(self) -> None:
        limit = 40_000  # a fourth of it is for functions
        cache, reader = self.cache(max_bytes=limit), self.cache(max_bytes=limit)
        content = {KEY.format(i): bytes([i]) * 1000 for i in range(60)}
        finished, wrong, hits = threading.Event(), list[str](), list[int]()

        def read() -> None:
            while not finished.is_set():
                for key, data in content.items():
                    result = reader.find_function(key)
                    if result is not None:
                        hits.append(1)
                        if result != data:
                            wrong.append(key)

        thread = threading.Thread(target=read)
        thread.start()
        try:
            for key, data in content.items():
                cache.store_function(key, data)
                self.assertIsNotNone(cache.find_function(key))
                cache.clean()
        finally:
            finished.set()
            thread.join()
        self.assertEqual(wrong, [])
        self.assertTrue(hits)
        self.assertLessEqual(sum(item.bytes for item in cache.functions()), limit // 4)

    def test_a_directory_that_cannot_be_written_gives_what_it_has(self) -> None:
        key = KEY.format(1)
        self.cache().store_function(key, b"data")
        cache = self.cache()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CompilerWarning)
            cache.folder.leave("it is read-only")
        self.assertEqual(cache.find_function(key), b"data")
        cache.store_function(KEY.format(2), b"more")
        self.assertEqual(cache.find_function(KEY.format(2)), b"more")
        self.assertIsNone(self.cache().find_function(KEY.format(2)))

    def test_functions_of_somebody_else_count_as_missing(self) -> None:
        key = KEY.format(1)
        cache = self.cache()
        cache.store_function(key, b"data")
        other = KernelCache(CompileDirectory(self.path + "-other"), 1 << 30, 1 << 30)
        other.store_function(key, b"planted")
        with open(other.functions()[0].path, "rb") as source, open(cache.functions()[0].path, "wb") as target:
            target.write(source.read())
        self.assertIsNone(cache.find_function(key))
        cache.clean_damaged()
        self.assertEqual(cache.functions(), [])

    def test_files_are_for_their_owner_alone(self) -> None:
        cache = self.cache()
        cache.store_function(KEY.format(1), b"data")
        (item,) = cache.functions()
        for path in (item.path, os.path.dirname(item.path), self.path):
            self.assertEqual(os.stat(path).st_mode & 0o077, 0, path)

    def test_old_functions_are_not_taken(self) -> None:
        key = KEY.format(1)
        cache = self.cache()
        cache.store_function(key, b"data")
        cache.max_age = 1000
        old = time.time() - 2000
        os.utime(cache.functions()[0].path, (old, old))
        self.assertIsNone(cache.find_function(key))


if __name__ == "__main__":
    unittest.main()
