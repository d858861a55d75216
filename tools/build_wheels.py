"""Build the wheels of some layers into ``dist/wheels``, each only when its content has changed.

    python tools/build_wheels.py [LAYER ...] [--python PATH]

The C runtimes make the wheels of ``linker-c`` and ``gpuarray`` one per Python version; the others fit all of them.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from _house import LAYERS, WHEELS, Layer, find_uv, layer

TOP_FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "CHANGELOG.md", "LICENSE")
NOISE = re.compile(r"(copying|creating|adding|writing|reading|running) ")
STALE = shutil.ignore_patterns("__pycache__", "*.so", "*.pyc", "*.egg-info")


def content_files(item: Layer) -> list[Path]:
    """List the files that a wheel is made of."""
    files = [item.folder / name for name in TOP_FILES]
    for path in (item.folder / "src").rglob("*"):
        parts = path.relative_to(item.folder).parts
        if not any(p == "__pycache__" or p.endswith((".so", ".egg-info")) for p in parts):
            files.append(path)
    return sorted(path for path in files if path.is_file())


def fingerprint(item: Layer, variant: str) -> str:
    """Hash names and contents of all that goes into the wheel, and the variant it is built for."""
    digest = hashlib.sha256(variant.encode())
    for path in content_files(item):
        content = path.read_bytes()
        digest.update(f"\0{path.relative_to(item.folder)}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


@cache
def describe(python: str) -> tuple[str, bool]:
    """Return a tag such as ``cp311`` for an interpreter, and whether its C headers are installed."""
    program = "import sys, sysconfig; print('cp%d%d' % sys.version_info[:2], sysconfig.get_path('include'))"
    output = subprocess.run([python, "-c", program], check=True, capture_output=True, text=True).stdout
    tag, include = output.strip().split(maxsplit=1)
    return tag, Path(include, "Python.h").exists()


def can_compile(python: str) -> bool:
    """Tell whether C extensions for an interpreter can be expected to build."""
    compiler = os.environ.get("CC", "").split()
    names = compiler[:1] or ["cc", "gcc", "clang"]
    return describe(python)[1] and any(shutil.which(name) for name in names)


def variant_of(item: Layer, python: str) -> str:
    """Name the dependencies of a wheel besides its sources: nothing, or a Python version, a compiler and its flags."""
    if not (item.folder / "setup.py").exists():
        return "any"
    flags = re.sub(r"[^A-Za-z0-9]+", "-", os.environ.get("THEANO_CFLAGS", "").strip())
    return describe(python)[0] + (flags if can_compile(python) else "-nocompiler")


def stage(item: Layer, target: Path) -> None:
    """Copy the files of a build, so that nothing of an earlier build gets in and none is left behind."""
    target.mkdir(parents=True)
    for name in TOP_FILES:
        if (item.folder / name).exists():
            shutil.copy2(item.folder / name, target / name)
    for name in ("src", "tests"):
        shutil.copytree(item.folder / name, target / name, ignore=STALE)


def build(item: Layer, kinds: tuple[str, ...], out: Path, python: str) -> list[Path]:
    """Build ``--wheel`` and/or ``--sdist`` of a layer into a folder and return the files made."""
    environment = dict(os.environ)
    if can_compile(python):
        environment.setdefault("THEANO_REQUIRE_EXTENSION", "1")
    with tempfile.TemporaryDirectory() as scratch:
        tree, target = Path(scratch, item.distribution), Path(scratch, "made")
        stage(item, tree)
        command = [find_uv(), "build", *kinds, "--python", python, "--out-dir", str(target), str(tree)]
        done = subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            said = [line for line in done.stdout.splitlines() if not NOISE.match(line)]
            sys.exit("\n".join([*said, f"building {item.distribution} failed (output above)"]))
        out.mkdir(parents=True, exist_ok=True)
        results = []
        for path in sorted(target.iterdir()):
            if path.suffix in {".whl", ".gz"}:
                unfinished = out / f".{path.name}.{os.getpid()}"
                shutil.copy2(path, unfinished)
                results.append(unfinished.replace(out / path.name))
        return results


def sha256(path: Path) -> str:
    """Hash a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder of wheels: environments that are set up in parallel want the same ones."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def wheel(item: Layer, python: str = sys.executable, out: Path = WHEELS) -> tuple[Path, str]:
    """Return the wheel of a layer for an interpreter, built if needed, and the hash of its content."""
    variant = variant_of(item, python)
    key = fingerprint(item, variant)
    stamp = out / f"{item.module}-{variant}.json"
    with lock(out):
        if stamp.exists():
            stamps = json.loads(stamp.read_text())
            path = out / stamps["wheel"]
            if stamps["key"] == key and path.exists() and stamps.get("sha256") == sha256(path):
                return path, key
        print(f"building the wheel of {item.distribution} ({variant})", flush=True)
        (path,) = build(item, ("--wheel",), out, python)
        stamp.write_text(json.dumps({"key": key, "wheel": path.name, "sha256": sha256(path)}))
        return path, key


def main() -> None:
    """Build the wheels that the command line names."""
    parser = argparse.ArgumentParser(description="Build the wheels of some layers into dist/wheels.")
    parser.add_argument("layers", nargs="*", metavar="LAYER", help=f"one of {', '.join(LAYERS)}; all if none is given")
    parser.add_argument("--python", default=sys.executable, help="the interpreter to build for")
    options = parser.parse_args()
    for name in options.layers or LAYERS:
        print(wheel(layer(name), options.python)[0])


if __name__ == "__main__":
    main()
