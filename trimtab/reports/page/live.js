// Reloads the page when the server's set of runs changes.
"use strict";
setInterval(async () => {
  try {
    const answer = await fetch("/state");
    if (answer.ok && (await answer.text()) !== document.body.dataset.state) location.reload();
  } catch {
    document.title = "(not connected) " + document.title.replace(/^\(not connected\) /, "");
  }
}, 2000);
