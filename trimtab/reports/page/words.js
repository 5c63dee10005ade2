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
const cut = (text, n) => text.length > n ? text.slice(0, n - 1) + "…" : text;

const tip = {fill: "var(--paper)", stroke: FRAME, lineWidth: 40};
const base = (width, more) => ({
  width, marginBottom: 45, style: {background: "transparent", color: INK, fontSize: "12px", overflow: "visible"}, ...more,
});
const ordinal = (domain) => ({domain, range: domain.map((_, i) => COLORS[i % COLORS.length]), legend: true});
