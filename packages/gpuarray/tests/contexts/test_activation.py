"""Effects of flags when devices are opened, each in a process of its own."""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from unittest import mock

import theano_gpuarray  # noqa: F401  (declares its flags)
import theano_linker_c  # noqa: F401  (declares `compiledir`)
from theano_gpuarray.contexts import ContextError, activate
from theano_gpuarray.contexts._context import _options
from theano_graph import ConfigError, config
from theano_testing.gpuarray import needs_opencl

from ._run import run

ACTIVATE = """
import theano_linker_c
from theano_gpuarray import contexts as c
c.activate()
print([(name, c.get_context(name).devname) for name in c.list_contexts()], c.moves_computation(), c.moves_shared())
"""


@contextmanager
def with_flags(**flags: str | bool) -> Iterator[None]:
    """Let activation see other flags; where it opens nothing, this needs no process of its own."""
    plain = {"device": "cpu", "contexts": "", "init_gpu_device": "", "force_device": False}
    position = "theano_gpuarray.contexts"
    with (
        mock.patch(f"{position}.config", SimpleNamespace(**{**plain, **flags})),
        mock.patch(f"{position}.registered", return_value=False),
    ):
        yield


@needs_opencl
class TestActivation(unittest.TestCase):
    def told(self, flags: str, code: str = ACTIVATE) -> tuple[str, str]:
        done = run(code, flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip(), done.stderr.strip()

    def refused(self, **flags: str | bool) -> str:
        """Return the messages about flags."""
        with with_flags(**flags), self.assertRaises(ConfigError) as caught:
            activate()
        return str(caught.exception)

    def test_a_device(self) -> None:
        printed = "Mapped name None to device null0: null device 0"
        self.assertEqual(self.told("device=null0"), ("[(None, 'null0')] True True", printed))

    def test_opencl(self) -> None:
        result, messages = self.told("device=opencl,contexts=dev0->opencl0:0")
        self.assertEqual(result, "[('dev0', 'opencl0:0'), (None, 'opencl0:0')] True True")
        lines = r"Mapped name dev0 to device opencl0:0: \S.*\nMapped name None to device opencl0:0: \S.*"
        self.assertRegex(messages, rf"\A{lines}\Z")

    def test_nothing_is_opened_for_the_cpu(self) -> None:
        self.assertEqual(self.told("device=cpu,force_device=True,contexts=a->null0"), ("[] False False", ""))
        flags: dict[str, str]
        for flags in ({}, {"device": "cpu"}, {"init_gpu_device": "cpu"}, {"device": "gpu0"}):
            with with_flags(**flags), mock.patch("theano_gpuarray.contexts.open_context") as opening:
                activate()
                opening.assert_not_called()

    def test_a_map_of_names(self) -> None:
        result, messages = self.told("contexts=dev0->null0; dev1->null1 ;again->null0")
        self.assertEqual(result, "[('dev0', 'null0'), ('dev1', 'null1'), ('again', 'null0')] False False")
        lines = [
            "dev0 to device null0: null device 0",
            "dev1 to device null1: null device 1",
            "again to device null0: ",
        ]
        self.assertEqual(len(messages.splitlines()), 3)
        for line, expected in zip(messages.splitlines(), lines, strict=True):
            self.assertTrue(line.startswith(f"Mapped name {expected}"), line)

    def test_a_map_beside_a_device(self) -> None:
        result, _ = self.told("device=null1,contexts=dev0->null0")
        self.assertEqual(result, "[('dev0', 'null0'), (None, 'null1')] True True")

    def test_a_device_that_is_only_prepared(self) -> None:
        self.assertEqual(self.told("init_gpu_device=null1")[0], "[(None, 'null1')] False False")
        prepares = "init_gpu_device=null1 prepares a device"
        self.assertIn(prepares, self.refused(init_gpu_device="null1", device="null0"))
        self.assertIn("opens no device", self.refused(init_gpu_device="null1", force_device=True))
        self.assertIn("there is no device null9", self.refused(init_gpu_device="null9"))

    def test_the_cpu_is_used_where_a_device_is_not_there(self) -> None:
        result, messages = self.told("device=opencl77:0")
        self.assertEqual(result, "[] False False")
        self.assertIn(
            "UserWarning: device=opencl77:0 cannot be used, and functions run on the CPU: there is no ", messages
        )
        self.assertIn("<string>:4: ", messages)

    def test_names_without_a_device(self) -> None:
        code = f"{ACTIVATE}\nc.get_context('dev1')"
        done = run(code, "contexts=dev0->null0;dev1->null9")
        self.assertIn("UserWarning: contexts=dev1->null9 cannot be used, and there is no context 'dev1'", done.stderr)
        message = done.stderr[done.stderr.rindex("ContextNotDefined: ") :]
        self.assertIn("there is no device null9", message)

    def test_force_device(self) -> None:
        text = self.refused(device="null9", force_device=True)
        self.assertIn("device=null9, force_device=True: there is no device null9\n  null0: null device 0\n", text)
        self.assertIn("there is no device null8", self.refused(contexts="a->null8", device="null0", force_device=True))

    def test_devices_of_old(self) -> None:
        self.assertIn("set device=cuda1", self.refused(device="gpu1", force_device=True))

    def test_wrong_maps_are_refused_at_the_start(self) -> None:
        done = run(ACTIVATE, "contexts=cuda->cuda0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ConfigError: ", done.stderr)
        self.assertIn("flag `contexts` cannot be 'cuda->cuda0'", done.stderr)

    def test_cudnn_may_be_required(self) -> None:
        quiet = self.told("device=null,dnn.enabled=True,print_active_device=False")
        self.assertEqual(quiet, ("[(None, 'null0')] True True", ""))

    def test_use(self) -> None:
        code = """
import theano_linker_c
from theano_gpuarray import contexts as c
c.use("cpu")
c.use("null5")
print(c.list_contexts(), c.moves_computation())
c.use("null0", move_shared_to_gpu=False)
print(c.list_contexts(), c.moves_computation(), c.moves_shared())
try:
    c.use("null6", force=True)
except c.DeviceUnavailable as error:
    print(str(error).splitlines()[0])
"""
        result, messages = self.told("", code)
        self.assertEqual(result.splitlines(), ["[] False", "[None] True False", "there is no device null6"])
        self.assertIn("device=null5 cannot be used", messages)

    def test_use_of_the_device_that_is_open(self) -> None:
        code = """
import theano_linker_c
from theano_gpuarray import contexts as c
c.activate()
print(c.moves_computation())
for name in ("null0", "null", "null0"):
    c.use(name)
print(c.list_contexts(), c.moves_computation(), c.moves_shared())
try:
    c.use("null1")
except c.ContextError as error:
    print(str(error).splitlines()[0])
"""
        result, messages = self.told("init_gpu_device=null0", code)
        expected = ["False", "[None] True True", "there is a context of the name None already"]
        self.assertEqual(result.splitlines(), expected)
        self.assertEqual(len(messages.splitlines()), 1)


@needs_opencl
class TestForks(unittest.TestCase):
    def test_a_forked_process_is_refused(self) -> None:
        code = """
import os, sys
import theano_linker_c
from theano_gpuarray.contexts import open_context, DeviceUnavailable
from theano_gpuarray._runtime import DeviceError
context = open_context("opencl0:0")
memory = context.allocate(64)
child = os.fork()
if child == 0:
    found = []
    for action in (lambda: open_context("opencl0:0"), lambda: context.allocate(4), lambda: memory.fill(0, 4, 0)):
        try:
            action()
        except (DeviceUnavailable, DeviceError) as error:
            found.append(str(error).splitlines()[0])
    found.append(open_context("null0").devname)
    print("\\n".join(found), flush=True)
    os._exit(0)
os.waitpid(child, 0)
memory.fill(0, 4, 0)
context.synchronize()
print("the parent goes on")
"""
        done = run(code)
        self.assertEqual(done.returncode, 0, done.stderr)
        *refusals, opened, parent = done.stdout.splitlines()
        self.assertEqual((len(refusals), opened, parent), (3, "null0", "the parent goes on"))
        self.assertIn("a driver was opened before this process was forked off", refusals[0])
        for text in refusals[1:]:
            self.assertIn("fork", text)


class TestFlags(unittest.TestCase):
    def test_what_is_read_at_the_start_cannot_be_changed(self) -> None:
        for name, value in (("device", "null0"), ("contexts", "a->null0"), ("init_gpu_device", "null0")):
            with self.assertRaisesRegex(
                ConfigError, rf"flag `{name}` cannot be changed.*\n.*THEANO_FLAGS={name}={value}"
            ):
                setattr(config, name, value)

    def test_defaults(self) -> None:
        section = config.gpuarray
        self.assertEqual((config.device, config.contexts, config.init_gpu_device), ("cpu", "", ""))
        self.assertEqual((config.force_device, config.print_active_device), (False, True))
        self.assertEqual((section.preallocate, section.sched, section.single_stream), (0.0, "default", True))
        self.assertTrue(section.cache_path.endswith("gpuarray_kernels"))
        self.assertTrue(section.cache_path.startswith(str(config.compiledir)))
        self.assertEqual((config.assert_no_cpu_op, config.dnn.enabled, config.nvcc.fastmath), ("ignore", "auto", False))

    def test_options_of_the_compiler(self) -> None:
        flags = {"fastmath": True, "flags": "-g --maxrregcount=64"}
        with config.change_flags(
            cuda__include_path="/opt/cuda/include", **{f"nvcc__{name}": value for name, value in flags.items()}
        ):
            expected = "--generate-line-info --maxrregcount=64 --use_fast_math --include-path=/opt/cuda/include"
            self.assertEqual((_options("cuda"), _options("opencl")), (tuple(expected.split()), ()))
        with (
            config.change_flags(cuda__include_path="/opt/my cuda"),
            self.assertRaisesRegex(ContextError, "has a space"),
        ):
            _options("cuda")


if __name__ == "__main__":
    unittest.main()
