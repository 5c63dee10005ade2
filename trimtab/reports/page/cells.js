// Measured configurations: selections, and the smallest and fastest one within a limit.
"use strict";
function cells(section, chart) {
  const {rows, facts, names} = chart.data;
  const form = section.querySelector("form");
  const chosen = {};
  // The address stores the selection, for sharing and for reloads.
  const stored = new URLSearchParams(location.hash.slice(1));
  const store = () => {
    const now = new URLSearchParams(Object.entries(chosen));
    if (limit.value) now.set("limit", limit.value);
    history.replaceState(null, "", `#${now}`);
  };
  const limit = Object.assign(document.createElement("input"), {type: "number", min: 0, step: "any"});
  const answer = document.createElement("p");
  answer.className = "answer";
  answer.setAttribute("role", "status");
  const options = facts.filter((f) => new Set(rows.map((r) => r[f])).size > 1);
  for (const fact of options) {
    const select = document.createElement("select");
    const values = [...d3.rollup(rows, (v) => v.length, (r) => r[fact])].sort((a, b) => b[1] - a[1] || d3.ascending(a[0], b[0])).map(([v]) => v);
    // Configurations of different devices are not comparable; networks are ranked separately.
    const choices = {model: [...values, "all"], device: values}[fact] ?? ["all", ...values];
    for (const value of choices) select.add(new Option(value, value));
    if ([...select.options].some((o) => o.value === stored.get(fact))) select.value = stored.get(fact);
    chosen[fact] = select.value;
    select.onchange = () => { chosen[fact] = select.value; store(); update(); };
    const label = document.createElement("label");
    label.append(fact, select);
    form.append(label);
  }
  const label = document.createElement("label");
  const unitText = document.createElement("span");
  label.append(unitText, limit);
  form.append(label);
  limit.value = stored.get("limit") ?? "";
  limit.oninput = () => { store(); update(); };
  section.querySelector(".plot").before(answer);
  function update() {
    const these = rows.filter((r) => options.every((f) => chosen[f] === "all" || chosen[f] === undefined || r[f] === chosen[f]));
    const unit = these[0]?.unit ?? "ns";
    unitText.textContent = unit === "ns" ? "at most, ms" : "at most, million instructions";
    const same = these.filter((r) => r.unit === unit);
    const fit = same.filter((r) => !limit.value || r.cost <= limit.value * 1e6);
    const apart = chosen.model === "all";
    const differing = options.filter((f) => new Set(same.map((r) => r[f])).size > 1);
    const listed = (r, facts) => facts.map((f) => r[f]).filter((v) => v !== "default").join(", ");
    const named = (r) => listed(r, differing) || r.run;
    const described = (r) => `${listed(r, differing) || r.model} (${bytes(r.bytes)}, ${shown[unit](r.cost)}${unit === "ns" ? "" : " " + unit}, run ${r.run})`;
    const best = (all) => {
      const group = all.filter((r) => !r.flaw);
      const left = all.length - group.length;
      const inaccurate = left ? ` ${left} ${left === 1 ? "is" : "are"} inaccurate and left out: ${all.find((r) => r.flaw).flaw}.` : "";
      if (!group.length) return `None keeps its accuracy.${inaccurate}`;
      const smallest = d3.least(group, (a, b) => a.bytes - b.bytes || a.cost - b.cost);
      const fastest = d3.least(group, (a, b) => a.cost - b.cost || a.bytes - b.bytes);
      return (smallest === fastest ? `Smallest and fastest: ${described(smallest)}.` : `Smallest: ${described(smallest)}. Fastest: ${described(fastest)}.`) + inaccurate;
    };
    const groups = apart ? [...d3.group(fit, (r) => r.model).values()] : fit.length ? [fit] : [];
    const counted = `${fit.length} of ${same.length} configurations${limit.value ? " are within the limit" : ""}.`;
    answer.textContent = groups.length ? [...groups.map(best), counted].join(apart ? "\n" : " ") : "No configuration is within the limit.";
    const series = apart ? "model" : differing.find((f) => new Set(same.map((r) => r[f])).size <= 8);
    if (fit.length < 2) { section.querySelector(".plot").replaceChildren(); return; }  // the answer has it
    show(section, {kind: "plane", title: chart.title, data: {
      dots: fit.map((r) => ({x: r.bytes, y: r.cost, label: `${listed(r, differing) || r.model}, run ${r.run}`, name: apart ? listed(r, differing.filter((f) => f !== "model")) : named(r), series: series && r[series], href: r.href})),
      names: ["bytes shipped, binary and model", names[unit]], formats: ["bytes", unit], series, apart}});
  }
  section.redraw = update;
  update();
}
