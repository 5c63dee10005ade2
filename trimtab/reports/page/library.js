// What the charts use of Observable Plot and d3: docs/dependencies.md makes library.min.js of it.
import {areaY, barX, dot, line, lineY, plot, rect, rectY, ruleX, ruleY, text, tickY} from "@observablehq/plot";
import {ascending, extent, format, group, hierarchy, least, max, median, min, range, rollup, rollups, sum, treemap} from "d3";
Object.assign(globalThis, {
  Plot: {areaY, barX, dot, line, lineY, plot, rect, rectY, ruleX, ruleY, text, tickY},
  d3: {ascending, extent, format, group, hierarchy, least, max, median, min, range, rollup, rollups, sum, treemap},
});
