"""Publish every layer to a package index on this machine, and install theano-stack from it in an empty environment.

    python tools/check_index.py [--out FOLDER]

Sdists and wheels are built into the folder and uploaded with twine to a pypiserver that listens on this machine only.
Then pip installs them into a fresh environment, and its Python runs the program of the README. NumPy and SciPy come
from the index that pip is configured for. Needs build, pypiserver, setuptools, twine and uv.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from _house import RELEASED, ROOT, layer
from build_wheels import build
from check_install import program_of

PACKAGE = "theano-stack"


def free_port() -> int:
    """Return a port of this machine that nobody listens to."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Run a package index on an empty folder and yield its address."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    options = ("--port", str(port), "--interface", "127.0.0.1", "--passwords", ".", "--authenticate", ".")
    command = [sys.executable, "-m", "pypiserver", "run", *options, "--disable-fallback", str(folder)]
    server = subprocess.Popen(command)
    try:
        wait_for(address)
        yield address
    finally:
        server.terminate()
        server.wait()


def wait_for(address: str, seconds: float = 30) -> None:
    """Return when a server answers."""
    end = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
        else:
            return


def publish(files: list[Path], address: str) -> None:
    """Upload files as a release does, without a password."""
    upload = ["upload", "--non-interactive", "--disable-progress-bar", "--repository-url", address]
    names = ["--username", "nobody", "--password", "nothing"]
    subprocess.run([sys.executable, "-m", "twine", *upload, *names, *map(str, files)], check=True)


def install(address: str, scratch: Path) -> None:
    """Install the package in an empty environment and run the program of the README there."""
    home = scratch / "venv"
    venv.create(home, with_pip=True)
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment["THEANO_FLAGS"] = f"base_compiledir={scratch / 'compiled'}"
    python = str(home / "bin" / "python")
    pip = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-cache-dir",
        "--extra-index-url",
        f"{address}/simple",
        PACKAGE,
    ]
    subprocess.run(pip, check=True, env=environment)
    program = program_of((ROOT / "README.md").read_text(encoding="utf-8"))
    subprocess.run([python, "-c", program], check=True, cwd=scratch, env=environment)


def main() -> None:
    """Build, publish and install."""
    parser = argparse.ArgumentParser(description="Publish to a local package index and install from it.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist" / "index")
    options = parser.parse_args()
    files = [
        file for name in RELEASED for file in build(layer(name), ("--sdist", "--wheel"), options.out, sys.executable)
    ]
    with tempfile.TemporaryDirectory() as scratch, serve(Path(tempfile.mkdtemp(dir=scratch))) as address:
        publish(files, address)
        start = time.monotonic()
        install(address, Path(scratch))
        print(f"{PACKAGE} installs from the index and runs: {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
