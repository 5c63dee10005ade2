// The kinds of charts: each takes the data of a Chart (chart_data.py) and a width, and returns SVG.
"use strict";
// Horizontal bars from zero, with whiskers for intervals.
function bars({rows, unit}, width) {
  const left = Math.min(width * 0.4, 260);
  const label = cuts(rows.map((r) => r.label), left / 8);
  const text = (r) => `${r.label}: ${shown[unit](r.value)}` +
    (r.low == null ? "" : `, 95 % interval ${shown[unit](r.low)} to ${shown[unit](r.high)}`);
  return Plot.plot(base(width, {
    marginLeft: left, marginRight: 70, height: rows.length * 26 + 50,
    x: {label: `${axis[unit]} →`, tickFormat: ticks[unit], ticks: Math.max(2, width / 160), zero: true, grid: true},
    y: {label: null, domain: rows.map((r) => r.label), tickFormat: label},
    marks: [
      Plot.barX(rows, {y: "label", x: "value", fill: MARK, ariaLabel: text, title: text, tip, insetTop: 3, insetBottom: 3}),
      Plot.ruleY(rows.filter((r) => r.low != null && r.low !== r.high), {y: "label", x1: "low", x2: "high", stroke: INK, strokeWidth: 2}),
      Plot.text(rows, {y: "label", x: (r) => r.high ?? r.value, text: (r) => shown[unit](r.value), textAnchor: "start", dx: 5, fill: INK}),
      Plot.ruleX([0], {stroke: INK}),
    ],
  }));
}

// Parts of a whole, one stacked bar per run.
function stacked({rows, unit}, width) {
  const parts = rows.flatMap((r) => r.parts.map(([part, value]) => ({label: r.label, part, value})));
  const names = [...d3.rollup(parts, (v) => d3.max(v, (p) => p.value), (p) => p.part)].sort((a, b) => b[1] - a[1]).map(([n]) => n);
  const kept = new Set(names.slice(0, names.length > 8 ? 7 : 8));
  for (const p of parts) p.name = kept.has(p.part) ? p.part : "others";
  const domain = [...kept, ...(names.length > 8 ? ["others"] : [])];
  const left = Math.min(width * 0.3, 160), label = cuts(rows.map((r) => r.label), left / 7.5);
  const text = (p) => `${p.label}, ${p.part}: ${shown[unit](p.value)}`;
  return Plot.plot(base(width, {
    marginLeft: left, height: rows.length * 34 + 60, color: ordinal(domain),
    x: {label: `${axis[unit]} →`, tickFormat: ticks[unit], ticks: Math.max(2, width / 160), grid: true},
    y: {label: null, domain: rows.map((r) => r.label), tickFormat: label},
    marks: [Plot.barX(parts, {y: "label", x: "value", fill: "name", order: domain, ariaLabel: text, title: text, tip, stroke: "var(--paper)"}), Plot.ruleX([0], {stroke: INK})],
  }));
}

// An inference operator by operator, and below by thread if known; a color per type of operator.
function timeline({spans, unit}, width) {
  let start = 0;
  const total = d3.sum(spans, (s) => s.cost);
  const laid = spans.map((s) => ({...s, start, end: (start += s.cost)}));
  const types = [...d3.rollup(laid, (v) => d3.sum(v, (s) => s.cost), (s) => s.type)].sort((a, b) => b[1] - a[1]).map(([t]) => t);
  const kept = new Set(types.slice(0, types.length > 8 ? 7 : 8));
  for (const s of laid) s.name = kept.has(s.type) ? s.type : "others";
  const lanes = d3.max(spans, (s) => s.threads.length);
  const shares = laid.flatMap((s) => s.threads.flatMap((span, i) => span ? [{...s, thread: i + 1, from: s.start + span[0], to: s.start + span[1]}] : []));
  const text = (s) => `${s.label}: ${shown[unit](s.cost)}, ${d3.format(".1%")(s.cost / total)} of the inference`;
  const threadText = (s) => `${s.label}, thread ${s.thread}: ${shown[unit](s.to - s.from)} of ${shown[unit](s.cost)}`;
  const wide = laid.filter((s) => (s.end - s.start) / total * width > 60);
  return Plot.plot(base(width, {
    height: 145 + 24 * lanes, marginLeft: lanes ? 70 : 20, marginRight: 20, color: ordinal([...kept, ...(types.length > 8 ? ["others"] : [])]),
    x: {label: `${axis[unit]} since the begin of the inference →`, tickFormat: ticks[unit], ticks: Math.max(2, width / 120), domain: [0, total]},
    y: {axis: null, domain: [-lanes * 0.35, 1]},
    marks: [
      Plot.rect(shares, {x1: "from", x2: "to", y1: (s) => -s.thread * 0.35, y2: (s) => 0.27 - s.thread * 0.35, fill: "name", ariaLabel: threadText, title: threadText, tip}),
      Plot.text(d3.range(1, lanes + 1), {frameAnchor: "left", y: (i) => 0.135 - i * 0.35, text: (i) => `thread ${i}`, textAnchor: "end", dx: -8, fill: INK}),
      Plot.rect(laid, {x1: "start", x2: "end", y1: 0, y2: 1, fill: "name", stroke: "var(--paper)", strokeWidth: 0.5, ariaLabel: text, title: text, tip}),
      Plot.text(wide, {x: (s) => (s.start + s.end) / 2, y: 0.5, text: (s) => within(s.label.split(" ").pop(), (s.end - s.start) / total * width), fill: "var(--paper)"}),
    ],
  }));
}

