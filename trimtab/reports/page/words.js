// Shared by all charts: numbers with units, colors and frames. The scripts of a page share one
// global scope.
"use strict";
const INK = "currentColor", FRAME = "var(--faint)", MARK = "var(--mark)";
const COLORS = d3.range(8).map((i) => `var(--c${i})`);

const sized = d3.format(".3~s");
const bytes = (n) => n < 1e4 ? `${n} B` : n < 1e6 ? `${+(n / 1e3).toPrecision(4)} kB` : `${+(n / 1e6).toPrecision(4)} MB`;
const times = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const time = (ns) => {
  const [factor, unit] = times.find(([f]) => ns >= f) || times[3];
  return `${+(ns / factor).toPrecision(4)} ${unit}`;
};
const count = (n) => n < 1e5 ? d3.format(",")(Math.round(n)) : sized(n).replace("G", " G").replace(/([Mk])$/, " $1");
const shown = {ns: time, bytes, instructions: count};
const ticks = {ns: time, bytes: (n) => bytes(n), instructions: (n) => sized(n)};
const axis = {ns: "time", bytes: "bytes", instructions: "executed instructions"};
// Names of operators begin and end alike: a long one loses its middle.
const cut = (text, n) => {
  const tail = Math.floor((n - 1) / 2), head = Math.max(1, Math.ceil(n - 1 - tail));
  return text.length > n ? `${text.slice(0, head)}…${tail > 0 ? text.slice(-tail) : ""}` : text;
};
// Labels of `n` characters that differ where the texts differ, as a function of a text.
// A name within a box of this many pixels, with an edge on both sides.
const within = (text, pixels) => cut(text, Math.floor((pixels - 10) / 8));
const cuts = (texts, n) => {
  const cutTexts = new Map();
  for (const group of d3.group(new Set(texts), (t) => cut(t, n)).values()) {
    const first = group[0], at = group.length > 1 ? d3.range(first.length).find((i) => group.some((t) => t[i] !== first[i])) : 0;
    const begin = Math.ceil(n / 4);
    for (const t of group) cutTexts.set(t, group.length > 1 ? `${t.slice(0, begin)}…${cut(t.slice(at ?? first.length), n - begin - 1)}` : cut(t, n));
  }
  return (text) => cutTexts.get(text);
};

const tip = {fill: "var(--paper)", stroke: FRAME, lineWidth: 40};
const base = (width, more) => ({
  width, marginBottom: 45, style: {background: "transparent", color: INK, fontSize: "12px", overflow: "visible"}, ...more,
});
const ordinal = (domain) => ({domain, range: domain.map((_, i) => COLORS[i % COLORS.length]), legend: true});
