"use strict";
// The page: draws the graph, and lets the reader move, zoom, inspect, rename and unfold.

(function main() {
  const NS = "http://www.w3.org/2000/svg";
  const data = JSON.parse(document.getElementById("data").textContent);
  const view = document.getElementById("view"), tip = document.getElementById("tip"), menu = document.getElementById("menu");
  const open = new Set(), labels = new Map(), moved = new Map();
  let graph, at, world, colourByTime = false, scale = 1, shift = { x: 0, y: 0 }, running = 0;

  function element(name, attributes, parent) {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (parent) parent.appendChild(made);
    return made;
  }

  const labelOf = (shape) => labels.get(shape.id) ?? shape.node.label;
  const sizes = new Map();
  function sizeOf(id) {
    return sizes.get(id);
  }

  function measure() {
    sizes.clear();
    for (const shape of graph.shapes) {
      sizes.set(shape.id, { width: Math.max(40, labelOf(shape).length * 7 + 24), height: 32 });
    }
  }

  function arrange() {
    graph = flatten(data.graphs, open);
    measure();
    at = place(graph.shapes, graph.edges, sizeOf);
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
    update();
  }

  function drawBox(box) {
    box.group = element("g", { class: "box" }, world);
    box.outline = element("rect", { class: "outline", rx: 8 }, box.group);
    box.group.addEventListener("dblclick", () => toggle(box.id));
    dragging(box.group, () => box.members);
    hover(box.group, () => box.node.about);
  }

  function drawEdge(item) {
    const { edge } = item;
    item.path = element("path", { class: "edge" + (edge.dashed ? " dashed" : ""), stroke: edge.colour,
      "marker-end": `url(#tip-${edge.colour})` }, world);
    item.text = edge.label ? element("text", {}, world) : null;
    if (item.text) item.text.textContent = edge.label;
    hover(item.path, () => edge.about, () => item.path.classList.add("near"), () => item.path.classList.remove("near"));
  }

  function drawShape(shape) {
    const { width, height } = sizeOf(shape.id);
    const inner = shape.node.inner !== null;
    shape.group = element("g", { class: "shape" + (inner ? " inner" : "") }, world);
    const outline = shape.node.kind === "apply"
      ? element("ellipse", { class: "outline", rx: width / 2, ry: height / 2 }, shape.group)
      : element("rect", { class: "outline", x: -width / 2, y: -height / 2, width, height, rx: 3 }, shape.group);
    outline.setAttribute("fill", fillOf(shape));
    element("text", {}, shape.group).textContent = labelOf(shape);
    dragging(shape.group, () => [shape.id], (event) => showMenu(event, shape));
    hover(shape.group, () => shape.node.about);
    if (inner) shape.group.addEventListener("dblclick", () => toggle(shape.id));
  }

  function edgeEnd(from, to, id) {
    // Where the line between two middles leaves the rectangle of a shape.
    const { width, height } = sizeOf(id), dx = to.x - from.x, dy = to.y - from.y;
    const part = Math.min(width / 2 / (Math.abs(dx) || 1e-9), height / 2 / (Math.abs(dy) || 1e-9), 1);
    return { x: from.x + dx * part, y: from.y + dy * part };
  }

  function update() {
    world.setAttribute("transform", `translate(${shift.x} ${shift.y}) scale(${scale})`);
    for (const shape of graph.shapes) {
      const { x, y } = at.get(shape.id);
      shape.group.setAttribute("transform", `translate(${x} ${y})`);
    }
    for (const item of graph.edges) {
      const from = at.get(item.source), to = at.get(item.target);
      const a = edgeEnd(from, to, item.source), b = edgeEnd(to, from, item.target);
      item.path.setAttribute("d", `M${a.x} ${a.y}L${b.x} ${b.y}`);
      if (item.text) {
        item.text.setAttribute("x", (a.x + b.x) / 2 + 8);
        item.text.setAttribute("y", (a.y + b.y) / 2);
      }
    }
    for (const box of graph.boxes) {
      const { left, top, right, bottom } = bounds(box.members);
      for (const [key, value] of Object.entries({ x: left - 14, y: top - 14, width: right - left + 28, height: bottom - top + 28 })) {
        box.outline.setAttribute(key, value);
      }
    }
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

  function toggle(id) {
    stop();
    hideMenu();
    if (open.has(id)) open.delete(id);
    else open.add(id);
    arrange();
    draw();
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

  arrange();
  draw();
  fit();
})();
