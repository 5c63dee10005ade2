"""Lists of networks for bench.peers, and networks that fail."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import onnx
import pytest

from lab.machine import isa
from lab.peers import report, suite
from lab.peers.compare import ComparisonScope, compare
from lab.peers.process import PeerCase, Process
from tests.lab.test_peers import FakeEngines, small_model  # noqa: F401 (a fixture)
from trimtab import paths as places
from trimtab import tables as drawn
from trimtab.errors import FileAccessError, RunnerError, UsageError
from trimtab.results.peer_figures import PeerFigure


def written(folder: Path, text: str) -> Path:
    path = folder / "list.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_list_names_files_and_exported_networks(tmp_path: Path) -> None:
    for name in ("exports/held/resnet.onnx", "own/a.onnx", "own/b.onnx", "absolute/c.onnx"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    text = '[mine]\nfiles = ["own/*.onnx", "none/*.onnx"]\ntimm = ["resnet", "absent"]\n'
    text += f'[elsewhere]\nfiles = ["{tmp_path}/absolute/*.onnx"]\n'
    text += '[other]\ntimm = ["not", "exported"]\n'
    paths, missing = suite.models(written(tmp_path, text), tmp_path / "exports")
    assert [path.stem for path in paths] == ["a", "b", "resnet", "c"]
    assert missing == ["none/*.onnx", "absent"]
    paths, _ = suite.models(tmp_path / "list.toml", tmp_path / "exports", ["elsewhere"])
    assert [path.stem for path in paths] == ["c"]
    with pytest.raises(UsageError, match="there is no table her"):
        suite.models(tmp_path / "list.toml", tmp_path / "exports", ["mine", "her"])


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("[a", "cannot be read"),
        ("[a]\ntimm = 3", "'timm' is not a list of names"),
        ("timm = ['x']", "its entries must be tables"),
        ("[a]\ntimm = ['x']", "no file of the list"),
        ("[a]\nfiles = ['own**']", "is not a pattern of files"),
        ("[a]\nfiles = ['']", "is not a pattern of files"),
        ("[a]\nfiles = ['own/x.onnx', 'more/x.onnx']", "x is listed twice"),
    ],
)
def test_a_malformed_list_is_an_error(text: str, match: str, tmp_path: Path) -> None:
    for name in ("own", "more"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.onnx").touch()
    with pytest.raises((FileAccessError, UsageError), match=match):
        suite.models(written(tmp_path, text), tmp_path / "exports")


def test_the_list_of_networks_is_long_and_has_no_name_twice() -> None:
    for path, count in (("list.toml", 80), ("drawn.toml", 100)):
        tables = suite.tables(places.root() / "lab/networks" / path)
        names = [name for entries in tables.values() for _, name in entries]
        assert len(names) == len({*names}) >= count


def test_a_network_that_fails_is_left_out_of_a_suite(model: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    node = onnx.helper.make_node("NoSuchOperator", ["x"], ["y"])
    info = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])
    out = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "g", [info], [out])), broken)
    engines = FakeEngines({"ncnn": 4_000_000, "trimtab": 2_000_000})
    scope = ComparisonScope([broken, model], rounds=1, loads=1, tolerant=True)
    converted = PeerCase.of(model, tmp_path).folder
    converted.mkdir()
    outcome = compare(scope, engines, tmp_path)
    assert not converted.exists()
    assert [result.engine for result in outcome.results] == ["ncnn", "trimtab"]
    assert [len(result.loads) for result in outcome.results] == [1, 1]
    assert outcome.left_out[0].startswith("broken: ")
    assert report.ratios_of(report.MEDIAN, outcome.results, 1) == {"small": 0.5}
    assert "geometric mean" in drawn.text(report.suite_page(outcome))


def test_instructions_are_compared_by_class(tmp_path: Path) -> None:
    path = written(tmp_path, '[small]\ntimm = ["a", "b"]\n[other]\ntimm = ["c"]\n')
    rows = [("a", "ncnn 1.0", 4e6, 1e6), ("b", "ncnn 1.0", 1e6, 1e6), ("a", "ort 2", 2e6, 1e6)]
    figures = [
        PeerFigure("board", network, engine, "f32", 1, None, None, theirs, ours)
        for network, engine, theirs, ours in rows
    ]
    table = report.instructions_table(figures, suite.classes(path))
    assert [*table.rows] == [
        ["a", "small", 4.0, 2.0, 1.0, 0.25, 0.5],
        ["b", "small", 1.0, None, 1.0, 1.0, None],
        ["geometric mean", "small", None, None, None, 0.5, 0.5],
    ]
    stored = [report.DeviceRow(**asdict(figure)).record() for figure in figures]
    assert [PeerFigure(**record) for record in stored] == figures
    assert report.device_experiment("a53", "f32").name == "peers/on-a53-f32"


def test_onednn_is_limited_to_the_instructions_of_trimtab(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "python"
    script.write_text('#!/bin/sh\necho "limited to $ONEDNN_MAX_CPU_ISA" >&2\n', encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("TRIMTAB_ISA", "avx2")
    with pytest.raises(RunnerError, match="limited to AVX2"):
        Process(str(script), PeerCase.of(model, tmp_path), "openvino", 1)
    assert report.suite_experiment(isa()).name == "peers/suite-avx2"
    assert report.suite_experiment("", "mine").name == "peers/mine"
