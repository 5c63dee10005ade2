// Runs the scripts that draw the charts, which are compressed. The policy names their hash.
"use strict";
(async () => {
  const text = document.getElementById("scripts").textContent;
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.body.append(script);
})();
