"use strict";
// The page: draws the graph, and lets the reader move, zoom, inspect, rename and unfold.

(function main() {
  const NS = "http://www.w3.org/2000/svg";
  const data = JSON.parse(document.getElementById("data").textContent);
  const view = document.getElementById("view"), tip = document.getElementById("tip"), menu = document.getElementById("menu");
  const open = new Set(), labels = new Map(), moved = new Map();
  const pencil = document.createElement("canvas").getContext("2d");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  // Room that the buttons and the legend take, in pixels.
  const BAR = 44, GAP = 16, MOST_OPENED = 60, FEW = 12;
  let graph, at, world, grouped = true, colourByTime = false, loose = false, scale = 1, shift = { x: 0, y: 0 }, running = 0;

  function element(name, attributes, parent) {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (parent) parent.appendChild(made);
    return made;
  }

  const labelOf = (shape) => labels.get(shape.id) ?? shape.node.label;
  const shown = (shape) => {
    const text = labelOf(shape).length > 48 ? labelOf(shape).slice(0, 46) + "\u2026" : labelOf(shape);
    return shape.node.times > 1 ? `${text}  \u00d7 ${shape.node.times}` : text;
  };
  const isGroup = (shape) => shape.node.kind === "group";
  const sizes = new Map();
  function sizeOf(id) {
    return sizes.get(id);
  }

  function widthOf(text, font) {
    pencil.font = font;
    return pencil.measureText(text).width;
  }

  function measure() {
    sizes.clear();
    for (const shape of graph.shapes) {
      const link = shape.node.kind === "link", sign = shape.node.inner === null && !isGroup(shape) ? 0 : 18;
      const text = Math.max(widthOf(shown(shape), "12px sans-serif"), isGroup(shape) ? widthOf(shape.node.note, "10px sans-serif") : 0);
      const wide = text + (shape.node.kind === "apply" ? 30 : 18);
      const height = link ? 20 : isGroup(shape) && shape.node.note ? 40 : 26;
      sizes.set(shape.id, { width: Math.max(34, wide + sign), height, round: shape.node.kind === "apply" });
    }
  }

  function arrange() {
    graph = linked(flatten(data.graphs, open, grouped));
    measure();
    at = place(graph, sizeOf);
    for (const [id, position] of moved) if (at.has(id)) at.set(id, { ...position });
  }

  const style = (name) => window.getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // The colour of a kind as #rrggbb, whatever it was written as.
  function plain(colour) {
    pencil.fillStyle = "#000";
    pencil.fillStyle = colour;
    return /^#[0-9a-f]{6}$/.test(pencil.fillStyle) ? pencil.fillStyle : "#888888";
  }

  const timed = (shape) => colourByTime && shape.node.time !== null && shape.node.time !== undefined;

  function longest() {
    return graph.shapes.reduce((most, shape) => Math.max(most, shape.node.time || 0), 0);
  }

  function fillOf(shape) {
    if (timed(shape)) return heat(shape.node.time / (longest() || 1));
    return soft(shape.node.fill);
  }

  // The colour of a kind, pale enough for text in the colour of the page's.
  function soft(fill) {
    return mix(plain(fill), style("--paper"), dark.matches ? 0.38 : 0.3);
  }

  function draw() {
    view.textContent = "";
    const defs = element("defs", {}, view);
    for (const colour of ["black", "blue", "red"]) {
      const fill = style("--" + colour);
      const marker = element("marker", { id: "tip-" + colour, viewBox: "0 0 10 10", refX: 10, refY: 5, markerWidth: 9,
        markerHeight: 9, orient: "auto-start-reverse", markerUnits: "userSpaceOnUse" }, defs);
      element("path", { d: "M0 0L10 5L0 10z", fill }, marker);
    }
    world = element("g", {}, view);
    // Outer boxes lie under inner ones.
    for (const box of [...graph.boxes].sort((a, b) => b.members.length - a.members.length)) drawBox(box);
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
    box.title.textContent = "\u2212 " + shown(box);
    box.title.addEventListener("click", () => toggle(box.id));
    dragging(box.group, () => box.members);
    hover(box.group, () => box.node.about);
  }

  function drawEdge(item) {
    const { edge } = item;
    item.path = element("path", { class: "edge" + (edge.dashed ? " dashed" : "") + (item.edges.length > 1 ? " many" : ""),
      stroke: style("--" + edge.colour), "marker-end": `url(#tip-${edge.colour})` }, world);
    hover(item.path, () => item.edges.length > 1 ? [["Edges", String(item.edges.length)]] : edge.about, () => item.path.classList.add("near"), () => item.path.classList.remove("near"));
  }

  function drawShape(shape) {
    const { width, height } = sizeOf(shape.id);
    const inner = shape.node.inner !== null || (isGroup(shape) && shape.of === undefined);
    const kind = isGroup(shape) ? " group" : shape.node.inner !== null ? " inner" : "";
    shape.group = element("g", { class: "shape" + kind }, world);
    if (shape.of !== undefined) shape.group.classList.add("link");
    if (shape.node.times > 1 && inner) {
      for (const back of [6, 3]) element("rect", { class: "back", x: back - width / 2, y: back - height / 2, width, height, rx: 7, fill: fillOf(shape), stroke: plain(shape.node.fill) }, shape.group);
    }
    const outline = shape.node.kind === "apply"
      ? element("ellipse", { class: "outline", rx: width / 2, ry: height / 2 }, shape.group)
      : element("rect", { class: "outline", x: -width / 2, y: -height / 2, width, height, rx: isGroup(shape) ? 7 : 3 }, shape.group);
    outline.setAttribute("fill", fillOf(shape));
    outline.setAttribute("stroke", mix(plain(shape.node.fill), style("--ink"), 0.6));
    const colour = ink(outline), noted = isGroup(shape) && shape.node.note && shape.of === undefined;
    element("text", { fill: colour, x: inner ? -8 : 0, y: noted ? -7 : 0 }, shape.group).textContent = shown(shape);
    if (noted) element("text", { class: "note", fill: colour, x: -8, y: 10 }, shape.group).textContent = shape.node.note;
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
      item.path.setAttribute("d", pathThrough(routed ? item.points : [a, b]));
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

  // The scale at which the whole graph is seen beside the legend and below the buttons, and the middle of that room.
  function room() {
    const { left, top, right, bottom } = bounds(graph.shapes.map((shape) => shape.id));
    const width = view.clientWidth || 800, height = view.clientHeight || 600;
    const legend = document.getElementById("legend");
    const wide = width > 900 && legend.open ? legend.offsetWidth + GAP : 0;
    const fitting = Math.min((width - wide - 2 * GAP) / (right - left + 1), (height - BAR - 2 * GAP) / (bottom - top + 1));
    return { fitting, x: (width + wide) / 2, y: (height + BAR) / 2, middle: { x: (left + right) / 2, y: (top + bottom) / 2 } };
  }

  function fit() {
    const { fitting, x, y, middle } = room();
    scale = Math.min(1.25, fitting);
    shift = { x: x - scale * middle.x, y: y - scale * middle.y };
    update();
  }

  // Opens groups, outer ones first, as long as the whole can still be seen with labels of full size.
  function openGroups() {
    for (const group of data.graphs[0].groups) {
      const id = group.id;
      // Inputs and results that are shown as one stay so, and so do repetitions: they tell more closed.
      if (!graph.shapes.some((shape) => shape.id === id) || group.times > 1 || !group.note) continue;
      const before = { graph, at }, least = graph.shapes.length < FEW ? 0.75 : 1;
      open.add(id);
      arrange();
      if (graph.shapes.length <= MOST_OPENED && room().fitting >= least) continue;
      open.delete(id);
      ({ graph, at } = before);
      measure();
    }
  }

  // What can be read: the whole graph where it is small, else its first outputs; the map shows the rest.
  function look() {
    draw();
    fit();
    if (scale >= 0.7) return;
    scale = 1;
    go((graph.shapes.find((shape) => shape.node.kind === "output") || graph.shapes[graph.shapes.length - 1]).id);
  }

  function begin() {
    arrange();
    openGroups();
    look();
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
      const { shapes } = flatten(data.graphs, open, grouped), closed = shapes.filter((shape) => shape.node.inner !== null);
      if (!closed.length || shapes.length > 2000) break;
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
    if (shape.node.inner !== null || isGroup(shape)) add("Unfold", () => toggle(shape.id));
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
    panels.showLegend(colourByTime ? longest() : null);
  });
  const groupButton = document.getElementById("groups");
  groupButton.hidden = !data.graphs.some((graph) => graph.groups.length);
  groupButton.addEventListener("click", () => {
    grouped = !grouped;
    groupButton.textContent = grouped ? "All nodes" : "Groups";
    arrange();
    look();
  });
  dark.addEventListener("change", () => {
    draw();
    panels.showLegend(colourByTime ? longest() : null);
  });

  // The graph as it is drawn now, with all that it takes from the style of the page.
  function picture() {
    const { left, top, right, bottom } = bounds(graph.shapes.map((shape) => shape.id)), edge = 40;
    const width = Math.ceil(right - left + 2 * edge), height = Math.ceil(bottom - top + 2 * edge);
    const copy = view.cloneNode(true);
    const names = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "paint-order", "font", "text-anchor", "dominant-baseline"];
    const drawn = view.querySelectorAll("*"), copies = copy.querySelectorAll("*");
    drawn.forEach((one, i) => {
      const computed = window.getComputedStyle(one);
      for (const name of names) copies[i].style.setProperty(name, computed.getPropertyValue(name));
    });
    copy.setAttribute("xmlns", NS);
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    copy.setAttribute("viewBox", `${left - edge} ${top - edge} ${width} ${height}`);
    copy.querySelector("g").removeAttribute("transform");
    const paper = element("rect", { x: left - edge, y: top - edge, width, height, fill: style("--paper") });
    copy.insertBefore(paper, copy.querySelector("g"));
    return { text: new XMLSerializer().serializeToString(copy), width, height };
  }

  function save(blob, ending) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${document.title || "graph"}.${ending}`;
    link.click();
    window.setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  document.getElementById("svg").addEventListener("click", () => save(new Blob([picture().text], { type: "image/svg+xml" }), "svg"));
  document.getElementById("png").addEventListener("click", () => {
    const { text, width, height } = picture(), image = new Image(), canvas = document.createElement("canvas");
    // Twice the size, for screens and paper, as far as canvases of browsers go.
    const sharp = Math.min(2, 16000 / Math.max(width, height));
    canvas.width = width * sharp;
    canvas.height = height * sharp;
    image.addEventListener("load", () => {
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(blob, "png"), "image/png");
    });
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
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
    soft,
    window: () => ({ x: -shift.x / scale, y: -shift.y / scale, width: view.clientWidth / scale, height: view.clientHeight / scale }),
    bounds: () => bounds(graph.shapes.map((shape) => shape.id)),
    go,
    lookAt(x, y) {
      shift = { x: view.clientWidth / 2 - scale * x, y: view.clientHeight / 2 - scale * y };
      update();
    },
  });
  begin();
  document.documentElement.dataset.ready = String(graph.shapes.length);
})();
