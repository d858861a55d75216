"""Pages that the library writes, opened in Chromium: their state after their scripts have run."""

from __future__ import annotations

import itertools
import json
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import theano
import theano.tensor as T
from theano.d3viz import d3viz

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from find_chromium import find

BROWSER = find() or "chromium"
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,900", "--virtual-time-budget=60000"]
#: Writes where everything is into the page, for the test to read.
REPORT = """
const world = document.querySelector("#view > g");
const report = {
  shapes: [...world.querySelectorAll(".shape")].map((g) => {
    const box = g.querySelector(".outline").getBBox();
    const [x, y] = g.getAttribute("transform").match(/[(](.*)[)]/)[1].split(" ").map(Number);
    return { label: g.querySelector("text").textContent, x: x + box.x, y: y + box.y, width: box.width,
      height: box.height, ink: g.querySelector("text").getAttribute("fill"), classes: [...g.classList] };
  }),
  edges: [...world.querySelectorAll(".edge")].map((path) => {
    const length = path.getTotalLength(), points = [];
    for (let i = 0; i <= 60; i++) { const p = path.getPointAtLength((length * i) / 60); points.push([p.x, p.y]); }
    return { points, classes: [...path.classList] };
  }),
  boxes: world.querySelectorAll(".box").length,
  dimmed: document.getElementById("view").classList.contains("dimmed"),
  legend: [...document.querySelectorAll("#kinds tr")].map((row) => row.textContent),
  count: document.getElementById("count").textContent,
  scale: world.getCTM().a,
};
const out = document.createElement("script");
out.type = "application/json";
out.id = "report";
out.textContent = JSON.stringify(report).replace(/</g, "\\\\u003c");
document.body.appendChild(out);
"""


def layers(count: int) -> Any:
    """Return a function that trains a network of some layers."""
    x = T.dmatrix("x")
    h, parameters = x, []
    for i in range(count):
        parameters += [theano.shared(np.zeros((5, 5)), f"w{i}"), theano.shared(np.zeros(5), f"b{i}")]
        h = T.tanh(T.dot(h, parameters[-2]) + parameters[-1])
    gradients = T.grad(h.sum(), parameters)
    return theano.function([x], h.sum(), updates=[(p, p - 0.1 * g) for p, g in zip(parameters, gradients, strict=True)])


def nested() -> Any:
    """Return a function with graphs inside of nodes."""
    x, s = T.dvector("x"), T.dscalar("s")
    rows, _ = theano.scan(lambda a, b: T.tanh(a + b), sequences=[x], outputs_info=[s])
    return theano.function([x, s], rows.sum() + theano.OpFromGraph([s], [T.exp(s) * 2])(s))


@unittest.skipUnless(find(), "no Chromium was found (CHROMIUM may name it)")
class InBrowser(unittest.TestCase):
    folder: ClassVar[Path]

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)

    def run_browser(self, page: Path, *options: str) -> str:
        command = [BROWSER, *OPTIONS, f"--user-data-dir={self.folder / 'profile'}", *options, page.as_uri()]
        return subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout

    def opened(self, shown: Any, actions: str = "") -> dict[str, Any]:
        """Open the page of a graph, act there, and return the visible texts."""
        page = self.folder / "graph.html"
        d3viz(shown, page)
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace("</body>", f"<script>{{{actions}\n{REPORT}}}</script></body>"), encoding="utf-8")
        report_text = re.search(
            r'<script type="application/json" id="report">(.*?)</script>', self.run_browser(page, "--dump-dom")
        )
        assert report_text is not None, "the scripts of the page have run to their end"
        report: dict[str, Any] = json.loads(report_text[1])
        return report


