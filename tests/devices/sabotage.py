"""A device that fails at a chosen step of a measurement; faults.toml has the outcomes.

An SSH server runs a gate in place of every command. The gate recognizes the steps of the harness by
their commands; the runner itself plays the steps of a launch. The fault strikes once, at its step.
`python -m tests.devices.sabotage STAGE` is a harness in a separate process, which may be killed.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.bench.fakes import RUNNER, make_golden, make_subject
from tests.devices import servers
from tests.devices.conftest import SshServer
from tests.devices.fake_boot_id import play_boot_id
from tests.devices.fake_sysfs import FakeSysfs
from trimtab.bench.jobs import Settings, Subject
from trimtab.bench.protocol import measure
from trimtab.devices import find_device
from trimtab.devices.limits import TimeLimits
from trimtab.devices.ssh import client
from trimtab.errors import TrimtabError

TABLE: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("faults.toml").read_text())
LAUNCHES = 2
BACK_S = -36_000  # the jump of the clock

# The pattern of a step's command, and which of its occurrences is meant.
_ASKS = {
    "connect": ('*"pwd -P"*', 1),
    "push": ("*'.$$.part'*", 1),
    "pull": ("*'cat /'*'/out0.bin'*", 1),
    "record": ("*/proc/meminfo*", 3),  # `measure` and `controlled` ask for facts earlier
    "release": ('*"/lease release "*', 1),
}
_GATE = """#!/bin/sh
ask=$SSH_ORIGINAL_COMMAND
case "$ask" in {pattern})
  n=1; while ! mkdir {stage}/asked.$n 2>/dev/null; do n=$((n+1)); done
  [ $n -eq {number} ] && {{ {fault}
  }} ;;
esac
exec sh -c "$ask"
"""
_SESSIONS = "{sessions}"
_FAULTS = {
    "cut": f"kill -9 {_SESSIONS}",
    "frozen": f"for p in {_SESSIONS}; do kill -STOP $p; echo $p >>{{stage}}/stopped; done",
    "server": f"all={_SESSIONS}; kill -9 {{server}} $all",
    "full": "cat /dev/zero >{disk}/fill 2>/dev/null",
    "runner": ":",  # the runner kills itself
    "reboot": (
        f"all={_SESSIONS}; "
        "kill -9 $(grep -la {disk}/lease /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3) "
        "2>/dev/null; rm -rf {disk}/remote {disk}/lease; echo second >{stage}/boot_id; "
        "for c in 0 1; do echo schedutil >{stage}/sys/devices/system/cpu/cpu$c/cpufreq/"
        "scaling_governor; done; kill -9 $all"
    ),
    "timeout": "PATH={stage}/hang:$PATH; export PATH",
    "clock": f"echo {BACK_S} >{{stage}}/offset",
    "harness": "kill -9 $(cat {stage}/harness)",
    "results": "cat /dev/zero >{results}/fill 2>/dev/null",
}
_HANGS = ("cut", "frozen", "server", "timeout", "harness")  # a runner that nobody ends continues
_DEATHS = {"runner": "os.kill(os.getpid(), signal.SIGKILL)", "reboot": "os._exit(1)"}

# Code for the runner: the steps of a launch.
_STRIKE = """
def strike(step):
    try:
        step == {step!r} and os.mkdir({struck!r})
    except FileExistsError:
        return
    if step == {step!r}:
        os.system({fault!r})
        {after}
if not is_golden:
    strike("launch")
