// Runs the scripts that draw the charts, with #data, the text of their data; both are compressed.
// The policy names the hash of the scripts.
"use strict";
(async () => {
  const unpacked = (id) => {
    const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const script = document.createElement("script");
  [document.getElementById("data").textContent, script.textContent] = await Promise.all([unpacked("data"), unpacked("scripts")]);
  document.body.append(script);
})();