def crossings(report: dict[str, Any]) -> int:
    """Return how many edges go through shapes that they do not end at."""
    count = 0
    for edge in report["edges"]:
        ends = (edge["points"][0], edge["points"][-1])
        for shape in report["shapes"]:
            left, top = shape["x"] + 3, shape["y"] + 3
            right, bottom = left + shape["width"] - 6, top + shape["height"] - 6
            touched = any(left - 6 <= x <= right + 6 and top - 6 <= y <= bottom + 6 for x, y in ends)
            count += not touched and any(left < x < right and top < y < bottom for x, y in edge["points"])
    return count


class TestGraphs(InBrowser):
    def test_a_small_graph_is_laid_out(self) -> None:
        report = self.opened(layers(2))
        self.assertEqual(crossings(report), 0)
        self.assertTrue(all(shape["ink"] in ("#000", "#fff") for shape in report["shapes"]))
        self.assertTrue(all(shape["ink"] == "#000" for shape in report["shapes"] if "Gemm" in shape["label"]))
        self.assertIn("shared variable", report["legend"])
        self.assertIn("becomes the new value of", report["legend"])

    def test_the_first_look_at_a_large_graph(self) -> None:
        for count in (10, 30):
            report = self.opened(layers(count))
            labels = [shape["label"] for shape in report["shapes"]]
            self.assertLessEqual(len(labels), 60)
            # Labels have at least 12 pixels, and the whole is in the window.
            self.assertGreaterEqual(report["scale"], 1)
            ends = [(shape["x"] + shape["width"], shape["y"] + shape["height"]) for shape in report["shapes"]]
            self.assertLess(max(x for x, _ in ends) - min(shape["x"] for shape in report["shapes"]), 1400)
            self.assertLess(max(y for _, y in ends) - min(shape["y"] for shape in report["shapes"]), 900)
            self.assertTrue(
                any(re.search(rf"tanh.*\u00d7 ({count}|{count - 1}|{count - 2})$", text) for text in labels), labels
            )
            self.assertTrue(any(text.startswith(f"{2 * count} shared variables: w0, b0") for text in labels), labels)

    def test_groups_are_opened_and_closed(self) -> None:
        find = "const g = [...document.querySelectorAll('.shape.group')].find((s) => s.textContent.includes('tanh'));"
        closed = self.opened(layers(10))
        opened = self.opened(layers(10), f"{find} g.dispatchEvent(new MouseEvent('dblclick', {{bubbles: true}}));")
        self.assertEqual(opened["boxes"], closed["boxes"] + 1)
        self.assertTrue(any(shape["label"].endswith(" more") for shape in opened["shapes"]))

    def test_pictures_are_saved(self) -> None:
        report = self.opened(
            layers(2),
            "URL.createObjectURL = (blob) => { window.saved = blob; return '#'; };"
            "Blob = class extends Blob { constructor(parts, kind) { super(parts, kind); this.parts = parts; } };"
            "document.getElementById('svg').click();"
            "document.getElementById('count').textContent = window.saved.parts[0].slice(0, 4) + window.saved.type;",
        )
        self.assertEqual(report["count"], "<svgimage/svg+xml")

    def test_times_have_a_scale_of_their_own(self) -> None:
        x = T.dmatrix("x")
        f = theano.function([x], T.exp(T.dot(x, x)).sum(), profile=True)
        f(np.ones((300, 300)))
        legend = self.opened(f, "document.getElementById('heat').click();")["legend"]
        self.assertEqual(len(legend), 5)
        self.assertRegex(legend[0], r"^[\d.]+ (s|ms|\u00b5s)$")
        self.assertRegex(legend[-1], "^at most ")

    def test_all_nodes_of_a_large_graph_can_be_read(self) -> None:
        report = self.opened(layers(30), "document.getElementById('groups').click();")
        self.assertGreater(len(report["shapes"]), 500)
        self.assertLess(crossings(report), 0.01 * len(report["edges"]))
        rows = [(shape["x"], shape["y"], shape["width"], shape["height"]) for shape in report["shapes"]]
        apart = sorted(rows, key=lambda row: (round(row[1] + row[3] / 2), row[0]))
        together = sum(
            round(a[1] + a[3] / 2) == round(b[1] + b[3] / 2) and a[0] + a[2] > b[0] + 1
            for a, b in itertools.pairwise(apart)
        )
        self.assertEqual(together, 0)

    def test_graphs_inside_are_unfolded(self) -> None:
        folded = self.opened(nested())
        self.assertEqual((folded["boxes"], sum("inner" in s["classes"] for s in folded["shapes"])), (0, 2))
        unfolded = self.opened(nested(), "document.getElementById('unfold').click();")
        self.assertEqual(unfolded["boxes"], 2)
        self.assertGreater(len(unfolded["shapes"]), len(folded["shapes"]))
        click = "document.querySelector('.sign').dispatchEvent(new MouseEvent('click', {bubbles: true}));"
        self.assertEqual(self.opened(nested(), click)["boxes"], 1)

    def test_what_is_pinned_can_be_unfolded(self) -> None:
        at = "{bubbles: true, button: 0, clientX: 9, clientY: 9, pointerId: 1}"
        pin = "const g = document.querySelector('.shape.inner');" + "".join(
            f"g.dispatchEvent(new PointerEvent('{name}', {at}));" for name in ("pointerdown", "pointerup")
        )
        pinned = self.opened(nested(), pin)
        self.assertEqual((pinned["boxes"], pinned["dimmed"]), (0, True))
        unfolded = self.opened(nested(), f"{pin} g.dispatchEvent(new MouseEvent('dblclick', {{bubbles: true}}));")
        self.assertEqual((unfolded["boxes"], unfolded["dimmed"]), (1, False))

    def test_search(self) -> None:
        report = self.opened(
            layers(2),
            "const s = document.getElementById('search'); s.value = 'gemm'; s.dispatchEvent(new Event('input'));",
        )
        labels = [shape["label"] for shape in report["shapes"] if "found" in shape["classes"]]
        self.assertEqual(report["count"], f"{len(labels)} found")
        self.assertEqual(sum(label.startswith("Gemm") for label in labels), 2)
        self.assertLess(len(labels), len(report["shapes"]) / 2)

    def test_neighbours(self) -> None:
        report = self.opened(
            layers(2),
            "const g = [...document.querySelectorAll('.shape')].find((s) => s.textContent.startsWith('Gemm'));"
            "g.dispatchEvent(new PointerEvent('pointerenter'));",
        )
        bright = [shape["label"] for shape in report["shapes"] if "bright" in shape["classes"]]
        self.assertTrue(report["dimmed"])
        self.assertTrue({"1.0", "-0.1"} <= set(bright))
        self.assertLess(len(bright), len(report["shapes"]) / 2)
        self.assertEqual(sum("bright" in edge["classes"] for edge in report["edges"]), 6)

    def test_picture(self) -> None:
        page, picture = self.folder / "small.html", self.folder / "small.png"
        d3viz(layers(1), page)
        self.run_browser(page, f"--screenshot={picture}")
        data = picture.read_bytes()
        self.assertEqual(struct.unpack(">II", data[16:24]), (1400, 900))
        self.assertGreater(len(data), 10_000)


class TestProfiles(InBrowser):
    def test_parts_of_the_flame_graph_are_widened(self) -> None:
        x = T.dmatrix("x")
        f = theano.function([x], T.exp(T.dot(x, x)).sum(), mode="FAST_COMPILE", profile=True)
        f(np.ones((300, 300)))
        page = self.folder / "profile.html"
        text = f.profile.summary_html()
        click = "<script>parts[1].click(); document.title = parts[1].style.width + ' ' + parts[1].style.left;</script>"
        page.write_text(text.replace("</body>", f"{click}</body>"), encoding="utf-8")
        self.assertIn("<title>100% 0%</title>", self.run_browser(page, "--dump-dom"))
        page.write_text(text, encoding="utf-8")
        self.run_browser(page, f"--screenshot={self.folder / 'profile.png'}")
        self.assertGreater((self.folder / "profile.png").stat().st_size, 10_000)
