// Makes library.min.js of library.js: docs/dependencies.md. Charts have no map, every color scale
// has its range, and no axis is a time, so that what d3 has for these is left out.
import {createRequire} from "node:module";
const require = createRequire(`${process.cwd()}/`), here = import.meta.dirname;
const unused = {name: "unused", setup(build) {
  build.onResolve({filter: /^d3-(geo|scale-chromatic|time-format)$/}, ({path}) => ({path, namespace: "unused"}));
  build.onLoad({filter: /./, namespace: "unused"}, ({path}) =>
    ({contents: `const none = () => {}; export {${Object.keys(require(path)).map((name) => `none as ${name}`)}};`}));
}};
await require("esbuild").build({
  entryPoints: [`${here}/library.js`], outfile: `${here}/library.min.js`, plugins: [unused],
  nodePaths: [`${process.cwd()}/node_modules`], bundle: true, minify: true, format: "iife", target: "es2020",
});
