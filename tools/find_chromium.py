"""Say where Chromium is, in which pages that the library writes are opened; the exit status is 1 if there is none.

    python tools/find_chromium.py

Debian has it as the package `chromium`; the environment variable CHROMIUM may name one.
"""

from __future__ import annotations

import os
import shutil
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find() -> str | None:
    """Return the path of the browser, or None."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    return str(path) if path else None


def main() -> int:
    """Print the path."""
    path = find()
    print(path or "no Chromium was found")
    return int(path is None)


if __name__ == "__main__":
    sys.exit(main())
