"""Identities of devices: they differ where functions are built in different ways."""

from __future__ import annotations

import tempfile
import unittest
from types import SimpleNamespace
from typing import Any
from unittest import mock

from theano_gpuarray import contexts
from theano_gpuarray.contexts import _devices, identity_of_contexts, identity_of_device, open_context, reg_context


class TestDevices(unittest.TestCase):
    def setUp(self) -> None:
        self.context = open_context("null0")
        self.addCleanup(contexts._known.clear)
        contexts._known.clear()

    def test_model_driver_and_compiler(self) -> None:
        properties = self.context.native.driver.properties(0)
        texts = {identity_of_device(self.context)}
        changes: dict[str, Any] = {"name": "another", "vendor": "v", "version": "CUDA 9.9; NVRTC 9.9", "arch": "sm_99"}
        for changed in ({}, *({key: value} for key, value in changes.items())):
            driver = SimpleNamespace(properties=lambda index, changed=changed: {**properties, **changed})
            other: Any = mock.Mock(kind="null", native=SimpleNamespace(driver=driver, index=0))
            other.properties, other.total_memory = self.context.properties, self.context.total_memory
            texts.add(identity_of_device(other))
        self.assertEqual(len(texts), 1 + len(changes))

    def test_properties_and_memory(self) -> None:
        before = identity_of_device(self.context)
        for name in ("properties", "total_memory"):
            contexts._known.clear()
            with self.subTest(name), mock.patch.object(self.context, name, "other"):
                self.assertNotEqual(identity_of_device(self.context), before)
        contexts._known.clear()
        self.assertEqual(identity_of_device(self.context), before)

    def test_libraries(self) -> None:
        texts = [identity_of_device(self.context)]
        with tempfile.NamedTemporaryFile() as library:
            for content in (b"a version", b"another version"):
                library.write(content)
                library.flush()
                contexts._known.clear()
                with mock.patch.dict(_devices._open_drivers.libraries, {"null": {"cublas": library.name}}):
                    texts.append(identity_of_device(self.context))
        contexts._known.clear()
        with mock.patch.dict(_devices._open_drivers.libraries, {"null": {"cublas": library.name}}):
            texts.append(identity_of_device(self.context))  # it is gone
        self.assertEqual(len(set(texts)), 4)


class TestContexts(unittest.TestCase):
    def setUp(self) -> None:
        change = mock.patch.dict(_devices._registered, clear=True)
        change.start()
        self.addCleanup(change.stop)

    def test_nothing_where_no_device_is_open(self) -> None:
        self.assertEqual(identity_of_contexts(), "")

    def test_names(self) -> None:
        texts = []
        for name in ("a", "b", None):
            reg_context(name, open_context("null0"))
            texts.append(identity_of_contexts())
        self.assertEqual(len(set(texts)), 3)
        self.assertNotIn(None, texts)

    def test_a_name_that_no_text_tells(self) -> None:
        reg_context(("a", "tuple"), open_context("null0"))
        self.assertIsNone(identity_of_contexts())

    def test_what_is_done_on_the_default_device(self) -> None:
        reg_context(None, open_context("null0"))
        texts = {identity_of_contexts()}
        for name in ("computation", "shared"):
            with mock.patch.object(contexts._default, name, True):
                texts.add(identity_of_contexts())
        self.assertEqual(len(texts), 3)


if __name__ == "__main__":
    unittest.main()
