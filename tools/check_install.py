"""Follow the *Install* section of the README in an empty virtual environment, and run the README's program there.

    python tools/check_install.py [--keep FOLDER]

The command is read from the README as a user reads it. The environment's own Python and pip run it, from a copy of the
files that the repository tracks. The program is the first one of the README; it runs in another folder, so that
it imports the installed packages only.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from _house import ROOT, layer


def command_of(readme: str) -> str:
    """Return the first command of the section *Install*."""
    section = readme.partition("\n## Install\n")[2].partition("\n## ")[0]
    match = re.search(r"^    (python3 .*)$", section, re.MULTILINE)
    if match is None:
        sys.exit("README.md: the section Install has no command that begins with python3")
    return match[1]


def program_of(readme: str) -> str:
    """Return the first program."""
    match = re.search(r"^```python\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    if match is None:
        sys.exit("README.md: there is no program")
    return match[1]


def copy_tracked(folder: Path) -> None:
    """Copy the files that the repository tracks, as a checkout has them."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout.split(b"\0")
    for name in (os.fsdecode(name) for name in names if name):
        if (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())


def follow(scratch: Path) -> None:
    """Install, and run the program and a command; nothing of the calling environment is seen."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    checkout, elsewhere, home = scratch / "checkout", scratch / "elsewhere", scratch / "venv"
    for folder in (checkout, elsewhere):
        folder.mkdir(parents=True)
    copy_tracked(checkout)
    venv.create(home, with_pip=True)
    path = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    environment |= {"PATH": path, "THEANO_FLAGS": f"base_compiledir={scratch / 'compiled'}"}
    # A build and an import are enough here; other environments test the optimised code.
    environment.setdefault("THEANO_CFLAGS", "-O0 -g0")
    command = command_of(readme)
    print(f"$ {command}", flush=True)
    subprocess.run(command, shell=True, cwd=checkout, env=environment, check=True)
    python = str(home / "bin" / "python")
    done = subprocess.run(
        [python, "-c", program_of(readme)], cwd=elsewhere, env=environment, check=True, capture_output=True, text=True
    )
    print(done.stdout, end="", flush=True)
    if not done.stdout.strip():
        sys.exit("the program of the README printed nothing")
    subprocess.run([str(home / "bin" / "theano-doctor")], cwd=elsewhere, env=environment, check=True)
    shown = f"import importlib.metadata as m; print(m.version({layer('theano').distribution!r}))"
    subprocess.run([python, "-c", shown], cwd=elsewhere, env=environment, check=True)


def main() -> None:
    """Do it in a folder that is removed afterwards, or in one that is kept."""
    parser = argparse.ArgumentParser(description="Follow the Install section of the README in an empty environment.")
    parser.add_argument("--keep", type=Path, help="an empty folder for the checkout and the environment")
    options = parser.parse_args()
    try:
        if options.keep is not None:
            follow(options.keep.resolve())
        else:
            with tempfile.TemporaryDirectory() as scratch:
                follow(Path(scratch))
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}\n{error.stderr or ''}")


if __name__ == "__main__":
    main()
