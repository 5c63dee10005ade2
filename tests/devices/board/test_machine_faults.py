"""Faults that no server on this machine can play: the QEMU board loses its power, its clock is set,
its disk fills up. What comes of them is in faults.toml, as for the server.
"""

from __future__ import annotations

import dataclasses
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.bench.fakes import make_golden, make_subject
from tests.devices.sabotage import TABLE
from trimtab.bench.golden import Golden
from trimtab.bench.jobs import Settings
from trimtab.bench.protocol import measure
from trimtab.devices import board, find_device
from trimtab.devices.board import machine
from trimtab.devices.control import lease
from trimtab.devices.limits import TimeLimits
from trimtab.results import records

pytestmark = [pytest.mark.device, pytest.mark.slow]

LAUNCHES = 2
STRUCK = "strikes now"
# Gives its input back; in the first measured launch of this boot the fault strikes.
RUNNER = """#!/bin/sh
out=
while [ $# -gt 0 ]; do
  case $1 in --output-dir) out=$2 ;; --input) in=$2 ;; --runs) runs=$2 ;; esac; shift
done
span='"ns":5,"instructions":null'
echo '{{"event":"start","version":"1","schema":"0f","threads":1,"affinity":"","cpu_features":[]}}'
echo '{{"event":"load",'$span'}}'
echo '{{"event":"memory","arena_bytes":1,"arena_lower_bound_bytes":1,"weights_bytes":0,'\\
'"prepared_bytes":0}}'
echo '{{"event":"first","i":0,'$span'}}'
if [ -z "$out" ] && [ "$(cat /proc/sys/kernel/random/boot_id)" = {boot} ] && mkdir /tmp/struck; then
  {fault}
fi
i=0; while [ $i -lt $runs ]; do echo '{{"event":"run","i":'$i','$span'}}'; i=$((i+1)); done
[ -z "$out" ] || cat "$in" >"$out/out0.bin" || exit 1
echo '{{"event":"peak","vm_hwm_bytes":null}}'
echo '{{"event":"end","status":"OK"}}'
"""
FAULTS = {
    "reboot": f"echo {STRUCK} >/dev/console; sleep 120",
    "clock": "date -s '2001-01-01 00:00:00' >/dev/null",
    "full": "cat /dev/zero >/root/fill",
    "runner": "kill -9 $$",
}


@pytest.fixture
def up(board_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[board.BoardState]:
    """A board of our own, restarted afterwards."""
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(board_cache))
    board.down("aarch64")
    yield board.up("aarch64")
    board.down("aarch64")
    board.up("aarch64")


@pytest.fixture
def lose_power(board_cache: Path, up: board.BoardState) -> Iterator[Callable[[], None]]:
    """Waits for the runner's signal, and restarts the board behind the same port."""
    restarted: list[subprocess.Popen[bytes]] = []

    def lose() -> None:
        serial = board_cache / "board" / "aarch64" / "serial.log"
        words = Path(f"/proc/{up.pid}/cmdline").read_bytes().decode().split("\0")[:-1]
        while STRUCK not in serial.read_text(errors="replace"):
            time.sleep(0.1)
        machine.stop(up.pid)
        restarted.append(subprocess.Popen(words, stdin=subprocess.DEVNULL))

    yield lose
    for process in restarted:
        process.kill()
        process.wait()


@pytest.mark.parametrize("fault", FAULTS)
def test_the_outcome_on_the_board_is_that_of_the_table(
    fault: str, lose_power: Callable[[], None], tmp_path: Path
) -> None:
    expected = TABLE["fault"][fault]["run"]
    golden = make_golden()
    golden = Golden(golden.inputs, golden.inputs, golden.output_names, golden.oracle)
    settings = Settings(launches=LAUNCHES, runs=2 * LAUNCHES, min_time_ms=0, timeout_s=300)
    thread = threading.Thread(target=lose_power, daemon=True)
    limits = TimeLimits(reconnect_s=300)  # under emulation on a busy machine
    with find_device("board").open(limits=limits) as device:
        boot = device.describe().boot_id
        subject = dataclasses.replace(make_subject(tmp_path), cpu="cortex-a53")
        subject.binary.write_text(RUNNER.format(boot=boot, fault=FAULTS[fault]))
        if fault == "full":
            assert device.run(["mount", "-o", "remount,size=4m", "/root"], timeout_s=30).ok
        if fault == "reboot":
            thread.start()
        outcome = measure(device, subject, golden, settings, tmp_path / "results")
        device.run(["rm", "-f", "/root/fill"], timeout_s=30)
        assert lease.look(device) is None
        assert (device.describe().boot_id == boot) == (fault != "reboot")
        running = device.run(["sh", "-c", "cat /proc/[0-9]*/cmdline"], timeout_s=30).stdout
        assert b"trimtab-run" not in running
    assert type(outcome.error).__name__ == expected.get("error", "NoneType"), outcome.error
    record = records.read(outcome.path)
    assert record.status.value == expected["record"]
    assert len(record.of("resumed")) == int(bool(expected.get("resumed")))
    if outcome.error is None:
        assert len(record.launches()) == LAUNCHES
