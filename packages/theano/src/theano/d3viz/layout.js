"use strict";
// Which shapes of a graph are visible, and where they go. No function here touches the page.

// The graph with the nodes in `open` replaced by the graphs inside them. A shape of an inner graph has the path of its
// node as a prefix; `boxes` are the open nodes with the shapes that they hold.
function flatten(graphs, open) {
  const shapes = [], edges = [], boxes = [];
  function add(index, prefix) {
    const graph = graphs[index], inner = new Map(), held = [];
    for (const node of graph.nodes) {
      const id = prefix + node.id;
      if (node.inner !== null && open.has(id)) {
        const members = add(node.inner, id + "/");
        inner.set(node.id, { index: node.inner, prefix: id + "/" });
        boxes.push({ id, node, members });
        held.push(...members);
      } else {
        shapes.push({ id, node });
        held.push(id);
      }
    }
    for (const edge of graph.edges) {
      const from = inner.get(edge.source), to = inner.get(edge.target);
      const source = from ? port(from, "outputs", edge.output) : prefix + edge.source;
      const target = to ? port(to, "inputs", edge.input) : prefix + edge.target;
      if (source !== null && target !== null) edges.push({ source, target, edge });
    }
    return held;
  }
  // The shape of an inner graph that stands for an input or output of its node; it may itself lie in an open node.
  function port(place, side, position) {
    const graph = graphs[place.index], id = graph[side][position || 0] ?? null;
    if (id === null) return null;
    const node = graph.nodes.find((candidate) => candidate.id === id);
    const path = place.prefix + id;
    if (node.inner !== null && open.has(path)) {
      return port({ index: node.inner, prefix: path + "/" }, side, 0);
    }
    return path;
  }
  add(0, "");
  return { shapes, edges, boxes };
}

// The layer of each shape: one more than the highest layer of what points at it.
function layersOf(shapes, edges) {
  const waiting = new Map(), next = new Map(), layer = new Map();
  for (const shape of shapes) {
    waiting.set(shape.id, 0);
    next.set(shape.id, []);
    layer.set(shape.id, 0);
  }
  for (const { source, target, edge } of edges) {
    if (edge.dashed) continue;
    waiting.set(target, waiting.get(target) + 1);
    next.get(source).push(target);
  }
  const ready = shapes.filter((shape) => waiting.get(shape.id) === 0).map((shape) => shape.id);
  for (let i = 0; i < ready.length; i++) {
    for (const target of next.get(ready[i])) {
      layer.set(target, Math.max(layer.get(target), layer.get(ready[i]) + 1));
      waiting.set(target, waiting.get(target) - 1);
      if (waiting.get(target) === 0) ready.push(target);
    }
  }
  // Inputs stand right above their first use.
  const made = new Set(edges.filter((item) => !item.edge.dashed).map((item) => item.target));
  for (const shape of shapes) {
    const first = next.get(shape.id).reduce((least, target) => Math.min(least, layer.get(target)), Infinity);
    if (!made.has(shape.id) && first < Infinity) layer.set(shape.id, first - 1);
  }
  return layer;
}

// Positions of the middles of all shapes. Rows are layers; within a row the order follows that of the neighbours.
function place(shapes, edges, size) {
  const layer = layersOf(shapes, edges), rows = [], at = new Map(), near = new Map();
  for (const shape of shapes) {
    const row = layer.get(shape.id);
    (rows[row] = rows[row] || []).push(shape.id);
    near.set(shape.id, { up: [], down: [] });
  }
  for (const { source, target } of edges) {
    near.get(target).up.push(source);
    near.get(source).down.push(target);
  }
  const spread = (row) => {
    let x = 0;
    for (const id of row) {
      x += size(id).width / 2;
      at.set(id, { x, y: 0 });
      x += size(id).width / 2 + 24;
    }
    for (const id of row) at.get(id).x -= x / 2;
  };
  const present = rows.map((row) => row || []);
  present.forEach(spread);
  for (let round = 0; round < 8; round++) {
    const side = round % 2 ? "down" : "up";
    for (const row of round % 2 ? [...present].reverse() : present) {
      const wish = new Map(row.map((id) => {
        const others = near.get(id)[side];
        const sum = others.reduce((total, other) => total + at.get(other).x, 0);
        return [id, others.length ? sum / others.length : at.get(id).x];
      }));
      row.sort((a, b) => wish.get(a) - wish.get(b));
      spread(row);
    }
  }
  present.forEach((row, i) => row.forEach((id) => { at.get(id).y = i * 80; }));
  return at;
}

// One step of an arrangement by forces: edges pull, near shapes push. Moves the positions of `at`, returns the motion.
function relax(ids, edges, at, cooling) {
  const force = new Map(ids.map((id) => [id, { x: 0, y: 0 }]));
  const cell = 160, cells = new Map();
  for (const id of ids) {
    const key = Math.floor(at.get(id).x / cell) + ":" + Math.floor(at.get(id).y / cell);
    if (!cells.has(key)) cells.set(key, []);
    cells.get(key).push(id);
  }
  for (const id of ids) {
    const here = at.get(id), column = Math.floor(here.x / cell), row = Math.floor(here.y / cell);
    for (let i = -1; i <= 1; i++) {
      for (let j = -1; j <= 1; j++) {
        for (const other of cells.get(column + i + ":" + (row + j)) || []) {
          if (other === id) continue;
          const dx = here.x - at.get(other).x || 0.1, dy = here.y - at.get(other).y || 0.1;
          const push = 4000 / (dx * dx + dy * dy + 40);
          force.get(id).x += dx * push * 0.1;
          force.get(id).y += dy * push * 0.1;
        }
      }
    }
  }
  for (const { source, target } of edges) {
    const dx = at.get(target).x - at.get(source).x, dy = at.get(target).y - at.get(source).y - 80;
    force.get(source).x += dx * 0.05;
    force.get(source).y += dy * 0.05;
    force.get(target).x -= dx * 0.05;
    force.get(target).y -= dy * 0.05;
  }
  let motion = 0;
  for (const id of ids) {
    const { x, y } = force.get(id), length = Math.hypot(x, y), step = Math.min(length, 30) * cooling;
    if (!length) continue;
    at.get(id).x += (x / length) * step;
    at.get(id).y += (y / length) * step;
    motion = Math.max(motion, step);
  }
  return motion;
}

// From white to red as `share` goes from 0 to 1.
function heat(share) {
  const rest = Math.round(255 * (1 - Math.min(Math.max(share, 0), 1)));
  return `rgb(255, ${rest}, ${rest})`;
}
