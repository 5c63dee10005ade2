// Runs the scripts that draw the charts, with #data, the text of their data; both are compressed, in
// base85: five characters are four bytes. The policy names the hash of the scripts.
"use strict";
(async () => {
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~";
  const unpacked = (id) => {
    const text = document.getElementById(id).textContent, words = new DataView(new ArrayBuffer(text.length + 4));
    for (let i = 0; i < text.length; i += 5) {
      const word = [...text.slice(i, i + 5).padEnd(5, "~")].reduce((sum, c) => sum * 85 + digits.indexOf(c), 0);
      words.setUint32(i / 5 * 4, word);
    }
    const packed = words.buffer.slice(0, Math.floor(text.length * 4 / 5));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const script = document.createElement("script");
  [document.getElementById("data").textContent, script.textContent] = await Promise.all([unpacked("data"), unpacked("scripts")]);
  document.body.append(script);
})();
