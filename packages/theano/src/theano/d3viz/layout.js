"use strict";
// Which shapes of a graph are visible, and where they go. No function here touches the page.

// The graph with the nodes in `open` replaced by the graphs inside them. A shape of an inner graph has the path of its
// node as a prefix; `boxes` are the open nodes and groups with the shapes that they hold. Shapes in groups that are not
// open are shown as one; `grouped` false takes no notice of groups.
function flatten(graphs, open, grouped) {
  const shapes = [], edges = [], boxes = [], insides = new Map();
  function add(index, prefix) {
    const graph = graphs[index], inner = new Map(), held = [], direct = [];
    const groups = new Map((grouped ? graph.groups : []).map((group) => [group.id, { node: group, id: prefix + group.id, members: [], own: [] }]));
    const around = (node) => {
      const chain = [];
      for (let group = groups.get(node.group); group; group = groups.get(group.node.group)) chain.push(group);
      return chain;
    };
    // What stands for a node: itself, or the outermost closed group around it.
    const shownAs = new Map(), seen = new Set();
    insides.set(prefix, shownAs);
    function hold(node, id, members) {
      const chain = around(node);
      for (const group of chain) group.members.push(...members);
      (chain.length ? chain[0].own : direct).push(id);
      held.push(...members);
    }
    for (const node of graph.nodes) {
      const closed = around(node).findLast((group) => !open.has(group.id));
      const id = prefix + node.id;
      shownAs.set(node.id, closed ? closed.id : id);
      if (closed) {
        if (!seen.has(closed.id)) {
          seen.add(closed.id);
          shapes.push({ id: closed.id, node: closed.node });
          hold(closed.node, closed.id, [closed.id]);
        }
      } else if (node.inner !== null && open.has(id)) {
        const members = add(node.inner, id + "/");
        inner.set(node.id, { index: node.inner, prefix: id + "/" });
        boxes.push({ id, node, members, own: members.own });
        hold(node, id, members);
      } else {
        shapes.push({ id, node });
        hold(node, id, [id]);
      }
    }
    for (const group of groups.values()) {
      if (!open.has(group.id) || !group.members.length) continue;
      boxes.push(group);
      const outer = groups.get(group.node.group);
      (outer ? outer.own : direct).push(group.id);
    }
    const merged = new Map();
    for (const edge of graph.edges) {
      const from = inner.get(edge.source), to = inner.get(edge.target);
      const source = from ? port(from, "outputs", edge.output) : shownAs.get(edge.source);
      const target = to ? port(to, "inputs", edge.input) : shownAs.get(edge.target);
      if (source === null || target === null || (source === target && seen.has(source))) continue;
      // Edges between the same two shapes are one where groups hide the ends.
      const key = seen.has(source) || seen.has(target) ? `${source}>${target}>${edge.dashed}` : null;
      const other = merged.get(key);
      if (other) other.edges.push(edge);
      else {
        const item = { source, target, edge, edges: [edge] };
        edges.push(item);
        if (key) merged.set(key, item);
      }
    }
    held.own = direct; // shapes and open nodes right in this graph
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
    return insides.get(place.prefix).get(id);
  }
  add(0, "");
  return withoutBareConstants({ shapes, edges, boxes });
}

