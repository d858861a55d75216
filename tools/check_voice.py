"""Count words and sentences that the guide on voice (docs/style/voice.md) advises against; counts only ever fall.

    python tools/check_voice.py            # fail where a file has more than tools/voice.tsv allows
    python tools/check_voice.py --update   # write lower counts there; refused where a total would rise
    python tools/check_voice.py --show packages/graph/src/theano_graph/_errors.py   # each hit, with its line

Docstrings, comments, messages (strings with spaces), local names and pages are counted. A new file has none.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from _house import ROOT

#: Count per file and rule. Files without hits do not stand there.
COUNTS = ROOT / "tools" / "voice.tsv"
#: The guide shows sentences to avoid, and this tool and its tests name them.
EXEMPT = frozenset({"docs/style/voice.md", "tools/check_voice.py", "tools/tests/test_voice.py"})
FOLDERS = ("packages", "tools", "examples", "benchmarks", "docs")
LEFT_OUT = frozenset({"build", "dist", "__pycache__", "generated", "log", "_build"})
LONGEST = 30
NAMES = frozenset({"found", "given", "made", "known", "wanted", "kept", "told", "own", "whole", "rest", "place"})
WORDS = {
    "what": re.compile(r"\bwhat(ever)?\b", re.IGNORECASE),
    "those": re.compile(r"\bthose (that|who|which)\b", re.IGNORECASE),
    "mend": re.compile(r"\bmend(s|ed|ing)?\b", re.IGNORECASE),
    "phrase": re.compile(r"\b(is told|are told|as ever)\b", re.IGNORECASE),
}
#: A first sentence that starts with a relative clause or a participle hides its subject.
_OPENING = re.compile(r"(What|Whatever|Those|Who|Whoever|Whose|That|Made|Given|Found|Known|Kept|Told|Taken|Asked)\b")
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+")
_CODE = re.compile(r"```.*?```|^ *(>>>|\.\.\.) .*?$|`[^`]*`", re.DOTALL | re.MULTILINE)

Hit = tuple[int, str, str]


def words_of(text: str, line: int) -> Iterator[Hit]:
    """Yield each advised-against word of a text that begins at a line: its line, its rule and the word."""
    for rule, pattern in WORDS.items():
        for match in pattern.finditer(text):
            yield line + text.count("\n", 0, match.start()), rule, match.group()


def long_sentences(text: str, line: int) -> Iterator[Hit]:
    """Yield sentences of more than `LONGEST` words; tables, code and parameter lists are no sentences."""
    for match in re.finditer(r"(?:[^\n]+\n?)+", _CODE.sub(lambda code: re.sub(r"[^\n]", "x", code.group()), text)):
        paragraph = match.group()
        if re.search(r"^\s*(\||[-=]{3,}|#)|^\s*\w+ : ", paragraph, re.MULTILINE):
            continue
        for sentence in _SENTENCE.split(paragraph):
            if len(sentence.split()) > LONGEST:
                at = text.count("\n", 0, match.start()) + paragraph.count("\n", 0, paragraph.index(sentence))
                yield line + at, "long", " ".join(sentence.split()[:8])


def comments_of(source: str) -> Iterator[tuple[int, str]]:
    """Yield the comments of a Python file; lines that follow each other are one text."""
    block: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if block and token.start[0] != last + 1:
            yield first, "\n".join(block)
            block = []
        if not block:
            first = token.start[0]
        block.append(token.string.lstrip("#: "))
        last = token.start[0]
    if block:
        yield first, "\n".join(block)


def documented(tree: ast.Module) -> set[int]:
    """Return the identities of the constants that are docstrings, or texts below attributes."""
    bodies = (getattr(node, "body", None) for node in ast.walk(tree))
    statements = (statement for body in bodies if isinstance(body, list) for statement in body)
    return {id(statement.value) for statement in statements if isinstance(statement, ast.Expr)}


def hits_of_text(text: str, line: int, *, is_docstring: bool) -> Iterator[Hit]:
    """Yield the hits of a string; strings without spaces are no messages."""
    if is_docstring:
        yield from long_sentences(text, line)
        if _OPENING.match(text.lstrip()):
            yield line, "opening", text.split(maxsplit=1)[0]
    if is_docstring or " " in text:
        yield from words_of(text, line)


def hits_of_names(node: ast.AST) -> Iterator[Hit]:
    """Yield the local names and parameters that name a moment, and the keyword `mend`."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in NAMES:
        yield node.lineno, "name", node.id
    elif isinstance(node, ast.arg) and node.arg in NAMES:
        yield node.lineno, "name", node.arg
    elif isinstance(node, ast.arg | ast.keyword) and node.arg == "mend":
        yield node.lineno, "mend", node.arg


