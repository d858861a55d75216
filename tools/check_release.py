"""Build the sdist and the wheel of a layer and check their contents.

    python tools/check_release.py LAYER [--out FOLDER]

Checked are the metadata (name, version, licence, Python versions, requirements), the contents of both files, and that
the changelog tells of this version and loses no fragment. Needs towncrier.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path

from _house import RELEASED, ROOT, Layer, layer, split_requirements
from build_wheels import build
from check_changelog import FRAGMENT, fragments, name_problems

WHEEL_SUFFIXES = {".py", ".pyi", ".tsv", ".c", ".h", ".def", ".so", ".pyd", ".typed", ".js", ".css", ".html"}


def source_version(item: Layer) -> str:
    """Read the version that the source names."""
    for name in ("__init__.py", "_version.py"):
        path = item.source / name
        match = re.search(r'^__version__ = "([^"]+)"$', path.read_text(), re.MULTILINE) if path.exists() else None
        if match:
            return match[1]
    return ""


def ordered(requirement: str) -> str:
    """Return a requirement without blanks, its bounds in the order of the alphabet: build tools change the order."""
    name, *bounds = re.split(r"(?=[<>=~!])", requirement.replace(" ", ""), maxsplit=1)
    return name + ",".join(sorted("".join(bounds).split(",")))


def metadata_problems(item: Layer, metadata: Message) -> Iterator[str]:
    """Compare the metadata of a wheel with those of the source."""
    version = source_version(item)
    expected = {
        "Name": item.distribution,
        "Version": version,
        "License-Expression": "BSD-3-Clause",
        "Requires-Python": "<3.16,>=3.11",
        "License-File": "LICENSE",
    }
    for key, value in expected.items():
        if metadata[key] != value:
            yield f"metadata: {key} is {metadata[key]!r}, not {value!r}"
    plain = {ordered(text) for text in metadata.get_all("Requires-Dist") or () if "extra ==" not in text}
    requires = {ordered(text) for text in item.requires}
    if plain != requires:
        yield f"metadata: requires {sorted(plain)}, not {sorted(requires)}"
    named, _ = split_requirements(metadata.get_all("Requires-Dist") or ())
    for other in named:
        if other.name not in RELEASED:
            yield f"metadata: requires {other.distribution}, which is not released"
    if not str(metadata.get_payload()).strip():
        yield "metadata: the long description is empty"


def wheel_problems(item: Layer, path: Path) -> Iterator[str]:
    """Check the contents and the metadata of a wheel."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        info = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(info).decode())
    yield from metadata_problems(item, metadata)
    yield from content_problems(item, [name for name in names if ".dist-info/" not in name])
    if not any(name.endswith(".dist-info/licenses/LICENSE") for name in names):
        yield "wheel: the licence is missing"


def content_problems(item: Layer, names: list[str]) -> Iterator[str]:
    """Compare the files in a wheel with those of the source."""
    for name in names:
        # Scripts of others come with their licence and a note on where they are from.
        is_allowed = Path(name).suffix in WHEEL_SUFFIXES or "/vendor/" in name
        if not name.startswith(item.module + "/") or not is_allowed:
            yield f"wheel: stray file {name}"
    built = {name for name in names if name.endswith((".so", ".pyd"))}
    files = {str(path.relative_to(item.folder / "src")) for path in item.source.rglob("*.py")}
    files.add(f"{item.module}/py.typed")
    yield from (f"wheel: {name} is missing" for name in sorted(files - set(names)))
    if (item.folder / "setup.py").exists() and not built:
        yield "wheel: the C extension is missing"


def sdist_problems(item: Layer, path: Path) -> Iterator[str]:
    """Check that the sdist can be built from, and holds nothing that was built."""
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    sources = [path for kind in ("*.py", "*.c", "*.h", "*.def") for path in item.source.rglob(kind)]
    sources += (item.folder / "tests").rglob("*.py")
    expected = {"pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE"}
    expected |= {str(file.relative_to(item.folder)) for file in sources}
    yield from (f"sdist: {name} is missing" for name in sorted(expected - names))
    yield from (f"sdist: stray file {name}" for name in sorted(names) if name.endswith((".so", ".pyc")))


def changelog_problems(item: Layer) -> Iterator[str]:
    """Check that each fragment reaches the changelog, and that the changelog tells of this version."""
    version = source_version(item)
    paths = fragments(item.folder)
    if not paths and f"## {version} " not in (item.folder / "CHANGELOG.md").read_text():
        yield f"changelog: no section for {version} and no fragment to make one of"
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", version]
    draft = subprocess.run(command, cwd=item.folder, check=True, capture_output=True, text=True).stdout
    shown = " ".join(draft.split())
    yield from name_problems(item.folder)
    for path in paths:
        text = " ".join(path.read_text().split())
        if FRAGMENT.fullmatch(path.name) and (not text or text not in shown):
            yield f"changelog: {path.name} would be lost"


def main() -> None:
    """Build, check, and report."""
    parser = argparse.ArgumentParser(description="Build the sdist and the wheel of a layer and check their contents.")
    parser.add_argument("layer", choices=RELEASED)
    parser.add_argument("--out", type=Path, default=ROOT / "dist" / "release")
    options = parser.parse_args()
    item = layer(options.layer)
    os.environ["THEANO_REQUIRE_EXTENSION"] = "1"
    files = build(item, ("--sdist", "--wheel"), options.out, sys.executable)
    problems = list(changelog_problems(item))
    for path in files:
        problems += wheel_problems(item, path) if path.suffix == ".whl" else sdist_problems(item, path)
    if (item.folder / "LICENSE").read_bytes() != (ROOT / "LICENSE").read_bytes():
        problems.append("LICENSE differs from that of the repository")
    print(*(path.name for path in files), sep="\n")
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(int(bool(problems)))


if __name__ == "__main__":
    main()
