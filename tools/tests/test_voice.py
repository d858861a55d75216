"""Tests of the checker of words and sentences."""

from __future__ import annotations

import unittest
from collections import Counter

import check_voice
from _house import ROOT

SOURCE = '''
"""What a module has."""
# what the caller gets,
# and whatever it needs
def function(given, mend=1):
    """Return it."""
    found, kernel = given, {}
    kernel["found"] = "found"
    raise ValueError("what is this")
'''


class TestVoice(unittest.TestCase):
    def test_python(self) -> None:
        hits = [(line, rule, word) for line, rule, word in sorted(check_voice.hits_of_python(SOURCE))]
        self.assertEqual(
            hits,
            [
                (2, "opening", "What"),
                (2, "what", "What"),
                (3, "what", "what"),
                (4, "what", "whatever"),
                (5, "mend", "mend"),
                (5, "name", "given"),
                (7, "name", "found"),
                (9, "what", "what"),
            ],
        )

    def test_sentences(self) -> None:
        long = " ".join(["word"] * 31)
        for text, lines in (
            (f"{long}.", [1]),
            (f"One.\n\nTwo. {long}.", [3]),
            (f"{long[:70]}.\n{long[70:]}.", []),
            (f"| {long} |", []),
            (f"x : int\n    {long}", []),
            (f"```\n{long}\n```", []),
        ):
            with self.subTest(text=text[:20]):
                self.assertEqual([line for line, _, _ in check_voice.long_sentences(text, 1)], lines)

    def test_comments_of_c(self) -> None:
        text = 'int what;\n/* as ever,\n   what */ char *s = "x"; // mended'
        self.assertEqual([rule for _, rule, _ in sorted(check_voice.hits_of_c(text))], ["phrase", "mend", "what"])

    def test_counts_only_fall(self) -> None:
        before = check_voice.stored("a.py\tname=2\twhat=1\nb.py\twhat=3\n")
        self.assertEqual(check_voice.stored(check_voice.text_of(before)), before)
        now = {"a.py": Counter(name=1, what=2), "b.py": Counter(what=1), "c.py": Counter(mend=1)}
        self.assertEqual(
            check_voice.rises(now, before),
            ["a.py: 2 of rule `what`, 1 allowed", "c.py: 1 of rule `mend`, 0 allowed"],
        )
        self.assertEqual(check_voice.totals(now) - check_voice.totals(before), Counter(mend=1))

    def test_the_repository(self) -> None:
        counts = check_voice.stored(check_voice.COUNTS.read_text(encoding="utf-8"))
        self.assertEqual([name for name in counts if not (ROOT / name).is_file()], [])


if __name__ == "__main__":
    unittest.main()
