"""A noisy neighbor: processes that load the machine irregularly during a measurement.

`python neighbor.py SECONDS` starts one worker per CPU. Each alternates between idle and busy
periods of random length, and computes and copies memory when busy, so that between none and all
CPUs are loaded. All end after SECONDS, or as soon as their parent ends.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

BUSY_S = (0.02, 0.4)
IDLE_S = (0.02, 0.6)
_BLOCK_BYTES = 4 << 20  # larger than a core's private caches


@contextmanager
def running(seconds: float) -> Iterator[None]:
    """Runs a neighbor during a `with` block, for `seconds` at most."""
    command = [sys.executable, "-IS", __file__, str(seconds)]  # starts fast
    process = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its group exists until it is waited for
        process.wait()


def main(seconds: float) -> None:
    """Starts the workers, and ends after `seconds` or with its parent."""
    parent, until = os.getpid(), time.monotonic() + seconds
    grandparent = os.getppid()
    for _ in range(os.cpu_count() or 1):
        if os.fork() == 0:
            _work(parent, until)
            os._exit(0)
    while time.monotonic() < until and os.getppid() == grandparent:
        time.sleep(0.05)
    # Workers poll for the end of this process.


def _work(parent: int, until: float) -> None:
    draw = random.Random(os.getpid())
    source, target = bytearray(_BLOCK_BYTES), bytearray(_BLOCK_BYTES)
    while time.monotonic() < until and os.getppid() == parent:
        time.sleep(draw.uniform(*IDLE_S))
        end = time.monotonic() + draw.uniform(*BUSY_S)
        while time.monotonic() < end:
            target[:] = source
            sum(range(20_000))


if __name__ == "__main__":
    main(float(sys.argv[1]))
