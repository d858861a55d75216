"use strict";
// What is around the graph: search, legend, the map of the whole, and the neighbours of what is pointed at.

function makePanels(page) {
  const view = document.getElementById("view"), search = document.getElementById("search");
  const count = document.getElementById("count"), legend = document.getElementById("legend"), map = document.getElementById("map");
  let pinned = null, found = [], place = -1, frame, dots;

  // The shape, its neighbours and the edges between stay bright, the rest is dimmed.
  function near(shape) {
    const { shapes, edges } = page.graph();
    const asked = shape ? shape.id : pinned;
    // What was pinned may be unfolded, or folded away, meanwhile.
    const centre = shapes.some((other) => other.id === asked) ? asked : null;
    view.classList.toggle("dimmed", Boolean(centre));
    if (!centre) return;
    const bright = new Set([centre]);
    for (const other of shapes) if (other.of === centre || (shape && shape.of === other.id)) bright.add(other.id);
    for (const item of edges) {
      const touches = item.source === centre || item.target === centre;
      item.path.classList.toggle("bright", touches);
      if (touches) {
        bright.add(item.source);
        bright.add(item.target);
      }
    }
    for (const other of shapes) other.group.classList.toggle("bright", bright.has(other.id));
  }

  function pin(shape) {
    pinned = shape ? shape.id : null;
    near(null);
  }

  function look() {
    const wanted = search.value.trim().toLowerCase();
    const says = (shape) => page.label(shape).toLowerCase().includes(wanted)
      || shape.node.about.some(([name, text]) => name !== "Made at" && text.toLowerCase().includes(wanted));
    found = wanted ? page.graph().shapes.filter((shape) => shape.of === undefined && says(shape)) : [];
    place = -1;
    const ids = new Set(found.map((shape) => shape.id));
    for (const shape of page.graph().shapes) shape.group.classList.toggle("found", ids.has(shape.id));
    count.textContent = wanted ? `${found.length} found` : "";
  }

  function next(step) {
    if (!found.length) return;
    place = place < 0 && step < 0 ? found.length - 1 : (place + step + found.length) % found.length;
    count.textContent = `${place + 1} of ${found.length}`;
    page.go(found[place].id);
  }

  // What the colours stand for: kinds, or times where the longest of a shape is given.
  function showLegend(longest) {
    const rows = document.getElementById("kinds"), scale = [];
    rows.textContent = "";
    for (let i = 0; longest && i <= DECADES; i++) {
      const less = i === DECADES ? "at most " : "";
      scale.push([less + readableTime(longest * 10 ** -i), heat(10 ** -i), "round"]);
    }
    for (const [text, fill, form] of longest ? scale : page.data.legend) {
      const row = rows.insertRow(), mark = document.createElement("span");
      mark.className = "mark " + form;
      if (fill) mark.style.background = longest ? fill : page.soft(fill);
      row.insertCell().appendChild(mark);
      row.insertCell().textContent = text;
    }
    document.getElementById("colours").textContent = longest ? "Time of a node or group" : "Legend";
    legend.hidden = !page.data.legend.length;
  }

  function drawMap() {
    map.textContent = "";
    const { left, top, right, bottom } = page.bounds();
    map.setAttribute("viewBox", `${left} ${top} ${Math.max(right - left, 1)} ${Math.max(bottom - top, 1)}`);
    dots = new Map();
    const group = page.element("g", {}, map);
    for (const shape of page.graph().shapes) {
      if (shape.of !== undefined) continue;
      const { x, y } = page.at().get(shape.id), { width, height } = page.size(shape.id);
      const dot = page.element("rect", { x: x - width / 2, y: y - height / 2, width, height, fill: shape.node.fill, stroke: "#777", "vector-effect": "non-scaling-stroke" }, group);
      dots.set(shape.id, dot);
    }
    frame = page.element("rect", { class: "frame" }, map);
  }

  function moved() {
    if (!frame) return;
    for (const [id, dot] of dots) {
      const { x, y } = page.at().get(id), { width, height } = page.size(id);
      dot.setAttribute("x", x - width / 2);
      dot.setAttribute("y", y - height / 2);
    }
    for (const [key, value] of Object.entries(page.window())) frame.setAttribute(key, value);
    const { left, top, right, bottom } = page.bounds(), seen = page.window();
    map.style.display = seen.width > right - left && seen.height > bottom - top ? "none" : "block";
  }

  map.addEventListener("pointerdown", (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse());
    page.lookAt(at.x, at.y);
  });
  search.addEventListener("input", look);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") next(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") {
      search.value = "";
      look();
    }
  });
  window.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== search) {
      event.preventDefault();
      search.focus();
    }
  });
  showLegend(null);
  return {
    near,
    showLegend,
    pin,
    go: page.go,
    moved,
    redrawn() {
      drawMap();
      look();
      near(null);
    },
  };
}