// Constants that only closed groups read tell nothing: they are told with the group.
function withoutBareConstants({ shapes, edges, boxes }) {
  const kinds = new Map(shapes.map((shape) => [shape.id, shape.node.kind])), read = new Set(), bare = new Set();
  for (const { source, target } of edges) {
    if (kinds.get(source) === "constant") (kinds.get(target) === "group" ? bare : read).add(source);
  }
  for (const id of read) bare.delete(id);
  const keep = (id) => !bare.has(id);
  for (const box of boxes) {
    box.members = box.members.filter(keep);
    box.own = box.own.filter(keep);
  }
  return { shapes: shapes.filter((shape) => keep(shape.id)), edges: edges.filter((item) => keep(item.source)), boxes };
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

// In large graphs what lies further apart than this, and what is used a second time without being computed, is joined
// by links, small shapes that name the other end: long edges hide what is near, and laying them out takes most of the
// time.
const MANY = 120, FAR = 10, LEAVES = new Set(["input", "shared", "constant"]);

// Adds links to a graph: its far edges and those of updates, which would go back up, end at them.
function linked(graph) {
  const layer = layersOf(graph.shapes, graph.edges), large = graph.shapes.length > MANY;
  const byId = new Map(graph.shapes.map((shape) => [shape.id, shape])), links = new Map();
  const edges = [], shapes = [...graph.shapes];
  function link(of, at, side) {
    const id = `~${of}~${at}~${side}`;
    if (!links.has(id)) {
      const { node } = byId.get(of);
      links.set(id, { id, of, beside: at, side, node: { ...node, kind: "link", inner: null, time: null } });
      shapes.push(links.get(id));
    }
    return id;
  }
  const used = new Set();
  for (const item of graph.edges) {
    const { source, target, edge } = item;
    const again = LEAVES.has(byId.get(source).node.kind) && used.has(source);
    used.add(source);
    const far = edge.dashed || (large && (again || layer.get(target) - layer.get(source) > FAR));
    if (!far) edges.push(item);
    else if (edge.dashed) edges.push({ ...item, target: link(target, source, "to") });
    else edges.push({ ...item, source: link(source, target, "from") });
  }
  return { ...graph, shapes, edges };
}

// Positions of the middles of all shapes, by dagre; each edge gets `points`, by which it goes around the shapes.
function place(graph, size) {
  const made = new dagre.graphlib.Graph({ multigraph: true, compound: graph.boxes.length > 0 });
  made.setGraph({ ranker: "tight-tree", nodesep: 22, edgesep: 10, ranksep: graph.shapes.length > MANY ? 44 : 30, marginx: 20, marginy: 20 });
  made.setDefaultEdgeLabel(() => ({}));
  const rooms = new Map();
  for (const shape of graph.shapes) if (shape.of === undefined) rooms.set(shape.id, { from: [], to: [] });
  for (const shape of graph.shapes) if (shape.of !== undefined) rooms.get(shape.beside)[shape.side].push(shape.id);
  for (const [id, room] of rooms) made.setNode(id, roomOf(id, room, size));
  for (const box of graph.boxes) {
    if (!box.members.length) continue;
    made.setNode(box.id, {});
    for (const id of box.own) made.setParent(id, box.id);
  }
  const isLink = (item) => !rooms.has(item.source) || !rooms.has(item.target);
  graph.edges.forEach((item, i) => {
    if (isLink(item)) return;
    made.setEdge(item.source, item.target, {}, String(i));
  });
  dagre.layout(made, { disableOptimalOrderHeuristic: graph.shapes.length > MANY });
  const at = new Map();
  for (const [id, room] of rooms) settle(id, room, made.node(id), size, at);
  graph.edges.forEach((item, i) => {
    if (isLink(item)) {
      item.points = [cut(at.get(item.source), at.get(item.target), size(item.source)), cut(at.get(item.target), at.get(item.source), size(item.target))];
      const [a, b] = item.points;
      item.middle = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 - 7 };
      return;
    }
    const { points, x, y } = made.edge(item.source, item.target, String(i));
    item.points = points;
    const last = item.points.length - 1;
    item.points[0] = port(at.get(item.source), item.points[1], size(item.source), 1);
    item.points[last] = port(at.get(item.target), item.points[last - 1], size(item.target), -1);
    item.middle = { x: x ?? (points[0].x + points[points.length - 1].x) / 2, y: y ?? points[points.length >> 1].y };
  });
  return at;
}