"""


@dataclass(frozen=True)
class Stage:
    """The scene of a fault: files of the test, a disk of the device, and one for results."""

    folder: Path
    disk: Path
    results: Path
    step: str
    fault: str
    server: int  # the process that listens

    @property
    def script(self) -> str:
        """The script of the fault."""
        places = {"stage": self.folder, "disk": self.disk, "results": self.results}
        of_server = {"server": self.server, "sessions": servers.sessions(self.server)}
        return _FAULTS[self.fault].format(**places, **of_server)

    @property
    def limits(self) -> TimeLimits:
        """Shorter time limits than those for real boards."""
        is_alone = self.fault in ("server", "harness")  # only the watchdog is left
        return TimeLimits(
            housekeeping_s=2 if self.fault == "timeout" else 60,
            reconnect_s=1 if self.fault == "server" else 20,
            kill_s=3,
            lease_s=4 if is_alone else 30,
            renew_s=1 if is_alone else 8,
            watch_s=0.2,
        )

    @property
    def has_struck(self) -> bool:
        """Whether the fault has struck."""
        number = _ASKS.get(self.step, ("", 1))[1]
        return any((self.folder / name).exists() for name in ("struck", f"asked.{number}"))

    def write_script(self) -> None:
        """Writes the fault into a file, so that its paths appear in no command line."""
        (self.folder / "fault").write_text(self.script)

    def write_gate(self) -> None:
        """Writes the script that the server runs in place of commands."""
        pattern, number = _ASKS.get(self.step, ("nothing", 1))
        fault = self.script + ("; exit 1" if self.fault == "reboot" else "")
        clock = f"export LD_PRELOAD={self.folder}/clock.so CLOCK_OFFSET={self.folder}/offset\n"
        text = _GATE.format(pattern=pattern, stage=self.folder, number=number, fault=fault)
        if self.fault == "clock":
            text = text.replace("\n", f"\n{clock}", 1)
        gate_of(self.folder).write_text(text)

    def write_hanging_programs(self) -> None:
        """Writes programs without an end; each step needs one of them."""
        (self.folder / "hang").mkdir()
        for name in ("mkdir", "sha256sum", "cat", "uname", "rm"):
            program = self.folder / "hang" / name
            program.write_text("#!/bin/sh\nexec sleep 60\n")
            program.chmod(0o755)

    def subject(self) -> Subject:
        """A runner that plays the steps of a launch."""
        subject = make_subject(self.folder, 'strike("verify" if is_golden else "run")')
        after = "time.sleep(60)" if self.fault in _HANGS else _DEATHS.get(self.fault, "pass")
        struck = str(self.folder / "struck")
        strike = _STRIKE.format(
            step=self.step, struck=struck, fault=f"sh {self.folder}/fault", after=after
        )
        text = subject.binary.read_text()
        start = 'say("start"'
        assert start in RUNNER
        subject.binary.write_text(text.replace(start, f"{strike}{start}", 1))
        return subject

    def measure(self) -> TrimtabError | None:
        """Measures as `bench` does. Returns the error that ends it, None without one."""
        settings = Settings(
            launches=LAUNCHES,
            warmup=0,
            runs=2 * LAUNCHES,
            min_time_ms=0,
            timeout_s=3 if self.fault == "timeout" else 60,
        )
        try:
            with find_device("board1").open(trust_new=True, limits=self.limits) as device:
                return measure(device, self.subject(), make_golden(), settings, self.results).error
        except TrimtabError as error:
            return error

    def apart(self, config: Path) -> int:
        """Measures in a separate process. Returns its exit code, or the negative signal."""
        facts = {"folder": self.folder, "disk": self.disk, "results": self.results}
        words = {name: str(path) for name, path in facts.items()}
        about = words | {"step": self.step, "fault": self.fault, "server": self.server}
        environment = os.environ | {"TRIMTAB_CONFIG_DIR": str(config)}
        if self.fault == "clock":
            environment["LD_PRELOAD"] = f"{self.folder}/clock.so"
            environment["CLOCK_OFFSET"] = f"{self.folder}/offset"
        argv = [sys.executable, "-m", "tests.devices.sabotage", json.dumps(about)]
        root = Path(__file__).resolve().parents[2]
        with subprocess.Popen(argv, cwd=root, env=environment) as process:
            (self.folder / "harness").write_text(str(process.pid))
            return process.wait(300)


def gate_of(folder: Path) -> Path:
    """The path of the gate."""
    return folder / "gate"


def hasten(patch: Callable[[object, str, object], None], stage: Stage) -> None:
    """Plays the boot id, and asks a silent server early for a sign of life."""
    play_boot_id(patch, stage.folder / "boot_id")
    if stage.fault == "frozen":
        patch(client, "ALIVE_S", 1)


def prepare(
    start: Callable[..., SshServer], config: Path, folder: Path, disks: tuple[Path, Path], cell: str
) -> tuple[SshServer, Stage, FakeSysfs]:
    """A server as the device `board1`, which the fault of a cell "FAULT-STEP" will strike."""
    fault, step = cell.split("-")
    server = start(f"ForceCommand /bin/sh {shlex.quote(str(gate_of(folder)))}")
    stage = Stage(folder, *disks, step, fault, server.pid)
    (folder / "boot_id").write_text("first\n")
    (folder / "offset").write_text("0")
    sysfs = FakeSysfs(folder / "sys")
    stage.write_gate()
    stage.write_script()
    stage.write_hanging_programs()
    places = {"directory": stage.disk / "remote", "lease": stage.disk / "lease"}
    server.define(config, "board1", sysfs=sysfs.folder, **places)
    return server, stage, sysfs


def thaw(stage: Stage) -> None:
    """Continues the frozen processes, which find their connections closed."""
    stopped = stage.folder / "stopped"
    for pid in stopped.read_text().split() if stopped.exists() else ():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGCONT)


if __name__ == "__main__":
    stage = json.loads(sys.argv[1])
    folder, disk, results = (Path(stage[name]) for name in ("folder", "disk", "results"))
    mine = Stage(folder, disk, results, stage["step"], stage["fault"], stage["server"])
    with pytest.MonkeyPatch.context() as context:
        hasten(context.setattr, mine)
        failure = mine.measure()
    print(failure or "")
    sys.exit(failure.exit_code if failure else 0)
