"""A measurement to be killed: `python -m tests.devices.killed_harness DEVICE FOLDER LEASE_S OWNER`.

Prints "begin" when it starts to measure, "end" after it. OWNER "elsewhere" plays another machine.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.bench.fakes import make_golden, make_subject
from trimtab.bench.jobs import Settings
from trimtab.bench.protocol import measure
from trimtab.devices import find_device
from trimtab.devices.control import lease
from trimtab.devices.limits import TimeLimits


def main(name: str, folder: Path, lease_s: int, owner: str) -> None:
    """Measures for about a second."""
    if owner == "elsewhere":
        lease.this_machine = lambda: "elsewhere"
    subject = make_subject(folder, "is_golden or time.sleep(1)")
    with find_device(name).open(limits=TimeLimits(lease_s=lease_s, renew_s=1)) as device:
        print("begin", flush=True)
        settings = Settings(launches=2, warmup=0, runs=3, min_time_ms=0)
        outcome = measure(device, subject, make_golden(), settings, folder / "results")
        print("end", outcome.error or "", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
