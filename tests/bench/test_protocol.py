"""The measuring protocol on this machine, with a runner that is a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np
import pytest

from tests.bench.fakes import make_golden, make_subject
from tests.recorded_progress import RecordedProgress
from trimtab.bench import golden, protocol
from trimtab.bench.jobs import Settings
from trimtab.devices import (
    CommandResult,
    Device,
    InstructionCounts,
    Mark,
    Transcript,
)
from trimtab.errors import (
    DeviceTimeoutError,
    RunnerCrashedError,
    RunnerError,
    TrimtabError,
    UsageError,
    WrongOutputError,
)
from trimtab.results import records
from trimtab.results.records import Record, Status
from trimtab.results.summary import summarize

QUICK = Settings(launches=1, warmup=1, runs=4, min_time_ms=0, timeout_s=20)


def measure(
    device: Device, tmp_path: Path, fault: str = "pass", settings: Settings = QUICK
) -> tuple[Record, TrimtabError | None]:
    subject = make_subject(tmp_path, fault)
    outcome = protocol.measure(device, subject, make_golden(), settings, tmp_path / "results")
    return records.read(outcome.path), outcome.error


def test_a_run_keeps_every_raw_sample(device: Device, tmp_path: Path) -> None:
    record, error = measure(device, tmp_path)
    assert error is None
    assert record.status is Status.OK
    assert [event["ns"] for event in record.of("run")] == [800, 801, 802, 800]
    assert len(record.of("warmup")) == 1
    assert record.of("golden")[0]["outputs"][0]["max_error"] == 0
    latency = summarize(record).figure("latency")
    assert latency is not None
    assert latency.value == 800.5


def test_progress_counts_pushed_bytes_and_launches_and_is_still_where_it_would_disturb(
    device: Device, tmp_path: Path
) -> None:
    error_text, subject = RecordedProgress(), make_subject(tmp_path)
    protocol.measure(device, subject, make_golden(), QUICK, tmp_path / "results", error_text)
    assert [line.split()[0] for line in error_text.lines] == [
        "push",
        "push",
        "push",
        "check",
        "measure",
    ]
    assert error_text.still == ["measure on local"]
    assert error_text.last == (1, 1)
    again = RecordedProgress()
    protocol.measure(device, subject, make_golden(), QUICK, tmp_path / "results", again)
    assert [line.split()[0] for line in again.lines] == ["check", "measure"]


def test_operators_are_measured_on_demand(device: Device, tmp_path: Path) -> None:
    settings = Settings(launches=1, warmup=0, runs=3, min_time_ms=0, per_op=True)
    record, _ = measure(device, tmp_path, settings=settings)
    assert len(record.of("op")) == 6
    assert [op.label for op in summarize(record).ops] == ["conv conv1", "relu relu1"]
    assert summarize(record).ops[0].ns == 402
    assert not measure(device, tmp_path)[0].of("op")


def test_the_record_describes_the_network(device: Device, tmp_path: Path) -> None:
    conv = {"label": "conv conv1", "macs": 64, "weights_bytes": 16, "moved_bytes": 32, "reads": []}
    network = {"operators": [conv], "memory": []}
    subject = replace(make_subject(tmp_path), network=network)
    outcome = protocol.measure(device, subject, make_golden(), QUICK, tmp_path / "results")
    run_summary = dict(summarize(records.read(outcome.path)).network)
    assert run_summary.pop("event") == "network"
    assert run_summary.keys() == {"operators", "memory", "gb_per_s"}
    assert run_summary["operators"] == network["operators"]


FAULTS = [
    ("os.kill(os.getpid(), signal.SIGSEGV)", Status.CRASHED, RunnerCrashedError, "signal 11"),
    ("print('Segmentation fault?')", Status.FAILED, RunnerError, "violates its protocol"),
    ('print(\'{"event":"run","i":0}\')', Status.FAILED, RunnerError, "without ns"),
    ("sys.exit(3)", Status.FAILED, RunnerError, "exit code 3"),
    ("sys.exit(0)", Status.FAILED, RunnerError, "output stops"),
    (
        "say('error', code=9, message='no kernel'), sys.exit(9)",
        Status.FAILED,
        RunnerError,
        "no kernel",
    ),
    ("scale = 2.1", Status.FAILED, WrongOutputError, "element 7"),
    ("args[args.index('--input') + 1] = '/dev/null'", Status.FAILED, WrongOutputError, "0 bytes"),
]


@pytest.mark.parametrize(("fault", "status", "error_class", "says"), FAULTS)
def test_a_failing_runner_becomes_a_status_and_an_error_that_says_why(
    device: Device,
    tmp_path: Path,
    fault: str,
    status: Status,
    error_class: type[TrimtabError],
    says: str,
) -> None:
    record, error = measure(device, tmp_path, fault)
    assert type(error) is error_class
    assert says in str(error)
    assert record.status is status
    assert says in record.message
    assert not record.of("run") or status is not Status.OK


def test_every_launch_compares_the_weights_with_their_checksum(
    device: Device, tmp_path: Path
) -> None:
    record, error = measure(device, tmp_path, 'assert "--trust" not in args')
    assert error is None
    damaged = 'say("error", code=1, message="damaged file"); sys.exit(1)'
    record, error = measure(device, tmp_path, f"is_golden or ({damaged.replace('; ', ', ')})")
    assert isinstance(error, RunnerError)
    assert "damaged file" in record.message


def test_a_wrong_output_is_never_timed(device: Device, tmp_path: Path) -> None:
    record, _ = measure(device, tmp_path, "scale = 3.0")
    assert summarize(record).headline is None


def test_a_runner_that_hangs_is_killed(device: Device, tmp_path: Path) -> None:
    record, error = measure(device, tmp_path, "time.sleep(60)", Settings(timeout_s=1.0))
    assert isinstance(error, DeviceTimeoutError)
    assert record.status is Status.TIMEOUT


HANGS = "is_golden or ([say('run', i=i, ns=70 + i, instructions=None) for i in range(3)], "
HANGS += 'print(\'{"event": "run", "i"\', end=\'\', flush=True), time.sleep(60))'


def test_samples_printed_before_a_timeout_are_kept(device: Device, tmp_path: Path) -> None:
    record, error = measure(device, tmp_path, HANGS, Settings(timeout_s=2.5))
    assert isinstance(error, DeviceTimeoutError)
    assert record.status is Status.TIMEOUT
    assert [event["ns"] for event in record.of("run")] == [70, 71, 72]
    assert len(record.of("golden")) == 1
    run_summary = summarize(record)
    assert run_summary.status is Status.TIMEOUT
    assert run_summary.headline is not None
    assert run_summary.headline.samples == (70, 71, 72)


def test_a_crash_keeps_the_samples_before_it(device: Device, tmp_path: Path) -> None:
    fault = "is_golden or (say('run', i=0, ns=1, instructions=None), os.abort())"
    record, _ = measure(device, tmp_path, fault)
    assert record.status is Status.CRASHED
    assert len(record.of("run")) == 1


def test_a_runner_that_is_no_program_is_an_error(device: Device, tmp_path: Path) -> None:
    subject = make_subject(tmp_path)
    subject.binary.write_bytes(b"\x7fELF not really")
    outcome = protocol.measure(device, subject, make_golden(), QUICK, tmp_path)
    assert isinstance(outcome.error, RunnerError)


class CountingDevice:
    """The local device, with marks as the emulator's plug-in would note them."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def __getattr__(self, name: str) -> object:
        return getattr(self._device, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def can_count_instructions(self) -> bool:
        return True

    def count_instructions(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        transcript: Transcript | None = None,
    ) -> tuple[CommandResult, InstructionCounts]:
        assert "--markers" in argv
        phases = [(1, 0), (2, 70), (7, 80), (8, 92)] + [
            (p, 100 * i + 10 * p) for i in range(6) for p in (3, 4)
        ]
        phases += [(5, 1000), (6, 1033), (5, 1100), (6, 1144)] * 4 if "--per-op" in argv else []
        marks = tuple(Mark(phase, 0, count) for phase, count in phases)
        assert transcript is not None
        transcript.marks += marks
        result = self._device.run(argv, timeout_s=timeout_s, transcript=transcript)
        return result, InstructionCounts(marks, None)


def test_instructions_counted_by_the_emulator_are_merged_into_the_events(
    device: Device, tmp_path: Path
) -> None:
    settings = Settings(launches=1, warmup=1, runs=4, min_time_ms=0, per_op=True)
    counting: Device = CountingDevice(device)  # type: ignore[assignment]
    record, error = measure(counting, tmp_path, settings=settings)
    assert error is None
    assert record.of("load")[0]["instructions"] == 70
    assert [event["instructions"] for event in record.of("run")] == [10, 10, 10, 10]
    summary = summarize(record)
    assert [op.instructions for op in summary.ops] == [33, 44]
    assert summary.figure("peak_bytes") is None, "the peak is the emulator's"


def test_samples_counted_before_a_timeout_keep_their_counts(device: Device, tmp_path: Path) -> None:
    counting: Device = CountingDevice(device)  # type: ignore[assignment]
    record, _ = measure(counting, tmp_path, HANGS, Settings(timeout_s=2.5))
    assert record.status is Status.TIMEOUT
    assert [event["instructions"] for event in record.of("run")] == [10, 10, 10]


def test_missing_marks_are_an_error(device: Device, tmp_path: Path) -> None:
    settings = Settings(launches=1, warmup=1, runs=9, min_time_ms=0)
    counting: Device = CountingDevice(device)  # type: ignore[assignment]
    _, error = measure(counting, tmp_path, settings=settings)
    assert isinstance(error, RunnerError)
    assert "no marks" in str(error)


def test_every_launch_is_in_the_record_with_its_own_load_first_run_and_peak(
    device: Device, tmp_path: Path
) -> None:
    settings = Settings(launches=4, warmup=1, runs=10, min_time_ms=0)
    record, error = measure(device, tmp_path, settings=settings)
    assert error is None
    launches = record.launches()
    assert [launch[0]["index"] for launch in launches] == [0, 1, 2, 3]
    for launch in launches:
        kinds = [event["event"] for event in launch]
        assert kinds.count("run") == 3, "10 runs of 4 launches are 3 of each"
        assert [kinds.count(kind) for kind in ("load", "first", "peak")] == [1, 1, 1]
    assert record.header.protocol["launches"] == 4
    latency = summarize(record).figure("latency")
    assert latency is not None
    assert (latency.statistic.count, latency.statistic.launches) == (12, 4)


def test_a_failed_launch_ends_the_run_and_earlier_launches_stay(
    device: Device, tmp_path: Path
) -> None:
    count = tmp_path / "count"
    fault = f"open({str(count)!r}, 'a').write('x'); n = len(open({str(count)!r}).read())"
    fault += "; n == 4 and os.abort()"  # the first is the one that checks the output
    record, error = measure(device, tmp_path, fault, Settings(launches=9, runs=9, min_time_ms=0))
    assert isinstance(error, RunnerCrashedError)
    assert record.status is Status.CRASHED
    assert [len([e for e in x if e["event"] == "run"]) for x in record.launches()] == [1, 1, 0]


def test_defaults_are_short_under_an_emulator_and_thorough_on_hardware() -> None:
    assert Settings().resolved(is_emulated=False).launches == 10
    assert Settings().resolved(is_emulated=True).launches == 1
    assert Settings().resolved(is_emulated=False).runs == 30
    assert Settings().resolved(is_emulated=False).min_time_ms == 5000
    assert Settings().resolved(is_emulated=True).min_time_ms == 0


def test_counts_have_no_spread_and_no_drift() -> None:
    requested = Settings(launches=4, warmup=2, runs=8, min_time_ms=400, per_op=True, threads=2)
    counted = requested.counted().resolved(is_emulated=True)
    assert counted == Settings(per_op=True, threads=2).resolved(is_emulated=True)
    assert Settings(runs=7).resolved(is_emulated=True).runs == 7


@pytest.mark.parametrize(
    ("actual", "right"),
    [([1, np.inf, np.nan], True), ([1, -np.inf, np.nan], False), ([1, np.inf, 0], False),
     ([np.nan, np.inf, np.nan], False), ([1.0001, np.inf, np.nan], True)],
)  # fmt: skip
def test_golden_outputs_compare_non_finite_values_by_identity(
    actual: list[float], right: bool
) -> None:
    expected = np.array([1, np.inf, np.nan], np.float32)
    reference = golden.Golden([], [expected], ["y"], "numpy")
    raw = np.array(actual, "<f4").tobytes()
    if right:
        assert golden.check(reference, 0, raw).max_error < 1e-4
    else:
        with pytest.raises(WrongOutputError):
            golden.check(reference, 0, raw)


@pytest.mark.parametrize(("actual", "right"), [(0.00019, True), (0.0012, True), (0.0022, False)])
def test_a_golden_output_near_zero_has_the_rounding_error_of_the_largest(
    actual: float, right: bool
) -> None:
    # The bound is 1e-4 * (1 + 0 + 2000 / 100) = 0.0021, and without the neighbor 1e-4.
    expected = np.array([0, -2000], np.float32)
    reference = golden.Golden([], [expected], ["y"], "numpy")
    raw = np.array([actual, -2000], "<f4").tobytes()
    if right:
        golden.check(reference, 0, raw)
    else:
        with pytest.raises(WrongOutputError):
            golden.check(reference, 0, raw)


@pytest.mark.parametrize("wrong", [{"threads": 0}, {"threads": 65}, {"runs": 0}, {"warmup": -1}])
def test_settings_that_the_runner_would_refuse_are_refused_here(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Settings(**wrong)  # type: ignore[arg-type]
