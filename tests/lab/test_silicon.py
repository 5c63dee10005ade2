"""The measurement of networks in a CI job: its history, its tables, its environment of peers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lab.silicon import gate, report
from lab.silicon.measure import SiliconFigures, SiliconPlan, SiliconRow, gathered, measure
from trimtab.errors import RegressionError, ResultError
from trimtab.progress import SILENT

ROOT = Path(__file__).resolve().parents[2]
MACHINE = {"core": "neoverse-n2", "cores": 4}


def row(network: str = "squeezenet", precision: str = "f16", **engines_ms: float) -> SiliconRow:
    return SiliconRow(network, precision, 1, 80_000, 4_920_000, 5.0, "correct", engines_ms)


def test_the_ratio_is_to_the_fastest_other_engine() -> None:
    assert row(trimtab=3.0, ncnn=4.0, onnxruntime=6.0).ratio == 0.75
    assert row(trimtab=3.0).ratio is None
    assert row(ncnn=4.0).ratio is None


def test_the_table_has_what_ncnn_publishes_for_this_core_only() -> None:
    # benchmark/README.md of ncnn, Azure Cobalt 100, one thread.
    (shown,) = report.table([row(trimtab=3.0, ncnn=4.0)], "neoverse-n2").records()
    assert shown["ncnn, published"] == 6.39
    assert (shown["trimtab"], shown["ncnn"], shown["ratio to the best"]) == (3.0, 4.0, 0.75)
    (int8,) = report.table([row("resnet50", "int8")], "neoverse-n2").records()
    assert int8["ncnn, published"] == 30.40
    (other,) = report.table([row(trimtab=3.0, ncnn=4.0)], "cortex-a76").records()
    assert "ncnn, published" not in other


def test_a_larger_file_and_a_worse_ratio_are_worse_than_the_history(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    gate.append(path, gate.entry("neoverse-n2", "2026-01-01", [row(trimtab=4, ncnn=5)]))
    gate.append(path, gate.entry("apple-m2", "2026-01-02", [row(trimtab=1, ncnn=5)]))
    before = gate.last(path, "neoverse-n2")

    def found(*rows: SiliconRow) -> list[str]:
        return list(gate.worse(before, gate.entry("neoverse-n2", "", rows), 0.1))

    assert found(row(trimtab=4.3, ncnn=5)) == []  # 7.5 % of 10 %
    assert found(row(trimtab=9, ncnn=12)) == []  # a slower machine
    assert found(row("new", trimtab=9, ncnn=1)) == []
    (slower,) = found(row(trimtab=5, ncnn=5))
    assert slower == "squeezenet in f16, 1 thread(s): ratio 0.8 to 1 (+25.0%)"
    (larger,) = found(SiliconRow("squeezenet", "f16", 1, 80_000, 5_020_000, 5.0, "", {}))
    assert "bytes 5e+06 to 5.1e+06 (+2.0%)" in larger
    with pytest.raises(RegressionError, match=r"ratio 0\.8 to 1"):
        gate.check([slower], path)
    gate.check([], path)


def test_a_core_without_an_entry_has_no_history(tmp_path: Path) -> None:
    assert gate.last(tmp_path / "absent.jsonl", "neoverse-n2") == {}


@pytest.mark.parametrize("line", ["{", "[]", '{"core": "x", "rows": [{"network": "a"}]}', "null"])
def test_a_damaged_history_is_refused_by_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text('{"core": "x", "rows": []}\n' + line + "\n")
    with pytest.raises(ResultError, match="line 2") as caught:
        gate.last(path, "x")
    assert caught.value.where == str(path)


def test_the_comment_leads_with_what_failed_and_keeps_the_reasons() -> None:
    measured = SiliconFigures([row(trimtab=3.0, ncnn=4.0)], {"ncnn": "1.0"}, ["litert: no file"])
    good = report.comment(measured, MACHINE, [])
    assert good.startswith(f"{report.MARK}\n## trimtab: 1 measurements, nothing worse\n")
    assert "litert: no file" in good
    assert "| squeezenet | f16" in good
    assert "## trimtab: 1 figures are worse" in report.comment(measured, MACHINE, ["ratio"])
    measured.failed.append("net in f32: wrong")
    assert "## trimtab: 1 networks failed" in report.comment(measured, MACHINE, [])


def test_committed_figures_are_read_back() -> None:
    measured = row(trimtab=3.0, ncnn=4.0)
    assert SiliconRow(**json.loads(json.dumps(measured.record()))) == measured


def test_a_network_that_would_begin_too_late_is_left_out(tmp_path: Path) -> None:
    late = SiliconPlan([tmp_path / "net.onnx"], ["f32"], [1], 1, "", -1, tmp_path)
    measured = measure(late, tmp_path, SILENT)
    assert measured.left_out == ["net in f32: the -1 minutes were over"]
    assert not measured.rows + measured.failed


def test_networks_are_gathered_with_their_files_for_other_engines(tmp_path: Path) -> None:
    source, folder = tmp_path / "source", tmp_path / "folder"
    source.mkdir()
    for name in ("a.onnx", "a.tflite", "b.onnx"):
        (source / name).write_text(name)
    copies = gathered([source / "a.onnx", source / "b.onnx"], folder)
    assert copies == [folder / "a.onnx", folder / "b.onnx"]
    assert sorted(path.name for path in folder.iterdir()) == ["a.onnx", "a.tflite", "b.onnx"]
    assert gathered(copies, folder) == copies


@pytest.mark.slow
def test_an_engine_without_packages_is_left_out_of_the_environment(tmp_path: Path) -> None:
    # Without an index, pip finds nothing, and no engine installs.
    script = (ROOT / "lab/silicon/peers.py").read_text()
    assert 'subprocess.run([*pip, "numpy", "onnx"], check=True)' in script
    offline = script.replace('subprocess.run([*pip, "numpy", "onnx"], check=True)', "")
    path = tmp_path / "peers.py"
    path.write_text(offline)
    done = subprocess.run(
        [sys.executable, str(path), str(tmp_path / "venv")],
        env={"PATH": "/usr/bin:/bin", "PIP_NO_INDEX": "1", "HOME": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "ExecuTorch: left out: " in done.stdout
    assert "No matching distribution" in done.stdout
