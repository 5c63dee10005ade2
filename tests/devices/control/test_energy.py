"""Energy from a fake sysfs: the expected joules are computed by hand."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from tests.bench.fakes import make_golden, make_header, make_subject
from tests.devices.conftest import require
from trimtab import reports
from trimtab.bench import energy as bench_energy
from trimtab.bench import protocol
from trimtab.bench.jobs import Settings
from trimtab.devices import Device
from trimtab.devices.control import energy
from trimtab.devices.control.energy import EnergySample, SourceKind
from trimtab.results import records
from trimtab.results.records import Status, Writer
from trimtab.results.summary import summarize

FILES = {
    "class/powercap/intel-rapl:0/name": "package-0",
    "class/powercap/intel-rapl:0/energy_uj": "900",
    "class/powercap/intel-rapl:0/max_energy_range_uj": "1000",
    "class/powercap/intel-rapl/enabled": "1",
    "class/hwmon/hwmon0/name": "nvme",
    "class/hwmon/hwmon0/curr1_input": "5",
    "class/hwmon/hwmon0/in1_input": "12000",
    "class/hwmon/hwmon1/name": "ina226",
    "class/hwmon/hwmon1/power1_input": "2500000",
    "class/hwmon/hwmon1/curr1_input": "500",
    "class/hwmon/hwmon1/in1_input": "5000",
    "class/hwmon/hwmon2/name": "ina3221",
    "class/hwmon/hwmon2/curr2_input": "400",
    "class/hwmon/hwmon2/in2_input": "5000",
    "class/hwmon/hwmon3/name": "amd_energy",
    "class/hwmon/hwmon3/energy1_input": "123456789012",
    "class/power_supply/battery/status": "Discharging",
    "class/power_supply/battery/current_now": "-300000",
    "class/power_supply/battery/voltage_now": "3900000",
    "class/power_supply/battery/charge_counter": "2000000",
    "class/power_supply/usb/status": "Unknown",
}
SOURCES = {
    (SourceKind.COUNTER, "powercap intel-rapl:0 package-0", 900, 1000, ""),
    (SourceKind.COUNTER, "hwmon hwmon3 amd_energy energy1_input", 123456789012, 0, ""),
    (SourceKind.POWER, "hwmon hwmon1 ina226 power1_input", 2500000, 0, ""),
    (SourceKind.POWER, "hwmon hwmon2 ina3221 curr2*in2", 2000000, 0, ""),
    (
        SourceKind.BATTERY,
        "power_supply battery current_now*voltage_now",
        -300000,
        3900000,
        "Discharging",
    ),
    (SourceKind.CHARGE, "power_supply battery charge_counter", 2000000, 3900000, "Discharging"),
}
SHELLS = [["sh"], ["bash"], ["busybox", "sh"], ["mksh"]]


def make(root: Path, files: dict[str, str] = FILES) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


def run(
    argv: list[str], root: Path, shell: list[str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    words = [*(shell or ["sh"]), *energy.sampling(argv, sysfs=str(root), pause_s=0.05)[1:]]
    return subprocess.run(words, capture_output=True, timeout=300, check=False)


@pytest.mark.parametrize("shell", SHELLS, ids=lambda words: words[0])
def test_every_source_is_read_by_the_shells_of_devices(shell: list[str], tmp_path: Path) -> None:
    require(shell[0], shell[0])
    done = run(["sh", "-c", "echo out; echo said >&2"], make(tmp_path), shell)
    samples, rest = energy.parse(done.stderr)
    assert {(s.kind, s.source, s.value, s.second, s.state) for s in samples} == SOURCES
    assert sorted(s.at_s for s in samples) == [s.at_s for s in samples], "in seconds of uptime"
    assert len(samples) >= 2 * len(SOURCES), "before the command and after it"
    assert (done.stdout, rest) == (b"out\n", b"said\n")


READINGS = [
    # As a Pi 5 prints it: all currents, then all voltages, among them some without a current.
    "     VDD_CORE_A current(7)=2.00000000A\n  DDR_VDD2_A current(5)=0.01000000A\n"
    "     3V3_SYS_A current(1)=-0.00100000A\n     VDD_CORE_V volt(15)=0.75000000V\n"
    "     DDR_VDD2_V volt(13)=1.10000000V\n     3V3_SYS_V volt(9)=3.30000000V\n"
    "     EXT5V_V volt(24)=5.15000000V\n",
    "     VDD_CORE_A current(7)=1.00000000A\n     3V3_SYS_A current(1)=nanA\n"
    "     VDD_CORE_V volt(15)=0.75000000V\n     3V3_SYS_V volt(9)=3.30000000V\n",
    'error=1 error_msg="Command not registered"\n',
    "",
]
RAILS = [
    {
        (SourceKind.RAIL, "pmic VDD_CORE", 2_000_000, 750_000),
        (SourceKind.RAIL, "pmic DDR_VDD2", 10_000, 1_100_000),
        (SourceKind.RAIL, "pmic 3V3_SYS", -1_000, 3_300_000),
        (SourceKind.POWER, "pmic sum of 3 rails", 1_507_700, 0),
    },
    {
        (SourceKind.RAIL, "pmic VDD_CORE", 1_000_000, 750_000),
        (SourceKind.POWER, "pmic sum of 1 rails", 750_000, 0),
    },
    set(),
    set(),
]


@pytest.mark.parametrize("shell", SHELLS, ids=lambda words: words[0])
@pytest.mark.parametrize(("text", "expected"), [*zip(READINGS, RAILS, strict=True)])
def test_the_rails_of_a_raspberry_pi_are_read(
    shell: list[str],
    text: str,
    expected: set[tuple[object, ...]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    require(shell[0], shell[0])
    (tmp_path / "reading").write_text(text)
    program = tmp_path / "bin" / "vcgencmd"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n[ "$*" = pmic_read_adc ] && cat "{tmp_path}/reading"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    done = run(["sh", "-c", "echo said >&2"], tmp_path, shell)
    samples, rest = energy.parse(done.stderr)
    assert {(s.kind, s.source, s.value, s.second) for s in samples} == expected
    assert len(samples) >= 2 * len(expected)
    assert rest == b"said\n"


def test_a_device_without_energy_sources_has_no_readings(tmp_path: Path) -> None:
    assert run(["true"], tmp_path).stderr == b""
    odd = {"class/hwmon/hwmon1/name": "ina226", "class/hwmon/hwmon1/power1_input": ""}
    make(tmp_path, odd)
    assert energy.parse(run(["true"], tmp_path).stderr)[0] == ()


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("true", 0)])
def test_the_exit_code_of_the_command_is_that_of_the_script(
    script: str, code: int, tmp_path: Path
) -> None:
    assert run(["sh", "-c", script], make(tmp_path)).returncode == code


@pytest.mark.parametrize("after_s", [0, 0.001, 0.002, 0.004, 0.008, 0.016, 0.2])
def test_the_command_is_ended_with_the_script_at_any_moment(tmp_path: Path, after_s: float) -> None:
    words = energy.sampling(["sleep", "60"], sysfs=str(make(tmp_path)), pause_s=0.05)
    with subprocess.Popen(words, stderr=subprocess.PIPE) as process:
        time.sleep(after_s)
        process.terminate()
        process.communicate(timeout=30)  # the other end of stderr closes when both have ended
    assert process.returncode != 0


NOISE = [
    b"trimtab-energy\n",
    b"trimtab-energy 1.0 counter x=9999999999999999999999,0\n",
    b"trimtab-energy 1.0 weight x=1,0\n",
    b"trimtab-energy nan power x=1,0\n",
    b"trimtab-energy 1.0 power \x1b[2J=1,0\n",
    b"\xff\xfe\n",
    b"no newline",
]


def test_other_lines_are_output_of_the_command() -> None:
    assert energy.parse(b"".join(NOISE)) == ((), b"".join(NOISE))


def series(
    kind: SourceKind, values: list[int], second: int = 0, state: str = ""
) -> list[EnergySample]:
    """Samples, one per second."""
    return [EnergySample(10.0 + i, kind, "s", v, second, state) for i, v in enumerate(values)]


JOULES = [
    (series(SourceKind.COUNTER, [1_000_000, 3_000_000, 4_500_000]), 3.5),
    # 999,999 -> wraps at 1,000,000 -> 500,000, twice
    (series(SourceKind.COUNTER, [900_000, 400_000, 900_000, 400_000], 1_000_000), 1.5),
    (series(SourceKind.POWER, [2_000_000, 4_000_000, 2_000_000]), 6.0),
    (series(SourceKind.BATTERY, [-500_000] * 5, 4_000_000, "Discharging"), 8.0),
    (series(SourceKind.BATTERY, [500_000] * 5, 4_000_000, "Discharging"), 8.0),
    (series(SourceKind.RAIL, [500_000, 1_500_000, -500_000], 2_000_000), 3.0),
    # 1000 uAh are 3.6 C, at 4 V
    (series(SourceKind.CHARGE, [2_001_000, 2_000_000], 4_000_000, "Discharging"), 14.4),
]


@pytest.mark.parametrize(("samples", "joules"), JOULES)
def test_joules_are_those_computed_by_hand(samples: list[EnergySample], joules: float) -> None:
    (reading,) = energy.integrate(samples)
    assert reading.joules == pytest.approx(joules, rel=1e-9)
    assert reading.watts == pytest.approx(joules / (len(samples) - 1), rel=1e-9)


USELESS = [
    (series(SourceKind.COUNTER, [5, 4]), "went backwards"),
    (series(SourceKind.BATTERY, [9, 9], 1, "Charging"), "not discharging"),
    (series(SourceKind.BATTERY, [9, 9], 1, "Full"), "not discharging"),
    (series(SourceKind.POWER, [9]), "too short"),
    (series(SourceKind.COUNTER, [7] * 30), "stood still for 29 s"),
    (series(SourceKind.CHARGE, [7] * 30, 4, "Discharging"), "stood still for 29 s"),
]


@pytest.mark.parametrize(("samples", "why"), USELESS)
def test_an_unusable_source_says_why(samples: list[EnergySample], why: str) -> None:
    (reading,) = energy.integrate(samples)
    assert reading.joules is None
    assert why in reading.why


def test_a_source_that_hardly_changed_is_coarse() -> None:
    assert energy.integrate(series(SourceKind.COUNTER, [0] * 30 + [90]))[0].is_coarse
    assert not energy.integrate(series(SourceKind.COUNTER, list(range(30))))[0].is_coarse


def record(directory: Path, *, tells: bool = True) -> records.Record:
    """20 s at 3 W with 100 inferences after 10 s at 1 W: 0.6 J each, 0.4 J of them above idle."""

    def samples(watts: int, seconds: int) -> list[list[object]]:
        steps = range(seconds * 5 + 1)
        return [[i / 5, "counter", "ina", i * watts * 200_000, 0, ""] for i in steps]

    with Writer(directory, make_header()) as writer:
        idle, busy = (samples(1, 10), samples(3, 20)) if tells else ([], [])
        writer.event({"event": "energy", "inferences": 100, "idle": idle, "busy": busy})
        writer.end(Status.OK)
    return records.read(writer.path)


def test_an_inference_has_its_share_of_the_energy_and_of_that_above_idle(
    tmp_path: Path,
) -> None:
    rows = summarize(record(tmp_path)).energy
    assert rows is not None
    (row,) = rows
    assert row.joules == pytest.approx(0.6)
    assert row.joules_above_idle == pytest.approx(0.4)
    assert row.watts == pytest.approx(3)
    assert row.idle_watts == pytest.approx(1)
    assert (row.error, row.error_above_idle, row.halves) == pytest.approx((0, 0, 0), abs=1e-9)


@pytest.mark.parametrize("name", [n for n in reports.names() if reports.find(n).IS_WHOLE])
class TestEveryFormat:
    def test_shows_joules_and_how_they_are_meant(self, name: str, tmp_path: Path) -> None:
        text = reports.find(name).run(summarize(record(tmp_path)))
        assert "600 mJ" in text or "0.6" in text
        assert "Sources overlap" in text

    def test_says_that_a_device_reports_no_energy(self, name: str, tmp_path: Path) -> None:
        text = reports.find(name).run(summarize(record(tmp_path, tells=False)))
        assert "The device reports no energy" in text


def test_a_launch_between_samples_is_recorded_with_its_inferences(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "sysfs", str(make(tmp_path / "sys")))
    monkeypatch.setattr(bench_energy, "SPAN_S", 0)
    settings = Settings(launches=1, warmup=0, runs=2, min_time_ms=0, energy=True)
    subject = make_subject(tmp_path)
    outcome = protocol.measure(device, subject, make_golden(), settings, tmp_path / "results")
    assert outcome.error is None
    (event,) = records.read(outcome.path).of("energy")
    assert event["inferences"] == 2, "the first, and one run"
    assert len(event["idle"]) >= 2 * len(SOURCES)
    assert len(records.read(outcome.path).of("run")) == 2, "those of the energy are not timed"