// A treemap of bytes: groups and their members.
function treemap({tree}, width) {
  const height = Math.min(480, width * 0.7);
  const root = d3.hierarchy(tree).sum((d) => d.value || 0).sort((a, b) => b.value - a.value);
  d3.treemap().size([width - 2, height - 2]).paddingInner(1).paddingTop(0).round(true)(root);
  const whole = root.value;
  const leaves = root.leaves().filter((d) => d.value);
  const groups = root.children.map((d) => d.data.name);
  const few = groups.length > 8 ? [...groups.slice(0, 7), "others"] : groups;
  const group = (d) => few.includes(d.ancestors().at(-2).data.name) ? d.ancestors().at(-2).data.name : "others";
  const text = (d) => `${d.ancestors().slice(0, -1).reverse().map((a) => a.data.name).join(" / ")}: ${bytes(d.value)}, ${d3.format(".1%")(d.value / whole)}`;
  const roomy = leaves.filter((d) => d.x1 - d.x0 > 46 && d.y1 - d.y0 > 18);
  const name = (d) => within(d.data.name, d.x1 - d.x0);
  return Plot.plot(base(width, {
    height, margin: 1, axis: null, color: ordinal(few),
    x: {domain: [0, width - 2]}, y: {domain: [height - 2, 0]},
    marks: [
      Plot.rect(leaves, {x1: "x0", x2: "x1", y1: "y0", y2: "y1", fill: group, ariaLabel: text, title: text, tip, inset: 0.5}),
      Plot.text(roomy, {x: (d) => d.x0 + 5, y: (d) => d.y0 + 10, text: name, textAnchor: "start", fill: "var(--paper)"}),
      Plot.text(roomy.filter((d) => d.y1 - d.y0 > 36 && d.x1 - d.x0 > 80), {x: (d) => d.x0 + 5, y: (d) => d.y0 + 25, text: (d) => bytes(d.value), textAnchor: "start", fill: "var(--paper)"}),
    ],
  }));
}

// The tensors in the arena at each operator.
function memory({held, operators, arena}, width) {
  const at = d3.range(operators.length).map((i) => ({i, sum: d3.sum(held, (h) => h.first <= i && i <= h.last ? h.bytes : 0)}));
  const rows = [];
  held.slice().sort((a, b) => b.bytes - a.bytes).forEach((h) => {
    for (let i = h.first; i <= Math.min(h.last, operators.length - 1); i++) rows.push({i, name: h.name, bytes: h.bytes, span: h});
  });
  const large = new Set(held.slice().sort((a, b) => b.bytes - a.bytes).slice(0, 200).map((h) => h.name));
  const drawn = rows.filter((r) => large.has(r.name));
  const text = (r) => `${r.name}: ${bytes(r.bytes)}, in use from operator ${r.span.first + 1} (${operators[r.span.first]}) to ${Math.min(r.span.last + 1, operators.length)}`;
  return Plot.plot(base(width, {
    height: 300, marginLeft: 70,
    x: {label: "operator, in the order they run →", ticks: Math.max(2, width / 100)},
    y: {label: "↑ bytes held", tickFormat: bytes, grid: true, zero: true},
    marks: [
      Plot.rectY(drawn, {x1: (r) => r.i + 0.5, x2: (r) => r.i + 1.5, y: "bytes", fill: (r) => COLORS[r.span.first % 7], stroke: "var(--paper)", strokeWidth: 0.3, title: text, ariaLabel: text, order: "name", tip}),
      Plot.line(at, {x: (d) => d.i + 1, y: "sum", curve: "step", stroke: INK}),
      ...(arena ? [Plot.ruleY([arena], {stroke: "var(--c1)", strokeDasharray: "5 3"}), Plot.text([arena], {y: arena, frameAnchor: "right", dy: -8, textAnchor: "end", text: () => `arena: ${bytes(arena)}`, fill: INK})] : []),
    ],
  }));
}

