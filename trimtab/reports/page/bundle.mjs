// Makes library.min.js of library.js: docs/dependencies.md. Charts have no map, no bins, no markers
// on lines, every color scale has its domain and range, and no axis is a time, so that what Plot and
// d3 have for these is left out.
import {createRequire} from "node:module";
import {resolve} from "node:path";
const require = createRequire(`${process.cwd()}/`), here = import.meta.dirname;
const packages = "^d3-(axis|geo|scale-chromatic|time|time-format)$";
const files = "^[.].*/(bin|diverging|marker|projection|ramp|schemes|temporal|time)[.]js$";
const unused = {name: "unused", setup(build) {
  build.onResolve({filter: new RegExp(`${packages}|${files}`)}, ({path, resolveDir}) =>
    ({path: path.startsWith(".") ? resolve(resolveDir, path) : path, namespace: "unused"}));
  build.onLoad({filter: /./, namespace: "unused"}, async ({path}) => {
    const names = Object.keys(path.startsWith("/") ? await import(path) : require(path));
    const result = path.endsWith("/bin.js") ? "options" : "undefined"; // options without bins
    return {contents: `const none = (options) => ${result}; export {${names.map((name) => `none as ${name}`)}};`};
  });
}};
await require("esbuild").build({
  entryPoints: [`${here}/library.js`], outfile: `${here}/library.min.js`, plugins: [unused],
  nodePaths: [`${process.cwd()}/node_modules`], bundle: true, minify: true, format: "iife", target: "es2020",
});
