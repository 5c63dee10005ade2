"""A noisy neighbor: processes that come and go, for a measurement that is to bear them.

`python neighbor.py SECONDS` starts as many workers as there are CPUs. Each is
busy and idle in turns of random lengths, and when busy computes and moves memory, so that at times
none and at times all CPUs are taken. All end after SECONDS, or as soon as their parent has gone.
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
_BLOCK_BYTES = 4 << 20  # more than a core's own caches hold


@contextmanager
def beside(seconds: float) -> Iterator[None]:
    """A neighbor for the time of a `with`, `seconds` at most."""
    command = [sys.executable, "-IS", __file__, str(seconds)]  # alone, it is there at once
    process = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its own: it was not waited for yet
        process.wait()


def main(seconds: float) -> None:
    """Starts the workers and waits for them."""
    parent, until = os.getpid(), time.monotonic() + seconds
    grandparent = os.getppid()
    for _ in range(os.cpu_count() or 1):
        if os.fork() == 0:
            _work(parent, until)
            os._exit(0)
    while time.monotonic() < until and os.getppid() == grandparent:
        time.sleep(0.05)
    # Workers look whether this process is still there.


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
