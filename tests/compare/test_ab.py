"""A/B comparisons on this machine, with a runner that is a script."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.fakes import make_golden, make_subject, write_record
from trimtab import files
from trimtab.bench import archive
from trimtab.bench.jobs import Settings
from trimtab.build.toolchain import find_toolchain
from trimtab.compare import ab, noise_floor, paired, side_by_side, verdicts
from trimtab.compare.ab import AbRequest, AbResult
from trimtab.compare.arms import Arm, PreparedArm, prepare_arm
from trimtab.compare.noise_floor import NoiseFloor
from trimtab.devices import Device, find_device
from trimtab.devices.control import Control, controlled
from trimtab.errors import DeviceError, ResultError, RunnerCrashedError, UsageError
from trimtab.pipeline.recipe import Recipe
from trimtab.reports.formats import terminal
from trimtab.results import records
from trimtab.results.records import Status

NET = Arm("net")
QUICK = Settings(warmup=0, runs=8, min_time_ms=0, timeout_s=20)
# Times like a machine's: each launch has its own level, each run its own jitter, which the arm's
# folder and the number of the launch decide.
JITTER = (
    "import random; launches = open(__file__ + '.launches', 'ab'); launches.write(b'.'); "
    "launches.flush(); folder = os.path.basename(os.path.dirname(__file__)); "
    "random.seed(f'{{folder}} {{launches.tell()}}'); "
    "level = random.gauss(1, 0.002); was = say; "
    "say = lambda e, **f: was(e, **({{**f, 'ns': int(1e6 * {factor} * level "
    "* (1 + random.expovariate(400)))}} if e == 'run' else f))"
)


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRIMTAB_STATE_DIR", str(tmp_path / "state"))
    with find_device("local").open() as opened:
        yield opened


def side(tmp_path: Path, name: str, factor: float = 1.0, fault: str = "") -> PreparedArm:
    folder = tmp_path / name
    folder.mkdir(exist_ok=True)
    subject = make_subject(folder, fault or JITTER.format(factor=factor), profile=name)
    return PreparedArm(subject, make_golden(), 1)


def compared(
    device: Device,
    tmp_path: Path,
    *,
    b: PreparedArm,
    floor: NoiseFloor | None = None,
    launches: int = 10,
) -> AbResult:
    request = AbRequest(NET, NET, launches=launches, seed=3, settings=QUICK)
    sides = [side(tmp_path, "one"), b]
    return ab.measure(device, sides, request, tmp_path / "results", floor)


def known_floor(device: Device, share: float) -> NoiseFloor:
    info = device.describe()
    with controlled(device, Control()) as controlled_device:
        control = (controlled_device.governor, ("a", "b"), controlled_device.cores)
    return NoiseFloor(
        *("local", share, 1.0, (1 - share, 1 + share), 40, False, "net", "2026-01-31T00:00:00Z"),
        *(info.boot_id, info.kernel, *control),
    )


def test_a_difference_is_detected_and_both_runs_and_the_comparison_are_recorded(
    device: Device, tmp_path: Path
) -> None:
    result = compared(device, tmp_path, b=side(tmp_path, "two", 1.1))
    assert result.verdict.is_real
    assert result.verdict.ratio == pytest.approx(1.1, abs=0.01)
    assert result.verdict.interval.low < 1.1 < result.verdict.interval.high
    order = paired.order(10, seed=3)
    for number, record in enumerate((result.a, result.b)):
        turns = [(launch[0]["turn"], launch[0]["block"]) for launch in record.launches()]
        assert turns == [(i, b) for i, (s, b) in enumerate(order) if s == number]
    kept_record = json.loads(result.path.read_text())
    assert kept_record["runs"]["b"]["run_id"] == result.b.header.run_id
    assert kept_record["verdict"]["is_real"] is True
    assert kept_record["seed"] == 3
    assert "a real difference" in str(result.verdict)


def test_a_later_report_of_both_runs_has_the_same_verdict(device: Device, tmp_path: Path) -> None:
    result = compared(device, tmp_path, b=side(tmp_path, "two", 1.1))
    again = side_by_side.compare([records.read(result.a.path), records.read(result.b.path)])
    assert again.verdict == result.verdict
    (row,) = (row for row in again.rows if row.key == "latency")
    assert row.ratios[0] is not None
    assert row.ratios[0].is_real is True
    assert "separate measurements" not in " ".join(again.notes)
    backwards = side_by_side.compare([result.b, result.a])
    assert backwards.verdict is None


def test_records_that_call_an_arm_a_side_have_the_same_verdict(
    device: Device, tmp_path: Path
) -> None:
    result = compared(device, tmp_path, b=side(tmp_path, "two", 1.1))
    former = []
    for arm in (result.a, result.b):
        path = tmp_path / arm.path.name
        path.write_text(arm.path.read_text().replace('"arm":"', '"side":"'))
        former.append(records.read(path))
        assert "side" in former[-1].header.protocol
    assert side_by_side.compare(former).verdict == result.verdict


def test_operators_of_both_arms_are_compared_without_a_verdict(
    device: Device, tmp_path: Path
) -> None:
    slower = "was = say; say = lambda e, **f: was(e, **({**f, 'ns': 3 * f['ns']} "
    slower += "if e == 'op' and f['index'] == 1 else f))"
    b = side(tmp_path, "two", fault=slower)
    request = AbRequest(
        NET, NET, launches=10, seed=3, settings=dataclasses.replace(QUICK, per_op=True)
    )
    result = ab.measure(device, [side(tmp_path, "one"), b], request, tmp_path / "results", None)
    side_by_side_rows = side_by_side.compare([result.a, result.b])
    assert [row.label for row in side_by_side_rows.operators] == ["conv conv1", "relu relu1"]
    for row, factor in zip(side_by_side_rows.operators, (1, 3), strict=True):
        (ratio,) = row.ratios
        assert ratio is not None
        assert ratio.value == pytest.approx(factor)
        assert ratio.is_real is None
    shown = terminal.comparison(side_by_side_rows)
    assert "Most expensive operators of both" in shown
    assert "3.000x" in shown
    assert shown.splitlines()[-1] == str(side_by_side_rows.verdict)  # where the eye is
    other = dataclasses.replace(b.subject, operators=["conv conv1", "relu other"])
    sides = [side(tmp_path, "one"), dataclasses.replace(b, subject=other)]
    result = ab.measure(device, sides, request, tmp_path / "results", None)
    (row,) = side_by_side.compare([result.a, result.b]).operators
    assert row.label == "conv conv1"


def test_equal_arms_have_no_significant_difference_and_the_launches_to_detect_one_are_named(
    device: Device, tmp_path: Path
) -> None:
    result = compared(device, tmp_path, b=side(tmp_path, "one"))
    assert not result.verdict.is_real
    assert str(result.verdict).startswith("no significant difference")
    assert any("would" in note for note in result.verdict.notes)


def test_a_difference_within_the_noise_floor_is_not_real(device: Device, tmp_path: Path) -> None:
    b = side(tmp_path, "two", 1.1)
    assert compared(device, tmp_path, b=b, floor=known_floor(device, 0.05)).verdict.is_real
    result = compared(device, tmp_path, b=b, floor=known_floor(device, 0.3))
    assert result.verdict.interval.low > 1
    assert not result.verdict.is_real
    assert any("noise floor of 30" in note for note in result.verdict.notes)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"boot_id": "other"}, "was restarted"),
        ({"kernel": "Linux 1.0"}, "another kernel"),
        ({"governor": "powersave"}, "with the governor powersave, the run used"),
        ({"cores": "7"}, "calibrated for cores 7 with"),
        ({"threads": 4}, "calibrated with threads: 4, the run used 1"),
    ],
)
def test_a_floor_of_another_state_or_control_of_the_device_does_not_hold(
    device: Device, tmp_path: Path, change: dict[str, object], says: str
) -> None:
    floor = dataclasses.replace(known_floor(device, 0.002), **change)  # type: ignore[arg-type]
    verdict = compared(device, tmp_path, b=side(tmp_path, "two", 1.1), floor=floor).verdict
    assert any("invalid" in note and says in note for note in verdict.notes)
    assert verdict.floor == noise_floor.UNCALIBRATED


def test_nothing_is_called_real_with_fewer_than_ten_launches(
    device: Device, tmp_path: Path
) -> None:
    result = compared(device, tmp_path, b=side(tmp_path, "two", 2.0), launches=4)
    assert result.verdict.ratio == pytest.approx(2, abs=0.1)
    assert not result.verdict.is_real
    assert result.verdict.more_launches >= 6, "or it would not be called real either"
    assert f"About {result.verdict.more_launches} more launches per arm" in result.verdict.notes[0]
    with pytest.raises(UsageError, match="launches is 3"):
        AbRequest(NET, NET, launches=3)


def test_a_failed_arm_leaves_both_runs_and_no_comparison(device: Device, tmp_path: Path) -> None:
    count = tmp_path / "count"
    fault = f"open({str(count)!r}, 'a').write('x'); len(open({str(count)!r}).read()) > 3 and "
    with pytest.raises(RunnerCrashedError):
        compared(device, tmp_path, b=side(tmp_path, "two", fault=fault + "os.abort()"))
    runs = [records.read(path) for path in (tmp_path / "results").glob("*.jsonl")]
    assert sorted(run.status for run in runs) == [Status.CRASHED, Status.SKIPPED]
    assert not list((tmp_path / "results").glob(f"*{verdicts.SUFFIX}"))
    assert (
        "the other run of the comparison failed"
        in next(r for r in runs if r.status is Status.SKIPPED).message
    )


def test_a_wrong_output_of_either_arm_is_never_timed(device: Device, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="element 7"):
        compared(device, tmp_path, b=side(tmp_path, "two", fault="scale = 3.0"))
    runs = [records.read(path) for path in (tmp_path / "results").glob("*.jsonl")]
    assert len(runs) == 2
    assert not any(run.of("run") for run in runs)


def test_a_damaged_comparison_is_refused(device: Device, tmp_path: Path) -> None:
    result = compared(device, tmp_path, b=side(tmp_path, "two", 1.1))
    cut = [event for event in result.b.events if event.get("block") != 2]
    with pytest.raises(ResultError, match="the comparison is incomplete"):
        verdicts.judge(result.a, dataclasses.replace(result.b, events=tuple(cut)))


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a duet takes two cores")
def test_a_duet_runs_both_arms_at_once_on_cores_that_swap(device: Device, tmp_path: Path) -> None:
    logs = {name: tmp_path / f"{name}.cores" for name in "ab"}
    sides = []
    for name, factor in (("a", 1.0), ("b", 1.1)):
        log = f"open({str(logs[name])!r}, 'a')"
        where = f"; is_golden or print(*os.sched_getaffinity(0), file={log})"
        sides.append(side(tmp_path, name, fault=JITTER.format(factor=factor) + where))
    request = AbRequest(NET, NET, launches=10, duet=True, seed=1, settings=QUICK)
    result = ab.measure(device, sides, request, tmp_path / "results", None)
    assert result.verdict.is_real
    on = [[line.split() for line in logs[name].read_text().splitlines()] for name in "ab"]
    assert len(on[0]) == len(on[1]) == 10
    assert all(len(x) == len(y) == 1 and x != y for x, y in zip(*on, strict=True))
    assert all(cores[i] != cores[i + 1] for cores in on for i in range(0, 10, 2))
    at = [[launch[0]["at_s"] for launch in record.launches()] for record in (result.a, result.b)]
    assert at[0] == at[1]


def test_a_duet_is_refused_without_enough_cores(device: Device) -> None:
    with pytest.raises(DeviceError, match="cores of one kind"):
        ab.duet_cpus(device, threads=64)


def test_a_duet_has_cores_for_the_arm_with_more_threads(device: Device, tmp_path: Path) -> None:
    arms = [replace(side(tmp_path, name), threads=n) for name, n in (("one", 1), ("two", 999))]
    for pair in (arms, arms[::-1]):
        request = AbRequest(NET, NET, duet=True, settings=QUICK)
        with pytest.raises(DeviceError, match="1998"):
            ab.measure(device, pair, request, tmp_path / "results", None)


@pytest.mark.parametrize(("launches", "run"), [(10, 10), (11, 12)])
def test_an_odd_number_of_launches_becomes_even(device: Device, launches: int, run: int) -> None:
    request = AbRequest(NET, NET, launches=launches, settings=QUICK)
    assert ab.arm_settings(request, 1, device.describe()).launches == run


def test_counts_of_an_emulated_device_are_exact_after_one_launch(device: Device) -> None:
    info, request = device.describe(), AbRequest(NET, NET, launches=10, settings=QUICK)
    settings = ab.arm_settings(request, 2, replace(info, is_emulated=True))
    assert (settings.launches, settings.runs, settings.threads) == (1, QUICK.runs, 2)


def test_a_calibration_by_command_is_kept(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ab, "prepare_arm", lambda *_, **__: side(tmp_path, "one"))
    network = Arm("squeezenet")
    request = AbRequest(network, NET, launches=10, settings=QUICK)
    floor = ab.calibrate(request, tmp_path / "results")
    assert noise_floor.read(device.name, ab.floors_folder()) == floor


def test_a_calibration_is_stored_and_read_back(device: Device, tmp_path: Path) -> None:
    request = AbRequest(NET, NET, launches=10, settings=QUICK)
    floor = ab.measure_floor(device, side(tmp_path, "one"), request, tmp_path / "results")
    assert floor.share == max(abs(bound - 1) for bound in floor.interval)
    assert 0 < floor.share < 0.05
    (one, _) = (records.read(path) for path in (tmp_path / "results").glob("*.jsonl"))
    assert (floor.cores, floor.governor) == (one.header.affinity, one.header.control["governor"])
    assert floor.threads == 1
    assert noise_floor.read("local", ab.floors_folder()) is None, "nobody asked to keep it"
    noise_floor.write(floor, ab.floors_folder())
    assert noise_floor.read("local", ab.floors_folder()) == floor
    noise_floor.path_of("local", ab.floors_folder()).write_text("{}")
    with pytest.raises(ResultError, match="calibrate local"):
        noise_floor.read("local", ab.floors_folder())


def test_a_run_can_be_repeated_while_its_binary_is_archived(device: Device, tmp_path: Path) -> None:
    store = tmp_path / "cache" / "kept"
    one = side(tmp_path, "one")
    subject = archive.store(one.subject, one.expected, store)
    (tmp_path / "one" / "net.ttm").unlink()
    request = AbRequest(NET, NET, launches=4, settings=QUICK)
    folder = tmp_path / "results"
    pair = [dataclasses.replace(one, subject=subject)] * 2
    result = ab.measure(device, pair, request, folder, None)
    definition = find_device("local")
    again = prepare_arm(Arm(result.a.header.run_id), definition, folder)
    assert again.subject == subject
    assert again.threads == 1
    assert (again.expected.outputs[0] == one.expected.outputs[0]).all()
    with pytest.raises(UsageError, match="--a-plan cannot change it"):
        prepare_arm(Arm(result.a.header.run_id, overrides=("a-plan",)), definition, folder)
    subject.binary.write_bytes(b"another")
    with pytest.raises(ResultError, match="damaged"):
        prepare_arm(Arm(result.a.header.run_id), definition, folder)
    subject.binary.unlink()
    with pytest.raises(ResultError, match="no longer archived"):
        prepare_arm(Arm(result.a.header.run_id), definition, folder)


def test_runs_of_another_architecture_are_refused_before_their_files_are_looked_for(
    tmp_path: Path,
) -> None:
    own = find_toolchain("host").arch
    other = "x86_64-linux-musl" if own == "aarch64" else "aarch64-linux-musl"
    for toolchain in (other, "host"):
        path = write_record(tmp_path)
        path.write_text(path.read_text().replace("aarch64-linux-musl", toolchain))
    with pytest.raises(DeviceError, match=r"runs no .* programs"):
        ab.compare(AbRequest(Arm("last"), Arm("last~1"), launches=4), tmp_path)


def test_a_core_of_another_architecture_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    own = Arm("squeezenet", Recipe("squeezenet"))
    other = Arm("squeezenet", Recipe("squeezenet", cpu="cortex-a15"))
    with pytest.raises(UsageError, match="cortex-a15 runs armv7"):
        ab.compare(AbRequest(own, other, device="qemu-a53", launches=4), tmp_path)
    assert not [*tmp_path.iterdir()]


def test_the_expected_output_of_a_quantized_network_is_archived_with_it(tmp_path: Path) -> None:
    one = side(tmp_path, "one")
    others = [output + 1 for output in one.expected.outputs]
    expected = dataclasses.replace(one.expected, scales=[0.5], others=others)
    archive.store(one.subject, expected, tmp_path / "kept")
    binary, model = files.sha256(one.subject.binary), files.sha256(one.subject.model)
    _, again = archive.read(binary, model, tmp_path / "kept")
    assert list(again.scales) == [0.5]
    assert [(a == b).all() for a, b in zip(again.others, others, strict=True)] == [True]
    assert len(again.inputs) == len(expected.inputs)
    (facts,) = (tmp_path / "kept").rglob("subject.json")
    facts.write_text(facts.read_text().replace('"scales":', '"steps":'))  # the former key
    assert list(archive.read(binary, model, tmp_path / "kept")[1].scales) == [0.5]


def test_the_archive_drops_the_oldest_entries(tmp_path: Path) -> None:
    one = side(tmp_path, "one")
    for number in range(archive.LIMIT + 3):
        one.subject.model.unlink()
        one.subject.model.write_bytes(f"model {number}".encode())
        archive.store(one.subject, one.expected, tmp_path / "kept")
        oldest = min((tmp_path / "kept").iterdir(), key=lambda path: path.stat().st_mtime)
        os.utime(oldest, (number, number))
    assert len(list((tmp_path / "kept").iterdir())) == archive.LIMIT


@pytest.mark.parametrize(
    ("what", "says"), [("/tmp", "not an output folder of"), ("nonsense", "no runs match")]
)
def test_an_arm_of_no_kind_is_refused(tmp_path: Path, what: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        prepare_arm(Arm(what), find_device("local"), tmp_path)


@pytest.mark.parametrize("threads", [-1, 0, 65])
def test_an_arm_has_a_number_of_threads_that_the_runner_accepts(threads: int) -> None:
    with pytest.raises(UsageError, match=f"threads is {threads}"):
        Arm("net", threads=threads)
