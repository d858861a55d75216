"use strict";
// The page: draws the graph, and lets the reader move, zoom, inspect, rename and unfold.

(function main() {
  const NS = "http://www.w3.org/2000/svg";
  const data = JSON.parse(document.getElementById("data").textContent);
  const view = document.getElementById("view"), tip = document.getElementById("tip"), menu = document.getElementById("menu");
  const open = new Set(), labels = new Map(), moved = new Map();
  const pencil = document.createElement("canvas").getContext("2d");
  pencil.font = "12px sans-serif";
  let graph, at, world, colourByTime = false, loose = false, scale = 1, shift = { x: 0, y: 0 }, running = 0;

  function element(name, attributes, parent) {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (parent) parent.appendChild(made);
    return made;
  }

  const labelOf = (shape) => labels.get(shape.id) ?? shape.node.label;
  const shown = (shape) => (labelOf(shape).length > 48 ? labelOf(shape).slice(0, 46) + "\u2026" : labelOf(shape));
  const sizes = new Map();
  function sizeOf(id) {
    return sizes.get(id);
  }

  function measure() {
    sizes.clear();
    for (const shape of graph.shapes) {
      const wide = pencil.measureText(shown(shape)).width + (shape.node.kind === "apply" ? 36 : 20);
      const link = shape.node.kind === "link", sign = shape.node.inner === null ? 0 : 18;
      sizes.set(shape.id, { width: Math.max(40, wide + sign), height: link ? 20 : 32, round: shape.node.kind === "apply" });
    }
  }

  function arrange() {
    graph = linked(flatten(data.graphs, open));
    measure();
    at = place(graph, sizeOf);
    for (const [id, position] of moved) if (at.has(id)) at.set(id, { ...position });
  }

  function fillOf(shape) {
    const { time, fill } = shape.node;
    return colourByTime && time !== null ? heat(data.longest ? time / data.longest : 0) : fill;
  }

  function draw() {
    view.textContent = "";
    const defs = element("defs", {}, view);
    for (const colour of ["black", "blue", "red"]) {
      const marker = element("marker", { id: "tip-" + colour, viewBox: "0 0 10 10", refX: 10, refY: 5, markerWidth: 7,
        markerHeight: 7, orient: "auto-start-reverse" }, defs);
      element("path", { d: "M0 0L10 5L0 10z", fill: colour }, marker);
    }
    world = element("g", {}, view);
    for (const box of graph.boxes) drawBox(box);
    for (const edge of graph.edges) drawEdge(edge);
    for (const shape of graph.shapes) drawShape(shape);
    panels.redrawn();
    update();
  }

  // Black on what is light, white on what is dark.
  function ink(outline) {
    const parts = window.getComputedStyle(outline).fill.match(/[\d.]+/g) || [255, 255, 255];
    const [r, g, b] = parts.map((part) => (part / 255) ** 2.2);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000" : "#fff";
  }

  function drawBox(box) {
    box.group = element("g", { class: "box" }, world);
    box.outline = element("rect", { class: "outline", rx: 8 }, box.group);
    box.group.addEventListener("dblclick", () => toggle(box.id));
    box.title = element("text", { class: "title" }, box.group);
    box.title.textContent = "\u2212 " + box.node.label;
    box.title.addEventListener("click", () => toggle(box.id));
    dragging(box.group, () => box.members);
    hover(box.group, () => box.node.about);
  }

  function drawEdge(item) {
    const { edge } = item;
    item.path = element("path", { class: "edge" + (edge.dashed ? " dashed" : ""), stroke: edge.colour,
      "marker-end": `url(#tip-${edge.colour})` }, world);
    item.text = edge.label && !edge.dashed ? element("text", {}, world) : null;
    if (item.text) item.text.textContent = edge.label;
    hover(item.path, () => edge.about, () => item.path.classList.add("near"), () => item.path.classList.remove("near"));
  }

  function drawShape(shape) {
    const { width, height } = sizeOf(shape.id);
    const inner = shape.node.inner !== null;
    shape.group = element("g", { class: "shape" + (inner ? " inner" : "") }, world);
    if (shape.of !== undefined) shape.group.classList.add("link");
    const outline = shape.node.kind === "apply"
      ? element("ellipse", { class: "outline", rx: width / 2, ry: height / 2 }, shape.group)
      : element("rect", { class: "outline", x: -width / 2, y: -height / 2, width, height, rx: 3 }, shape.group);
    outline.setAttribute("fill", fillOf(shape));
    const colour = ink(outline);
    element("text", { fill: colour, x: inner ? -8 : 0 }, shape.group).textContent = shown(shape);
    dragging(shape.group, () => [shape.id], (event) => {
      panels.pin(shape);
      if (shape.of !== undefined) panels.go(shape.of);
      else showMenu(event, shape);
    });
    hover(shape.group, () => shape.node.about, () => panels.near(shape), () => panels.near(null));
    if (inner) {
      shape.group.addEventListener("dblclick", () => toggle(shape.id));
      const sign = element("text", { class: "sign", x: width / 2 - 16, fill: colour }, shape.group);
      sign.textContent = "\u229e";
      sign.addEventListener("pointerdown", (event) => event.stopPropagation());
      sign.addEventListener("click", () => toggle(shape.id));
    }
  }

  function update() {
    world.setAttribute("transform", `translate(${shift.x} ${shift.y}) scale(${scale})`);
    for (const shape of graph.shapes) {
      const { x, y } = at.get(shape.id);
      shape.group.setAttribute("transform", `translate(${x} ${y})`);
    }
    for (const item of graph.edges) {
      const from = at.get(item.source), to = at.get(item.target);
      // Where a shape has been moved, the edge goes straight there.
      const routed = !loose && !moved.has(item.source) && !moved.has(item.target);
      const a = cut(from, to, sizeOf(item.source)), b = cut(to, from, sizeOf(item.target));
      const middle = routed ? item.middle : { x: (a.x + b.x) / 2 + 8, y: (a.y + b.y) / 2 };
      item.path.setAttribute("d", pathThrough(routed ? item.points : [a, b]));
      if (item.text) {
        item.text.setAttribute("x", middle.x);
        item.text.setAttribute("y", middle.y);
      }
    }
    for (const box of graph.boxes) {
      const { left, top, right, bottom } = bounds(box.members);
      for (const [key, value] of Object.entries({ x: left - 14, y: top - 34, width: right - left + 28, height: bottom - top + 48 })) {
        box.outline.setAttribute(key, value);
      }
      box.title.setAttribute("x", (left + right) / 2);
      box.title.setAttribute("y", top - 24);
    }
    panels.moved();
  }

  function bounds(ids) {
    let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity;
    for (const id of ids) {
      const { x, y } = at.get(id), { width, height } = sizeOf(id);
      left = Math.min(left, x - width / 2);
      right = Math.max(right, x + width / 2);
      top = Math.min(top, y - height / 2);
      bottom = Math.max(bottom, y + height / 2);
    }
    return ids.length ? { left, top, right, bottom } : { left: 0, top: 0, right: 0, bottom: 0 };
  }

  function fit() {
    const { left, top, right, bottom } = bounds(graph.shapes.map((shape) => shape.id));
    const width = view.clientWidth || 800, height = view.clientHeight || 600;
    scale = Math.min(1.5, width / (right - left + 80), height / (bottom - top + 120));
    shift = { x: width / 2 - (scale * (left + right)) / 2, y: height / 2 - (scale * (top + bottom)) / 2 + 16 };
    update();
  }

  // What can be read: the whole graph where it is small, else its first outputs; the map shows the rest.
  function begin() {
    fit();
    if (scale > 0.6) return;
    scale = 0.8;
    go((graph.shapes.find((shape) => shape.node.kind === "output") || graph.shapes[graph.shapes.length - 1]).id);
  }

  function go(id) {
    const { x, y } = at.get(id);
    scale = Math.max(scale, 0.7);
    shift = { x: (view.clientWidth || 800) / 2 - scale * x, y: (view.clientHeight || 600) / 2 - scale * y };
    update();
  }

  function toggle(id) {
    stop();
    hideMenu();
    if (open.has(id)) open.delete(id);
    else open.add(id);
    arrange();
    draw();
    if (at.has(id)) go(id);
  }

  // Every graph inside, level by level; in large graphs only those of the present level.
  function unfoldAll() {
    for (let level = 0; level < 6; level++) {
      const closed = flatten(data.graphs, open).shapes.filter((shape) => shape.node.inner !== null);
      if (!closed.length || flatten(data.graphs, open).shapes.length > 2000) break;
      for (const shape of closed) open.add(shape.id);
    }
    arrange();
    draw();
    fit();
  }

  // Moves `ids()` with the pointer; a press without motion calls `click`.
  function dragging(target, ids, click) {
    target.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.stopPropagation();
      stop();
      hideMenu();
      follow(event, (dx, dy) => {
        for (const id of ids()) {
          const position = at.get(id);
          position.x += dx / scale;
          position.y += dy / scale;
          moved.set(id, { ...position });
        }
        update();
      }, click);
    });
  }

  function follow(start, move, click) {
    let last = start, far = false;
    const onMove = (event) => {
      far = far || Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) > 3;
      if (!far) return;
      tip.hidden = true;
      move(event.clientX - last.clientX, event.clientY - last.clientY);
      last = event;
    };
    const onUp = (event) => {
      window.removeEventListener("pointermove", onMove);
      window.removeEventListener("pointerup", onUp);
      if (!far && click) click(event);
    };
    window.addEventListener("pointermove", onMove);
    window.addEventListener("pointerup", onUp);
  }

  function hover(target, about, enter, leave) {
    target.addEventListener("pointerenter", (event) => {
      if (enter) enter();
      if (event.buttons) return;
      tip.textContent = "";
      const table = document.createElement("table");
      for (const [name, value] of about()) {
        const row = table.insertRow(), head = document.createElement("th");
        head.textContent = name;
        row.appendChild(head);
        row.insertCell().textContent = value;
      }
      tip.appendChild(table);
      tip.hidden = false;
      moveTip(event);
    });
    target.addEventListener("pointermove", moveTip);
    target.addEventListener("pointerleave", () => {
      tip.hidden = true;
      if (leave) leave();
    });
  }

  function moveTip(event) {
    tip.style.left = Math.min(event.clientX + 14, Math.max(window.innerWidth - tip.offsetWidth - 8, 0)) + "px";
    tip.style.top = Math.min(event.clientY + 14, Math.max(window.innerHeight - tip.offsetHeight - 8, 0)) + "px";
  }

  function showMenu(event, shape) {
    menu.textContent = "";
    const add = (text, action) => {
      const item = document.createElement("div");
      item.textContent = text;
      item.addEventListener("click", () => {
        hideMenu();
        action();
      });
      menu.appendChild(item);
    };
    add("Edit", () => {
      const text = window.prompt("Label", labelOf(shape));
      if (text === null) return;
      labels.set(shape.id, text);
      measure();
      draw();
    });
    if (shape.node.inner !== null) add("Unfold", () => toggle(shape.id));
    menu.style.left = event.clientX + "px";
    menu.style.top = event.clientY + "px";
    menu.hidden = false;
    tip.hidden = true;
  }

  function hideMenu() {
    menu.hidden = true;
  }

  function stop() {
    if (running) window.cancelAnimationFrame(running);
    running = 0;
  }

  function release() {
    stop();
    loose = true;
    const ids = graph.shapes.map((shape) => shape.id);
    let cooling = 1;
    const step = () => {
      cooling *= 0.985;
      const motion = relax(ids, graph.edges, at, cooling);
      update();
      running = motion > 0.3 ? window.requestAnimationFrame(step) : 0;
    };
    running = window.requestAnimationFrame(step);
  }

  view.addEventListener("pointerdown", (event) => {
    hideMenu();
    panels.pin(null);
    follow(event, (dx, dy) => {
      shift = { x: shift.x + dx, y: shift.y + dy };
      update();
    });
  });
  view.addEventListener("wheel", (event) => {
    event.preventDefault();
    const factor = Math.exp(-event.deltaY * 0.0015), next = Math.min(Math.max(scale * factor, 0.02), 8);
    shift = { x: event.clientX - ((event.clientX - shift.x) * next) / scale, y: event.clientY - ((event.clientY - shift.y) * next) / scale };
    scale = next;
    update();
  }, { passive: false });
  document.getElementById("reset").addEventListener("click", () => {
    stop();
    moved.clear();
    loose = false;
    arrange();
    draw();
    fit();
  });
  document.getElementById("release").addEventListener("click", release);
  document.getElementById("fit").addEventListener("click", fit);
  const heatButton = document.getElementById("heat");
  heatButton.hidden = data.longest === null;
  heatButton.addEventListener("click", () => {
    colourByTime = !colourByTime;
    draw();
  });

  document.getElementById("unfold").addEventListener("click", unfoldAll);
  document.getElementById("fold").addEventListener("click", () => {
    open.clear();
    arrange();
    draw();
    fit();
  });
  const nested = data.graphs.length > 1;
  for (const id of ["unfold", "fold"]) document.getElementById(id).hidden = !nested;

  const panels = makePanels({
    data,
    element,
    graph: () => graph,
    at: () => at,
    size: sizeOf,
    label: labelOf,
    window: () => ({ x: -shift.x / scale, y: -shift.y / scale, width: view.clientWidth / scale, height: view.clientHeight / scale }),
    bounds: () => bounds(graph.shapes.map((shape) => shape.id)),
    go,
    lookAt(x, y) {
      shift = { x: view.clientWidth / 2 - scale * x, y: view.clientHeight / 2 - scale * y };
      update();
    },
  });
  arrange();
  draw();
  begin();
  document.documentElement.dataset.ready = String(graph.shapes.length);
})();
