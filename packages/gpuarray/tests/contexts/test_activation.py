"""What flags bring about when devices are opened, each in a process of its own."""

from __future__ import annotations

import unittest

import theano_gpuarray  # noqa: F401  (declares its flags)
import theano_linker_c  # noqa: F401  (declares `compiledir`)
from theano_graph import ConfigError, config
from theano_testing.gpuarray import needs_opencl
from theano_testing.tiers import slow

from ._run import run

ACTIVATE = """
import theano_linker_c
from theano_gpuarray import contexts as c
c.activate()
print([(name, c.get_context(name).devname) for name in c.list_contexts()], c.moves_computation(), c.moves_shared())
"""


@needs_opencl
class TestActivation(unittest.TestCase):
    def told(self, flags: str, code: str = ACTIVATE) -> tuple[str, str]:
        done = run(code, flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip(), done.stderr.strip()

    def refused(self, flags: str) -> str:
        done = run(ACTIVATE, flags)
        self.assertEqual(done.returncode, 1)
        return done.stderr[done.stderr.rindex("ConfigError: ") :]

    @slow
    def test_a_device(self) -> None:
        printed = "Mapped name None to device null0: null device 0"
        self.assertEqual(self.told("device=null0"), ("[(None, 'null0')] True True", printed))
        quiet = self.told("device=null,print_active_device=False")
        self.assertEqual(quiet, ("[(None, 'null0')] True True", ""))

    @slow
    def test_opencl(self) -> None:
        for name in ("opencl", "opencl0:0"):
            found, told = self.told(f"device={name}")
            self.assertEqual(found, "[(None, 'opencl0:0')] True True")
            self.assertRegex(told, r"\AMapped name None to device opencl0:0: \S.*\Z")

    @slow
    def test_nothing_is_opened_for_the_cpu(self) -> None:
        for flags in ("", "device=cpu", "device=cpu,force_device=True,contexts=a->null0", "init_gpu_device=cpu"):
            self.assertEqual(self.told(flags), ("[] False False", ""))

    def test_a_map_of_names(self) -> None:
        found, told = self.told("contexts=dev0->null0; dev1->null1 ;again->null0")
        self.assertEqual(found, "[('dev0', 'null0'), ('dev1', 'null1'), ('again', 'null0')] False False")
        lines = [
            "dev0 to device null0: null device 0",
            "dev1 to device null1: null device 1",
            "again to device null0: ",
        ]
        self.assertEqual(len(told.splitlines()), 3)
        for line, wanted in zip(told.splitlines(), lines, strict=True):
            self.assertTrue(line.startswith(f"Mapped name {wanted}"), line)

    def test_a_map_beside_a_device(self) -> None:
        found, _ = self.told("device=null1,contexts=dev0->null0")
        self.assertEqual(found, "[('dev0', 'null0'), (None, 'null1')] True True")

    @slow
    def test_a_device_that_is_only_prepared(self) -> None:
        self.assertEqual(self.told("init_gpu_device=null1")[0], "[(None, 'null1')] False False")
        self.assertIn("init_gpu_device=null1 prepares a device", self.refused("init_gpu_device=null1,device=null0"))
        self.assertIn("opens no device", self.refused("init_gpu_device=null1,device=cpu,force_device=True"))
        self.assertIn("there is no device null9", self.refused("init_gpu_device=null9"))

    @slow
    def test_the_cpu_is_used_where_a_device_is_not_there(self) -> None:
        found, told = self.told("device=opencl77:0")
        self.assertEqual(found, "[] False False")
        self.assertIn("UserWarning: device=opencl77:0 cannot be used, and functions run on the CPU: there is no ", told)
        self.assertIn("<string>:4: ", told)

    def test_names_without_a_device(self) -> None:
        code = f"{ACTIVATE}\nc.get_context('dev1')"
        done = run(code, "contexts=dev0->null0;dev1->null9")
        self.assertIn("UserWarning: contexts=dev1->null9 cannot be used, and there is no context 'dev1'", done.stderr)
        told = done.stderr[done.stderr.rindex("ContextNotDefined: ") :]
        self.assertIn("there is no device null9", told)

    @slow
    def test_force_device(self) -> None:
        text = self.refused("device=null9,force_device=True")
        self.assertIn("device=null9, force_device=True: there is no device null9\n  null0: null device 0\n", text)
        self.assertIn("there is no device null8", self.refused("contexts=a->null8,device=null0,force_device=True"))

    @slow
    def test_devices_of_old(self) -> None:
        self.assertEqual(self.told("device=gpu0"), ("[] False False", ""))
        self.assertIn("set device=cuda1", self.refused("device=gpu1,force_device=True"))

    @slow
    def test_wrong_maps_are_refused_at_the_start(self) -> None:
        self.assertIn("flag `contexts` cannot be 'cuda->cuda0'", self.refused("contexts=cuda->cuda0"))

    def test_cudnn_may_be_required(self) -> None:
        self.assertEqual(self.told("device=null0,dnn.enabled=True")[0], "[(None, 'null0')] True True")

    @slow
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
        found, told = self.told("", code)
        self.assertEqual(found.splitlines(), ["[] False", "[None] True False", "there is no device null6"])
        self.assertIn("device=null5 cannot be used", told)

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
        found, told = self.told("init_gpu_device=null0", code)
        wanted = ["False", "[None] True True", "there is a context of the name None already"]
        self.assertEqual(found.splitlines(), wanted)
        self.assertEqual(len(told.splitlines()), 1)


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

    @slow
    def test_options_of_the_compiler(self) -> None:
        code = """
import theano_linker_c
from theano_gpuarray.contexts._code import _options
print(_options("cuda"), _options("opencl"))
"""
        flags = "nvcc.fastmath=True,nvcc.flags=-g --maxrregcount=64,cuda.include_path=/opt/cuda/include"
        wanted = (
            "('--generate-line-info', '--maxrregcount=64', '--use_fast_math', '--include-path=/opt/cuda/include') ()"
        )
        self.assertEqual(run(code, flags).stdout.strip(), wanted)
        self.assertIn("has a space", run(code, "cuda.include_path=/opt/my cuda").stderr)


if __name__ == "__main__":
    unittest.main()
