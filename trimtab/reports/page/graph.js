// The network as a graph: an operator is a square, from left to right as data flow, in as many rows
// as it takes. The stronger its color, the larger its share of the cost.
"use strict";
const SHARES = [
  [0.005, "under 0.5 %"], [0.02, "0.5 to 2 %"], [0.05, "2 to 5 %"], [0.1, "5 to 10 %"], [Infinity, "over 10 %"],
];
const STRENGTHS = [0, 25, 50, 75, 100].map((c) => `color-mix(in srgb, var(--c1) ${c}%, var(--faint))`);
const STEP = 14;  // pixels from operator to operator

// Gives each operator its column and its lane: behind what it reads, beside what is there already.
function layered(operators) {
  const taken = [];
  const placed = [];
  for (const {reads} of operators) {
    const column = reads.length ? 1 + Math.max(...reads.map((i) => placed[i].column)) : 0;
    const lanes = (taken[column] ??= new Set());
    let lane = reads.length ? Math.min(...reads.map((i) => placed[i].lane)) : 0;
    while (lanes.has(lane)) lane++;
    lanes.add(lane);
    placed.push({column, lane});
  }
  return placed;
}

// Breaks columns into rows of `columns`; where each operator lies, in pixels.
function broken(placed, columns) {
  const row = (p) => Math.floor(p.column / columns);
  const lanes = d3.rollup(placed, (v) => 1 + d3.max(v, (p) => p.lane), row);
  const tops = [0];
  for (let r = 0; r < lanes.size; r++) tops.push(tops[r] + (lanes.get(r) + 1) * STEP);
  const at = placed.map((p) => ({row: row(p), x: (p.column % columns + 0.5) * STEP, y: tops[row(p)] + (p.lane + 1) * STEP}));
  return {at, height: tops.at(-1) + STEP};
}

// Lines between operators, as points: one that passes others goes below them; one to another row
// leaves at the right and comes back at the left.
function edges(operators, placed, at, right) {
  const found = [];
  const add = (...points) => found.push(...points.map(([x, y]) => ({x, y, edge: found.length})));
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
  return found;
}

function graph({graphs}, width) {
  const names = SHARES.map(([, name]) => name);
  const figure = document.createElement("div");
  graphs.forEach(({title, operators}, i) => {
    const placed = layered(operators);
    const columns = Math.max(1, Math.floor((width - 8) / STEP));
    const {at, height} = broken(placed, columns);
    const right = Math.min(columns, 1 + d3.max(placed, (p) => p.column)) * STEP;
    const nodes = operators.map((o, j) => ({...o, ...at[j], share: SHARES.find(([most]) => o.share < most)[1]}));
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
          stroke: INK, strokeWidth: 0.6, rx: 2, ariaLabel: "said", title: "said", tip,
        }),
      ],
    })));
  });
  return figure;
}
