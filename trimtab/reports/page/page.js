// Draws the charts of a page: each <section class="chart"> names its kind, and #data holds the
// data as JSON. Observable Plot draws SVG, with the colors of page.css.
"use strict";
const draw = {bars, stacked, timeline, treemap, memory, roofline, samples, paced, curve, plane, graph};

// Arrow keys move between the marks of a chart, and announce each label.
function steer(section, output) {
  const marks = [...section.querySelectorAll("svg [aria-label]")].filter((m) => /^(rect|path|circle|a)$/.test(m.tagName) && /\d/.test(m.getAttribute("aria-label")));
  let at = -1;
  section.onkeydown = (event) => {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    const end = {Home: 0, End: marks.length - 1}[event.key];
    if ((step == null && end == null) || !marks.length || /^(INPUT|SELECT)$/.test(event.target.tagName)) return;
    event.preventDefault();
    marks[at]?.classList.remove("current");
    at = end ?? (at < 0 ? (step > 0 ? 0 : marks.length - 1) : (at + step + marks.length) % marks.length);
    marks[at].classList.add("current");
    output.textContent = marks[at].getAttribute("aria-label");
  };
}

function show(section, chart) {
  const place = section.querySelector(".plot");
  const width = Math.max(300, Math.min(1080, place.clientWidth));
  const drawn = draw[chart.kind](chart.data, width);
  for (const svg of drawn.tagName === "svg" ? [drawn] : drawn.querySelectorAll("svg")) svg.setAttribute("aria-label", chart.title);
  place.replaceChildren(drawn);
  steer(section, section.querySelector("output"));
  section.dataset.drawn = "yes";
}

const charts = JSON.parse(document.getElementById("data").textContent);
const sections = [...document.querySelectorAll(".chart")];
const redraw = () => sections.forEach((section, i) => {
  if (section.redraw) section.redraw();
  else if (charts[i].kind === "cells") cells(section, charts[i]);
  else show(section, charts[i]);
});
redraw();
performance.mark("drawn");
let waiting, width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(redraw, 150);
});