// The throughput of operators over their work per byte.
function roofline({ops, unit, gbPerS}, width) {
  const rate = (o) => unit === "ns" ? o.macs / o.cost : o.macs / o.cost;
  const dots = ops.map((o) => ({...o, x: o.macs / Math.max(1, o.moved), y: rate(o)}));
  const best = d3.max(dots, (d) => d.y);
  const y = unit === "ns" ? "↑ GMAC/s" : "↑ MACs per executed instruction";
  const text = (d) => `${d.label}: ${sized(d.macs)} MACs, ${d.x.toPrecision(3)} per byte, ${d.y.toPrecision(3)} ${unit === "ns" ? "GMAC/s" : "per instruction"}, ${shown[unit](d.cost)}`;
  const [x0, x1] = d3.extent(dots, (d) => d.x);
  const roof = unit === "ns" && gbPerS ? [x0 / 2, best / gbPerS, x1 * 2].filter((x, i) => i !== 1 || (x > x0 / 2 && x < x1 * 2)).map((x) => ({x, y: Math.min(best, x * gbPerS)})) : [];
  return Plot.plot(base(width, {
    height: 340, marginLeft: 60, grid: true,
    x: {type: "log", label: "multiply-accumulates per byte of tensors and weights →", tickFormat: "~s", ticks: Math.max(2, width / 150)},
    y: {type: "log", label: y, tickFormat: "~g", ticks: 5}, r: {range: [3, 16]},
    marks: [
      Plot.line(roof, {x: "x", y: "y", stroke: "var(--c1)", strokeWidth: 2}),
      Plot.ruleY([best], {stroke: INK, strokeDasharray: "4 3"}),
      Plot.dot(dots, {x: "x", y: "y", r: "cost", fill: MARK, fillOpacity: 0.55, stroke: MARK, ariaLabel: text, title: text, tip}),
    ],
  }));
}

// Latency of frames over time, and below it the device's clock and temperature.
function paced({spans, samples, period}, width) {
  const shown = spans.filter((s) => s.median_ns != null).map((s) => ({...s, at: (s.begin_s + s.end_s) / 2}));
  const text = (s) => `${s.begin_s.toFixed(1)} to ${s.end_s.toFixed(1)} s: median ${time(s.median_ns)}, maximum ${time(s.max_ns)}, ${s.missed} missed`;
  const x = {label: "seconds →", domain: [0, spans.at(-1).end_s], ticks: Math.max(2, width / 120)};
  const latency = Plot.plot(base(width, {
    height: 240, marginLeft: 75, grid: true, x,
    y: {label: "↑ from frame to result", tickFormat: time, ticks: 5, zero: true},
    marks: [
      Plot.areaY(shown, {x: "at", y1: "median_ns", y2: "max_ns", fill: MARK, fillOpacity: 0.25}),
      Plot.lineY(shown, {x: "at", y: "median_ns", stroke: MARK, strokeWidth: 2}),
      Plot.dot(shown, {x: "at", y: "median_ns", fill: MARK, ariaLabel: text, title: text, tip}),
      Plot.ruleY([period], {stroke: INK, strokeDasharray: "4 3"}),
    ],
  }));
  const below = [["mhz", "↑ MHz"], ["celsius", "↑ °C"]].filter(([key]) => samples.some((s) => s[key] != null)).map(([key, label]) => {
    const known = samples.filter((s) => s[key] != null);
    const said = (s) => `${s.at.toFixed(1)} s: ${s[key]} ${label.slice(2)}`;
    return Plot.plot(base(width, {
      height: 130, marginLeft: 75, grid: true, x, y: {label, ticks: 3, nice: true},
      marks: [Plot.lineY(known, {x: "at", y: key, stroke: MARK}), Plot.dot(known, {x: "at", y: key, r: 2, fill: MARK, ariaLabel: said, title: said, tip})],
    }));
  });
  const figure = document.createElement("div");
  figure.append(latency, ...below);
  return figure;
}

// A value of each operator over the depth of a network, with a ring around what a verdict is of.
function curve({points, names}, width) {
  const text = (d) => `${d.label}: ${d.y.toPrecision(3)}`;
  return Plot.plot(base(width, {
    height: 320, marginLeft: 75, marginRight: 30, grid: true,
    x: {label: `${names[0]} →`, nice: true},
    y: {label: `↑ ${names[1]}`, zero: true, tickFormat: (n) => +n.toPrecision(3), ticks: 6},
    marks: [
      Plot.line(points, {x: "x", y: "y", stroke: INK}),
      Plot.dot(points, {x: "x", y: "y", r: (d) => d.marked ? 6 : 3, fill: MARK, stroke: (d) => d.marked ? INK : "none", strokeWidth: 2, ariaLabel: text, title: text, tip}),
    ],
  }));
}

