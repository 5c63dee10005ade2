// The network as a graph: operators are squares in the order of data flow, from left to right, and
// row by row. A stronger color is a larger share of the cost.
"use strict";
const SHARES = [
  [0.005, "under 0.5 %"], [0.02, "0.5 to 2 %"], [0.05, "2 to 5 %"], [0.1, "5 to 10 %"], [Infinity, "over 10 %"],
];
const STRENGTHS = [0, 25, 50, 75, 100].map((c) => `color-mix(in srgb, var(--c1) ${c}%, var(--faint))`);
const STEP = 14;  // pixels from operator to operator

// Assigns each operator a column, right of its inputs, and the first free lane in it.
function layered(operators) {
  const occupied = [];
  const placed = [];
  for (const {reads} of operators) {
    const column = reads.length ? 1 + Math.max(...reads.map((i) => placed[i].column)) : 0;
    const lanes = (occupied[column] ??= new Set());
    let lane = reads.length ? Math.min(...reads.map((i) => placed[i].lane)) : 0;
    while (lanes.has(lane)) lane++;
    lanes.add(lane);
    placed.push({column, lane});
  }
  return placed;
}

// Wraps columns into rows of `columns`; returns each operator's position in pixels.
function wrapped(placed, columns) {
  const row = (p) => Math.floor(p.column / columns);
  const lanes = d3.rollup(placed, (v) => 1 + d3.max(v, (p) => p.lane), row);
  const tops = [0];
  for (let r = 0; r < lanes.size; r++) tops.push(tops[r] + (lanes.get(r) + 1) * STEP);
  const at = placed.map((p) => ({row: row(p), x: (p.column % columns + 0.5) * STEP, y: tops[row(p)] + (p.lane + 1) * STEP}));
  return {at, height: tops.at(-1) + STEP};
}

// Edges as polylines. An edge that passes other operators runs below them; an edge to another row
// leaves on the right and returns on the left.
function edges(operators, placed, at, right) {
  const lines = [];
  const add = (...points) => lines.push(...points.map(([x, y]) => ({x, y, edge: lines.length})));
  operators.forEach(({reads}, to) => reads.forEach((from) => {
    const a = at[from], b = at[to];
    const passes = placed[to].column - placed[from].column > 1;
    if (a.row !== b.row) {
      add([a.x, a.y], [right, a.y]);
      add([0, b.y], [b.x, b.y]);
    } else if (passes) {
      const below = Math.max(a.y, b.y) + STEP * 0.9;
      add([a.x, a.y], [a.x + STEP, below], [b.x - STEP, below], [b.x, b.y]);
    } else {
      add([a.x, a.y], [b.x, b.y]);
    }
  }));
  return lines;
}

function graph({graphs}, width) {
  const names = SHARES.map(([, name]) => name);
  const figure = document.createElement("div");
  graphs.forEach(({title, operators}, i) => {
    const placed = layered(operators);
    const columns = Math.max(1, Math.floor((width - 8) / STEP));
    const {at, height} = wrapped(placed, columns);
    const right = Math.min(columns, 1 + d3.max(placed, (p) => p.column)) * STEP;
    const nodes = operators.map((o, j) => ({...o, ...at[j], share: SHARES.find(([limit]) => o.share < limit)[1]}));
    const lines = edges(operators, placed, at, right);
    const half = STEP * 0.36;
    const heading = document.createElement("h3");
    heading.textContent = title;
    figure.append(heading, Plot.plot(base(width, {
      height, margin: 0, axis: null, x: {domain: [0, width], range: [0, width]}, y: {domain: [0, height], range: [0, height]},
      color: {domain: names, range: STRENGTHS, legend: i === 0},
      marks: [
        Plot.line(lines, {x: "x", y: "y", z: "edge", curve: "basis", stroke: INK, strokeOpacity: 0.45, strokeWidth: 1}),
        Plot.rect(nodes, {
          x1: (d) => d.x - half, x2: (d) => d.x + half, y1: (d) => d.y - half, y2: (d) => d.y + half, fill: "share",
          stroke: INK, strokeWidth: 0.6, rx: 2, ariaLabel: "text", title: "text", tip,
        }),
      ],
    })));
  });
  return figure;
}