def hits_of_python(source: str) -> Iterator[Hit]:
    """Yield the hits of a Python file: docstrings, messages, names and comments."""
    tree = ast.parse(source)
    docstrings = documented(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from hits_of_text(node.value, node.lineno, is_docstring=id(node) in docstrings)
        yield from hits_of_names(node)
    for line, text in comments_of(source):
        yield from words_of(text, line)
        yield from long_sentences(text, line)


def hits_of_c(source: str) -> Iterator[Hit]:
    """Yield the words in the comments of a C file."""
    for match in re.finditer(r"/\*.*?\*/|//[^\n]*", source, re.DOTALL):
        yield from words_of(match.group(), 1 + source.count("\n", 0, match.start()))


def hits_of_page(source: str) -> Iterator[Hit]:
    """Yield words and long sentences of a page; code in it is left out."""
    prose = _CODE.sub(lambda code: re.sub(r"[^\n]", "x", code.group()), source)
    yield from words_of(prose, 1)
    yield from long_sentences(source, 1)


_READERS = {".py": hits_of_python, ".c": hits_of_c, ".h": hits_of_c, ".md": hits_of_page}


def hits(path: Path) -> list[Hit]:
    """Return the hits of a file, in the order of lines."""
    return sorted(_READERS[path.suffix](path.read_text(encoding="utf-8")))


def counted(root: Path) -> dict[str, Counter[str]]:
    """Count each rule in each file of the repository, built and generated ones left out."""
    paths = [*root.glob("*.md"), *(path for folder in FOLDERS for path in (root / folder).rglob("*.*"))]
    counts = {}
    for path in paths:
        name = path.relative_to(root)
        if path.suffix in _READERS and name.as_posix() not in EXEMPT and not LEFT_OUT & set(name.parts):
            counts[name.as_posix()] = Counter(rule for _, rule, _ in hits(path))
    return counts


def stored(text: str) -> dict[str, Counter[str]]:
    """Read counts as `COUNTS` has them: a line for each file, with ``rule=count`` after its name."""
    counts = {}
    for line in text.splitlines():
        name, *entries = line.split("\t")
        pairs = (entry.split("=") for entry in entries)
        counts[name] = Counter({rule: int(number) for rule, number in pairs})
    return counts


def text_of(counts: Mapping[str, Counter[str]]) -> str:
    """Write counts as `stored` reads them."""
    lines = (
        "\t".join([name, *(f"{rule}={number}" for rule, number in sorted(rules.items()))])
        for name, rules in sorted(counts.items())
        if rules
    )
    return "".join(f"{line}\n" for line in lines)


def totals(counts: Mapping[str, Counter[str]]) -> Counter[str]:
    """Return the count of each rule in all files."""
    return sum(counts.values(), Counter())


def rises(now: Mapping[str, Counter[str]], before: Mapping[str, Counter[str]]) -> list[str]:
    """Describe each file that has more of a rule than before."""
    return [
        f"{name}: {number} of rule `{rule}`, {before.get(name, Counter())[rule]} allowed"
        for name, rules in sorted(now.items())
        for rule, number in sorted(rules.items())
        if number > before.get(name, Counter())[rule]
    ]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="store the counts, unless a total would rise")
    parser.add_argument("--show", metavar="FILE", type=Path, help="print the hits of one file")
    arguments = parser.parse_args()
    if arguments.show:
        for line, rule, word in hits(arguments.show):
            print(f"{arguments.show}:{line}: {rule}: {word}")
        return
    now = counted(ROOT)
    before = stored(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else now
    if arguments.update:
        more = totals(now) - totals(before)
        if more:
            sys.exit("these totals would rise: " + ", ".join(f"{rule} by {number}" for rule, number in more.items()))
        COUNTS.write_text(text_of(now), encoding="utf-8")
        return
    errors = rises(now, before)
    print("voice: " + ", ".join(f"{rule} {number}" for rule, number in sorted(totals(now).items())))
    if errors:
        print("\n".join(errors))
        sys.exit("Hint: `python tools/check_voice.py --show FILE` names the lines; docs/style/voice.md has the rules.")


if __name__ == "__main__":
    main()
