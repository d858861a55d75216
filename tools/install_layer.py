"""Install the built wheel of one layer, and of the layers below it, into an environment.

    python tools/install_layer.py LAYER [--python PATH] [--test] [--with REQUIREMENT ...] [--with-file FILE ...]
                                  [--constraint REQUIREMENT ...] [--cflags FLAGS]

LAYER may also be the name of an environment that ends with it, such as ``py312-tensor``.

Layers are installed by the path of their wheel, never by name, so that no index can supply another package in their
place. The environment holds afterwards exactly the requested layer and its requirements. A second call with nothing
changed does nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from _house import LAYERS, WHEELS, closure, find_uv, layer_of, split_requirements
from build_wheels import sha256, wheel

STAMP = ".installed-layers.json"


def prefix_of(python: str) -> Path:
    """Return the folder of the environment that an interpreter belongs to."""
    program = "import sys; print(sys.prefix)"
    return Path(subprocess.run([python, "-c", program], check=True, capture_output=True, text=True).stdout.strip())


def state_of(prefix: Path, requested: object) -> str:
    """Hash the request together with the names of the environment's packages."""
    held = sorted(path.name for path in prefix.glob("lib*/python*/site-packages/*.dist-info"))
    return hashlib.sha256(json.dumps([requested, held]).encode()).hexdigest()


def requirements_of(path: Path) -> list[str]:
    """Return the requirements that a file lists, one a line."""
    lines = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


def install(options: argparse.Namespace) -> None:
    """Make the environment of an interpreter hold a layer, its requirements, and the extra ones."""
    top = layer_of(options.layer)
    test_layers, others = split_requirements([*(top.test_requires if options.test else ()), *options.extra])
    layers = closure(top, *test_layers)
    wheels = [wheel(item, options.python, options.wheels) for item in layers]
    if options.wheel is not None:
        wheels[layers.index(top)] = (options.wheel, sha256(options.wheel))
    others += [line for path in options.files for line in requirements_of(path)]
    prefix = prefix_of(options.python)
    requested = [[[path.name, key] for path, key in wheels], others, options.constraint]
    stamp = prefix / STAMP
    if stamp.exists() and stamp.read_text() == state_of(prefix, requested):
        return
    with tempfile.TemporaryDirectory() as scratch:
        limits = Path(scratch, "constraints.txt")
        limits.write_text("\n".join(options.constraint))
        command = [find_uv(), "pip", "install", "--quiet", "--exact", "--python", options.python, "-c", str(limits)]
        for item in layers:
            command += ["--reinstall-package", item.distribution]
        subprocess.run([*command, *(str(path) for path, _ in wheels), *others], check=True)
    stamp.write_text(state_of(prefix, requested))


def main() -> None:
    """Install the layer that the command line names."""
    parser = argparse.ArgumentParser(description="Install a layer's built wheel and those of the layers below it.")
    parser.add_argument("layer", help=f"one of {', '.join(LAYERS)}")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the environment to install into")
    parser.add_argument("--test", action="store_true", help="install also the requirements of the layer's tests")
    parser.add_argument("--with", dest="extra", action="append", default=[], metavar="REQUIREMENT")
    parser.add_argument("--with-file", dest="files", action="append", default=[], type=Path, metavar="FILE")
    parser.add_argument("--constraint", action="append", default=[], metavar="REQUIREMENT")
    parser.add_argument("--wheel", type=Path, help="install this wheel of the layer instead of building it")
    parser.add_argument("--wheels", type=Path, default=WHEELS, help="the folder that keeps the built wheels")
    parser.add_argument("--cflags", default="-g0", help="for the compiler of C runtimes, behind all others")
    options = parser.parse_args()
    os.environ.setdefault("THEANO_CFLAGS", options.cflags)
    try:
        install(options)
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)


if __name__ == "__main__":
    main()