// How much room a shape takes with the links beside it.
function roomOf(id, room, size) {
  const { width, height } = size(id);
  room.left = Math.max(0, ...room.from.map((link) => size(link).width + 30));
  room.right = Math.max(0, ...room.to.map((link) => size(link).width + 30));
  return { width: width + room.left + room.right, height: Math.max(height, 26 * room.from.length, 26 * room.to.length) };
}

// Puts a shape into its room, and its links in columns at its sides.
function settle(id, room, place, size, at) {
  const left = place.x - (size(id).width + room.left + room.right) / 2;
  at.set(id, { x: left + room.left + size(id).width / 2, y: place.y });
  // Links end at the same distance from the shape, so that their edges meet no other link.
  const { x } = at.get(id), half = size(id).width / 2 + 30;
  const column = (links, sign) => links.forEach((link, i) => {
    at.set(link, { x: x + sign * (half + size(link).width / 2), y: place.y + 26 * (i - (links.length - 1) / 2) });
  });
  column(room.from, -1);
  column(room.to, 1);
}

// Where an edge to a point begins at the lower side of a shape (`side` 1), or ends at the upper one (-1): what lies
// between two rows meets no other shape of a row.
function port(middle, point, { width, height, round }, side) {
  const dx = Math.max(-0.3 * width, Math.min(0.3 * width, (point.x - middle.x) * 0.25));
  const part = round ? Math.sqrt(1 - (dx / (width / 2)) ** 2) : 1;
  return { x: middle.x + dx, y: middle.y + (side * height * part) / 2 };
}

// Where the line from the middle of a shape to a point leaves the rectangle of the shape.
function cut(middle, point, { width, height }) {
  const dx = point.x - middle.x, dy = point.y - middle.y;
  const part = Math.min(width / 2 / (Math.abs(dx) || 1e-9), height / 2 / (Math.abs(dy) || 1e-9), 1);
  return { x: middle.x + dx * part, y: middle.y + dy * part };
}

// A path along points whose corners are round.
function pathThrough(points) {
  const towards = (from, to) => {
    const length = Math.hypot(to.x - from.x, to.y - from.y) || 1, part = Math.min(18 / length, 0.5);
    return `${from.x + (to.x - from.x) * part} ${from.y + (to.y - from.y) * part}`;
  };
  const last = points.length - 1;
  let text = `M${points[0].x} ${points[0].y}`;
  for (let i = 1; i < last; i++) {
    const here = points[i];
    text += `L${towards(here, points[i - 1])}Q${here.x} ${here.y} ${towards(here, points[i + 1])}`;
  }
  return text + `L${points[last].x} ${points[last].y}`;
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

// Times are told apart by their logarithms: what takes less than this share of the longest looks alike.
const DECADES = 4;

// From pale yellow to dark red as `share` goes from 10 ** -DECADES to 1.
function heat(share) {
  const part = Math.min(Math.max(1 + Math.log10(Math.max(share, 1e-30)) / DECADES, 0), 1);
  const stops = [[255, 250, 220], [254, 204, 92], [253, 141, 60], [227, 26, 28], [110, 0, 30]];
  const at = part * (stops.length - 1), i = Math.min(Math.floor(at), stops.length - 2);
  return `rgb(${stops[i].map((low, k) => Math.round(low + (at - i) * (stops[i + 1][k] - low))).join(", ")})`;
}

// A time in the unit that suits it.
function readableTime(seconds) {
  for (const [unit, scale] of [["s", 1], ["ms", 1e-3], ["\u00b5s", 1e-6], ["ns", 1e-9]]) {
    if (seconds >= 0.9995 * scale) return `${Number((seconds / scale).toPrecision(3))} ${unit}`;
  }
  return "0 s";
}

// A colour mixed into another, both as #rrggbb.
function mix(colour, paper, share) {
  const parts = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
  const under = parts(paper);
  return `rgb(${parts(colour).map((part, i) => Math.round(share * part + (1 - share) * under[i])).join(", ")})`;
}
