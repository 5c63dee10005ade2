"""Chromium without a window, driven by its DevTools protocol over a pipe: no driver, no port.

https://chromedevtools.github.io/devtools-protocol/: messages are JSON with a zero byte behind each;
the browser reads file descriptor 3 and writes 4.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome")
_WAIT_S = 60.0


def program() -> str:
    """The browser of this machine; without one the test is skipped, and in CI it fails."""
    path = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if path is None:
        missing = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        missing("no Chromium: apt-get install chromium-headless-shell")
    return path


class Page:
    """One page; records its console messages and its requests."""

    def __init__(self, reads: int, writes: int) -> None:
        self._reads, self._writes = reads, writes
        self._left = b""
        self._count = 0
        self._session = ""
        self.errors: list[str] = []
        self.requests: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """One command, and its answer; what happens meanwhile is kept."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writes, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._count:
            self._note(answer)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def open(self, url: str, width: int = 1200, *, is_dark: bool = False) -> float:
        """Opens a page and waits until it is loaded; how many seconds its own clock says."""
        mobile = width < 600
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=mobile,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.errors.clear()
        self.requests.clear()
        self.send("Page.navigate", url=url)
        end = time.monotonic() + _WAIT_S
        loaded = "performance.getEntriesByType('navigation')[0]?.loadEventEnd || 0"
        while not (took := self.run(loaded)) or self.run("location.href") == "about:blank":
            assert time.monotonic() < end, f"{url} does not load"
            time.sleep(0.05)
        # Scripts that draw are unpacked behind it.
        drawn = "performance.getEntriesByName('drawn')[0]?.startTime || 0"
        while self.run("document.getElementById('scripts') !== null") and not self.errors:
            if last := self.run(drawn):
                return float(last) / 1000
            assert time.monotonic() < end, f"{url} does not draw"
            time.sleep(0.05)
        return float(took) / 1000

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        path = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in path, path["exceptionDetails"]
        return path["result"].get("value")

    def press(self, key: str) -> None:
        """A key goes down and up."""
        codes = {"Tab": 9, "ArrowRight": 39, "ArrowLeft": 37, "End": 35}
        for kind in ("keyDown", "keyUp"):
            named = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
            self.send("Input.dispatchKeyEvent", **named)

    def picture(self, path: Path) -> None:
        """The whole page as a PNG file."""
        shot = self.send("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            read = os.read(self._reads, 1 << 20)
            assert read, "the browser is gone"
            self._left += read
        line, _, self._left = self._left.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(json.dumps(params["exceptionDetails"])[:2000])
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.errors.append(json.dumps(params["args"])[:2000])
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.errors.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])


@contextmanager
def page(browser: str, profile: Path) -> Iterator[Page]:
    """A browser with one page; its settings go into the folder `profile`."""
    its_read, our_write = os.pipe()
    our_read, its_write = os.pipe()
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
    words += [f"--user-data-dir={profile}", "--no-first-run", "--disable-background-networking"]

    def place() -> None:
        """In the child: first out of the way, as these may be each other's places."""
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (its_read, its_write)]
        os.dup2(ends[0], 3)
        os.dup2(ends[1], 4)

    # No shell does it: dash knows file descriptors of one digit only. The tests have one thread.
    process = subprocess.Popen(
        words,
        preexec_fn=place,  # noqa: PLW1509
        pass_fds=(3, 4),
        stderr=subprocess.DEVNULL,
    )
    os.close(its_read)
    os.close(its_write)
    try:
        yield Page(our_read, our_write)
    finally:
        process.terminate()
        process.wait(20)
        os.close(our_read)
        os.close(our_write)
