#!/usr/bin/env python3
"""Set up the environment `.venv`, then run the demo, the tests or the benchmarks.

    python3 bootstrap.py demo  [options of the demo, see: python3 bootstrap.py demo --help]
    python3 bootstrap.py test  [--all] [options of tox, for example: -e graph]
    python3 bootstrap.py bench [options of the benchmarks]

`test` runs the quick tests of every layer on one Python, and checks format, types and layers. `test --all` runs the
slow tests too, the quick ones on every Python that is there, and all other checks.

It needs Python 3.11 to 3.15 and the standard library alone. Nothing outside this folder is changed.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(ROOT, ".venv")
BIN = os.path.join(VENV, "Scripts" if os.name == "nt" else "bin")
VENV_PYTHON = os.path.join(BIN, "python")
STAMP = os.path.join(VENV, ".bootstrap")
PROGRESS = os.path.join(ROOT, "reports", "progress")
TOOLS = ["nox>=2025.2", "tox>=4.23", "tox-uv>=1.20", "uv>=0.5"]

NO_VENV = """\
bootstrap: no virtual environment could be made in .venv.
{details}
Hint: install the venv module of your Python (on Debian and Ubuntu: apt-get install python3-venv), or pip, or uv."""

NO_INSTALLER = """\
bootstrap: the tools ({tools}) could not be installed into .venv.
{details}
Hint: install pip for your Python (on Debian and Ubuntu: apt-get install python3-venv python3-pip), and see that the
package index can be reached."""


def find_python() -> str | None:
    """Find an interpreter that is neither too old nor too new."""
    pyenv = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    for version in ("3.13", "3.12", "3.11", "3.14", "3.15"):
        found = shutil.which("python" + version)
        for candidate in ([found] if found else []) + glob.glob(f"{pyenv}/versions/{version}.*/bin/python"):
            if run_quietly([candidate, "--version"])[0]:
                return candidate
    return None


def check_version() -> None:
    """Go on with a Python that fits, or name the versions that do."""
    if (3, 11) <= sys.version_info[:2] <= (3, 15):
        return
    found = find_python()
    if found is None:
        sys.exit("bootstrap: Python 3.11 to 3.15 is needed; this is %d.%d." % sys.version_info[:2])  # noqa: UP031
    os.execv(found, [found, *sys.argv])


def run_quietly(command: list[str]) -> tuple[bool, str]:
    """Run a command and return whether it succeeded, and the end of its output."""
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError as error:
        return False, str(error)
    return done.returncode == 0, "\n".join(done.stdout.strip().splitlines()[-6:])


def try_each(commands: list[list[str]]) -> tuple[bool, str]:
    """Run commands until one succeeds; return whether one did, and the output of the others."""
    details = []
    for command in commands:
        succeeded, said = run_quietly(command)
        if succeeded:
            return True, ""
        details.append("  " + " ".join(command) + "\n    " + said.replace("\n", "\n    "))
    return False, "\n".join(details)


def make_environment() -> None:
    """Make `.venv`, unless there is one that works."""
    if run_quietly([VENV_PYTHON, "-c", "import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 15))"])[0]:
        return
    if os.path.isdir(VENV) and os.listdir(VENV) and not os.path.exists(os.path.join(VENV, "pyvenv.cfg")):
        sys.exit("bootstrap: .venv exists and is no virtual environment. Hint: move it away.")
    print("bootstrap: making .venv", flush=True)
    python = sys.executable
    commands = [
        [python, "-m", "venv", "--clear", VENV],
        # Where the system's Python comes without ensurepip, pip can be brought in from outside afterwards.
        [python, "-m", "venv", "--clear", "--without-pip", VENV],
        [python, "-m", "virtualenv", "--clear", VENV],
    ]
    uv = shutil.which("uv")
    if uv:
        commands.append([uv, "venv", "--clear", "--python", python, VENV])
    succeeded, details = try_each(commands)
    if not succeeded:
        sys.exit(NO_VENV.format(details=details))


def install_tools() -> None:
    """Install the tools into `.venv`, unless the last call did so."""
    if os.path.exists(STAMP):
        with open(STAMP) as stamp:
            if stamp.read().split("\n") == TOOLS:
                return
    print("bootstrap: installing", ", ".join(TOOLS), flush=True)
    if not run_quietly([VENV_PYTHON, "-m", "pip", "--version"])[0]:
        run_quietly([VENV_PYTHON, "-m", "ensurepip"])
    commands = [
        [os.path.join(BIN, "uv"), "pip", "install", "--python", VENV_PYTHON, *TOOLS],
        [VENV_PYTHON, "-m", "pip", "install", *TOOLS],
        [sys.executable, "-m", "pip", "--python", VENV_PYTHON, "install", *TOOLS],
    ]
    uv = shutil.which("uv")
    if uv:
        commands.append([uv, "pip", "install", "--python", VENV_PYTHON, *TOOLS])
    succeeded, details = try_each(commands)
    if not succeeded:
        sys.exit(NO_INSTALLER.format(tools=", ".join(TOOLS), details=details))
    with open(STAMP, "w") as stamp:
        stamp.write("\n".join(TOOLS))


def run_chosen_tests(options: list[str], environment: dict[str, str]) -> int:
    """Run chosen environments one after another, seen live."""
    return subprocess.run([os.path.join(BIN, "tox"), "run", *options], cwd=ROOT, env=environment).returncode


def run_tests(everything: bool, environment: dict[str, str]) -> int:
    """Run all environments of a tier, as many at a time as there are processors, with a line of progress."""
    began = time.monotonic()
    shutil.rmtree(PROGRESS, ignore_errors=True)
    command = [os.path.join(BIN, "tox"), "run-parallel", "--parallel", "auto", "--parallel-no-spinner"]
    command += [] if everything else ["-m", "quick"]
    lines = ProgressLines(began)
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as tox:
        ticking = threading.Thread(target=lines.tick, args=(tox,), daemon=True)
        ticking.start()
        assert tox.stdout is not None
        for line in tox.stdout:
            lines.show(line)
        status = tox.wait()
    ticking.join()
    outcome = "passed" if status == 0 else "FAILED"
    tier = "Everything" if everything else "The quick tier"
    print(f"{tier} {outcome} in {clock(began)}: {counts_of_tests()}.")
    if not everything:
        print("The rest (slow tests, other Pythons, docs, C and release checks): python3 bootstrap.py test --all")
    return status


def clock(began: float) -> str:
    """Word the time since a moment in minutes and seconds."""
    seconds = int(time.monotonic() - began)
    return f"{seconds // 60}:{seconds % 60:02}"


def counts_of_tests() -> str:
    """Add up the notes that test runs leave."""
    sums = dict.fromkeys(("passed", "failed", "skipped", "done", "total"), 0)
    for path in glob.glob(os.path.join(PROGRESS, "*.json")):
        try:
            with open(path, encoding="utf-8") as file:
                state = json.load(file)
        except (OSError, ValueError):
            continue  # it is being written
        for kind in sums:
            sums[kind] += state[kind]
    return "{passed} tests passed, {failed} failed, {skipped} skipped, {done} of {total} modules".format(**sums)


class ProgressLines:
    """The lines of tox, and a line that says how far the tests are: renewed in a terminal, now and then elsewhere."""

    def __init__(self, began: float) -> None:
        self.began = began
        self.live = sys.stdout.isatty()
        self.lock = threading.Lock()

    def show(self, line: str) -> None:
        """Print a line of tox."""
        with self.lock:
            sys.stdout.write(("\r\033[K" if self.live else "") + line)
            sys.stdout.flush()

    def tick(self, process: subprocess.Popen[str]) -> None:
        """Print the line of progress until a process ends."""
        while True:
            try:
                process.wait(1 if self.live else 30)
            except subprocess.TimeoutExpired:
                self.show(f"[{clock(self.began)}] started so far: {counts_of_tests()}" + ("" if self.live else "\n"))
            else:
                return


def main() -> int:
    """Run the command of the command line."""
    arguments = sys.argv[1:]
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if not arguments or arguments[0] not in ("demo", "test", "bench"):
        print("usage: python3 bootstrap.py demo|test|bench [options]", file=sys.stderr)
        return 2
    check_version()
    make_environment()
    install_tools()
    environment = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "PYTHONHOME"}}
    environment["PATH"] = BIN + os.pathsep + environment.get("PATH", os.defpath)
    environment["VIRTUAL_ENV"] = VENV
    task, options = arguments[0], arguments[1:]
    try:
        if task != "test":
            command = [os.path.join(BIN, "nox"), "--session", task, "--", *options]
            return subprocess.run(command, cwd=ROOT, env=environment).returncode
        everything = "--all" in options
        environment["THEANO_TESTS"] = "all" if everything else "quick"
        options = [option for option in options if option != "--all"]
        return run_chosen_tests(options, environment) if options else run_tests(everything, environment)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