// Every sample of each launch.
function samples({series, unit}, width) {
  const rows = series.flatMap((s) => s.launches.flatMap((values, i) => values.map((value, j) => ({run: s.label, launch: i + 1, j, value}))));
  const many = series.length > 1;
  const text = (d) => `${many ? d.run + ", " : ""}launch ${d.launch}, run ${d.j + 1}: ${shown[unit](d.value)}`;
  const medians = d3.rollups(rows, (v) => d3.median(v, (d) => d.value), (d) => d.run, (d) => d.launch).flatMap(([run, v]) => v.map(([launch, value]) => ({run, launch, value})));
  return Plot.plot(base(width, {
    height: 280, marginLeft: 75, color: ordinal(series.map((s) => s.label)), grid: true,
    x: {label: "launch →", ticks: d3.min([width / 60, d3.max(rows, (d) => d.launch)]), tickFormat: "d", domain: [0.4, d3.max(rows, (d) => d.launch) + 0.6]},
    y: {label: `↑ ${axis[unit]} of an inference`, tickFormat: ticks[unit], ticks: 5},
    marks: [
      Plot.dot(rows, {x: (d) => d.launch + ((d.j * 0.618) % 1 - 0.5) * 0.5, y: "value", r: 2, fill: "run", fillOpacity: 0.5, symbol: "run", ariaLabel: text, title: text, tip}),
      Plot.tickY(medians, {x: "launch", y: "value", stroke: INK, strokeWidth: 2, inset: 0}),
    ].slice(0, 1).concat(Plot.ruleY(medians, {x1: (d) => d.launch - 0.35, x2: (d) => d.launch + 0.35, y: "value", stroke: INK, strokeWidth: 2})),
  }));
}

// The Pareto front: candidates that no other one beats in both directions.
function front(rows, x, y) {
  let best = Infinity;
  return rows.slice().sort((a, b) => x(a) - x(b) || y(a) - y(b)).filter((r) => y(r) < best && ((best = y(r)), true));
}

// Two costs of every candidate, less of both is better. The best ones have labels and a line; with
// `apart`, those of each series.
function plane({dots, names, formats, series, apart}, width) {
  const [fx, fy] = formats.map((f) => shown[f] || ((n) => +n.toPrecision(3) + f));
  const rivals = apart ? [...d3.group(dots, (d) => d.series).values()] : [dots];
  const best = rivals.flatMap((group) => front(group, (d) => d.x, (d) => d.y));
  const text = (d) => `${d.label}: ${fx(d.x)}, ${fy(d.y)}`;
  const kinds = series ? [...new Set(dots.map((d) => d.series))].slice(0, 8) : [];
  const [top, right] = [d3.max(dots, (d) => d.y), d3.max(dots, (d) => d.x)];
  // Labels stand beside the best ones, right of 45 % of the width on their left, without overlap.
  const named = [];
  for (const d of best) {
    const text = cut(d.name ?? d.label, 34);
    const wide = text.length * 7 * right / (width - 105);
    const [from, to] = d.x < right * 0.45 ? [d.x, d.x + wide] : [d.x - wide, d.x];
    const lies = (o) => Math.abs(o.y - d.y) < top * 0.055 && from < o.to && o.from < to;
    if (!named.some(lies)) named.push({...d, text, from, to});
  }
  return Plot.plot(base(width, {
    height: Math.max(280, Math.min(440, width * 0.6)), marginLeft: 75, marginRight: 30, grid: true,
    ...(kinds.length ? {color: {...ordinal(kinds), legend: false}, symbol: {domain: kinds, legend: true}} : {}),
    x: {label: `${names[0]} →`, tickFormat: fx, ticks: Math.max(2, width / 140), zero: true, nice: true},
    y: {label: `↑ ${names[1]}`, tickFormat: fy, ticks: 6, domain: [0, top * 1.08]},
    marks: [
      Plot.line(best, {x: "x", y: "y", z: apart ? "series" : null, curve: "step-after", stroke: INK, strokeDasharray: "4 3"}),
      ...["start", "end"].map((textAnchor) => Plot.text(
        named.filter((d) => (d.from === d.x) === (textAnchor === "start")),
        {x: "x", y: "y", text: "text", textAnchor, dy: -13, fill: INK, stroke: "var(--paper)", strokeWidth: 4, paintOrder: "stroke"},
      )),
      Plot.dot(dots, {x: "x", y: "y", r: (d) => d.marked || best.includes(d) ? 6 : 4, fill: kinds.length ? "series" : MARK, symbol: kinds.length ? "series" : "circle", fillOpacity: 0.8, stroke: (d) => d.marked ? INK : "none", strokeWidth: 2, ariaLabel: text, title: text, href: "href", tip}),
    ],
  }));
}
