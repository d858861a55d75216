"""Say where Chromium is; install it where that is asked for and can be done: as root, from Debian's packages.

    python tools/find_chromium.py [--install]

In continuous integration (the environment variable CI) it is installed unasked.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find() -> str | None:
    """Return the path of the browser, or None."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    return str(found) if found else None


def install() -> None:
    """Install it, if this is root on a machine with apt-get."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return
    for command in (["update", "-q"], ["install", "-y", "-q", "--no-install-recommends", "chromium"]):
        subprocess.run(["apt-get", *command], stdout=sys.stderr, check=False)


def main() -> int:
    """Print the path; the exit status is 1 if there is none."""
    if find() is None and ("--install" in sys.argv[1:] or os.environ.get("CI")):
        install()
    found = find()
    print(found or "no Chromium was found; install it (--install, as root on Debian), or let CHROMIUM name it")
    return int(found is None)


if __name__ == "__main__":
    sys.exit(main())
