"""Open pages of the built documentation site in Chromium, and list their faults.

    python tools/open_site.py FOLDER

Each page must show its heading and the navigation beside it, all pictures that lie in the folder must load, and no
table or code may be cut. The inventory for other projects must have the names of the reference.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from find_chromium import find

#: Page -> a text that is on it.
PAGES = {
    "index.html": "Theano",
    "generated/tutorial/lesson_01_functions.html": "13.0",
    "generated/reference/theano.function.html": "on_unused_input",
    "generated/gallery.html": "Gallery",
    "generated/made.html": "How a function is made",
}
#: How many Python objects the inventory has at least.
NAMES = 1500
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,900", "--virtual-time-budget=20000")
#: Written into the page: its state in a browser.
REPORT = """<script>addEventListener("load", () => {
  const pictures = [...document.images].filter((i) => !/^https?:/.test(i.src));
  const wide = document.querySelector("article") || document.body;
  document.documentElement.setAttribute("data-report", [
    document.querySelector("h1") ? "" : "no heading",
    document.querySelector("aside, nav") ? "" : "no navigation",
    wide.getBoundingClientRect().width > 300 ? "" : "no room for the text",
    ...[...document.querySelectorAll("article pre, article table")]
      .filter((e) => e.scrollWidth > e.clientWidth + 2
        || e.getBoundingClientRect().right > wide.getBoundingClientRect().right + 2)
      .map((e) => "cut: " + e.textContent.trim().slice(0, 40)),
    ...pictures.filter((i) => !i.complete || !i.naturalWidth).map((i) => "not loaded: " + i.getAttribute("src")),
  ].filter(Boolean).join("; ") || "fine");
});</script>"""


class _Root(HTMLParser):
    """Reads the report from the first element."""

    report: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the attribute of the root."""
        if tag == "html":
            self.report = dict(attrs).get("data-report")


def faults(browser: str, folder: Path, profile: str) -> Iterator[str]:
    """Yield the faults of the pages."""
    for name, text in PAGES.items():
        page = folder / name
        if not page.exists():
            yield f"{name}: there is no such page"
            continue
        shown = page.with_name(f"_opened_{page.name}")
        shown.write_text(page.read_text(encoding="utf-8").replace("</head>", f"{REPORT}</head>", 1), encoding="utf-8")
        command = [browser, *OPTIONS, f"--user-data-dir={profile}", "--dump-dom", shown.as_uri()]
        dom = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
        shown.unlink()
        root = _Root()
        root.feed(dom)
        if root.report != "fine":
            yield f"{name}: {root.report or 'its scripts have not run'}"
        if text not in dom:
            yield f"{name}: {text!r} is not on it"


def python_names(folder: Path) -> int:
    """Return the number of Python objects in the inventory of the site."""
    packed = (folder / "objects.inv").read_bytes().split(b"\n", 4)[4]
    return sum(b" py:" in line for line in zlib.decompress(packed).splitlines())


def main() -> int:
    """Print the faults; the exit status is 1 if there are any. Without a browser, nothing can be said."""
    names = python_names(Path(sys.argv[1]))
    print(f"objects.inv has {names} names of Python")
    if names < NAMES:
        print(f"expected {NAMES} at least: docs/reference.toml or docs/_reference.py has lost names")
        return 1
    browser = find()
    if browser is None:
        print("no Chromium was found (CHROMIUM may name it): the pages were not opened")
        return 0
    with tempfile.TemporaryDirectory() as profile:
        problems = list(faults(browser, Path(sys.argv[1]).resolve(), profile))
    print("\n".join(problems) or f"{len(PAGES)} pages opened in {Path(browser).name}")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
