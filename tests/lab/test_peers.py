"""The comparison with peers: fake engines for the arithmetic, one real peer for the processes."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from lab.options import thread_counts
from lab.peers import report
from lab.peers.compare import (
    LOADS,
    ComparisonScope,
    Installed,
    PeerComparison,
    PeersRow,
    Start,
    compare,
)
from lab.peers.process import EngineBlock, LoadFigures, PeerCase, Process, probe
from lab.peers.quantized import quantized
from tests.python_script import FIRST_LINES
from trimtab import tables
from trimtab.bench.golden import Golden
from trimtab.errors import DynamicShapeError, MissingRequirementError, RunnerError, UsageError

LOADED = LoadFigures(2_000_000, 1_000_000, 5_000_048, 77, 1e-6)
VERSIONS = {"onnxruntime": "1.0", "ncnn": "2.0", "trimtab": "3.0"}


@pytest.fixture(name="model")
def small_model(tmp_path: Path) -> Path:
    """y = x W with 12 weights, as an ONNX file."""
    weights = np.arange(12, dtype=np.float32).reshape(3, 4)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    path = tmp_path / "small.onnx"
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)
    return path


def timed(row: PeersRow) -> list[int]:
    """The steady-state inferences of a row."""
    return [ns for block in row.samples["median_ms"] for ns in block]


@dataclass
class FakeEngine:
    """Reports a given duration; logs its rounds."""

    name: str
    run_ns: int
    log: list[str]
    turns: int = 1000
    loaded: LoadFigures = LOADED
    waited: float = 0.0

    def run(self, count: int) -> EngineBlock:
        self.log.append(self.name)
        self.turns -= 1
        if self.turns < 0:
            raise RunnerError("it ended: killed", where=self.name)
        others = 2 if self.waited and self.turns % 4 else 1  # what disturbs three rounds of four
        run_ns = others * self.run_ns
        return EngineBlock([99 * run_ns, *[run_ns] * (count - 1)], self.waited)

    def close(self) -> None:
        self.log.append(f"close {self.name}")


@dataclass
class FakeEngines:
    """Engines with a fixed time per inference, in nanoseconds; None: the engine fails to start."""

    run_ns: Mapping[str, int | None]
    turns: Mapping[str, int] = field(default_factory=dict)
    waited: float = 0.0
    log: list[str] = field(default_factory=list)

    @property
    def versions(self) -> Mapping[str, str]:
        return {name: VERSIONS[name] for name in self.run_ns}

    def prepare(self, engine: str, case: PeerCase, threads: int) -> Start:
        duration = self.run_ns[engine]
        if duration is None:
            raise RunnerError("it cannot", where=f"{engine} on {case.model.stem}")
        turns = self.turns.get(engine, 1000)
        return lambda: FakeEngine(engine, duration // threads, self.log, turns, waited=self.waited)


def test_rounds_interleave_the_engines_and_warm_up_each(model: Path, tmp_path: Path) -> None:
    engines = FakeEngines({"ncnn": 4_000_000, "trimtab": 2_000_000})
    outcome = compare(ComparisonScope([model], rounds=2), engines, tmp_path)
    loads = ["close ncnn", "close trimtab"] * LOADS
    rounds = ["ncnn", "trimtab", "trimtab", "ncnn"]
    assert engines.log == [*loads, *rounds, "close trimtab", "close ncnn"]
    ncnn, ours = outcome.results
    assert (ncnn.median_ms, ours.median_ms, ours.minimum_ms) == (4.0, 2.0, 2.0)
    assert ours.start_ms == 3.0
    assert ours.weights_bytes == 48
    assert ours.peak_bytes == 5_000_048
    assert ours.beyond_weights_bytes == 5_000_000
    assert ours.shipped_bytes == 77


def test_on_a_busy_machine_the_fastest_round_counts_and_the_page_says_so(
    model: Path, tmp_path: Path
) -> None:
    engines = FakeEngines({"ncnn": 4_000_000, "trimtab": 2_000_000}, waited=0.3)
    outcome = compare(ComparisonScope([model], rounds=8), engines, tmp_path)
    assert [row.median_ms for row in outcome.results] == [4.0, 2.0]
    assert "busy: in 1 of 1 cases an engine waited" in tables.text(report.page(outcome))
    quiet = compare(ComparisonScope([model]), FakeEngines({"trimtab": 2_000_000}), tmp_path)
    assert "busy" not in tables.text(report.page(quiet))


def test_a_peer_that_fails_is_left_out_and_named(model: Path, tmp_path: Path) -> None:
    engines = FakeEngines({"ncnn": None, "trimtab": 2_000_000})
    outcome = compare(ComparisonScope([model], rounds=1), engines, tmp_path)
    assert [result.engine for result in outcome.results] == ["trimtab"]
    assert outcome.left_out == ("ncnn on small: it cannot",)
    assert "\nncnn on small: it cannot" in tables.text(report.page(outcome))


def test_a_peer_that_dies_between_inferences_is_left_out(model: Path, tmp_path: Path) -> None:
    engines = FakeEngines({"ncnn": 1_000, "trimtab": 1_000}, turns={"ncnn": 1})
    outcome = compare(ComparisonScope([model], rounds=3), engines, tmp_path)
    assert [(r.engine, len(timed(r))) for r in outcome.results] == [("trimtab", 12)]
    assert outcome.left_out == ("ncnn: it ended: killed",)
    assert "close ncnn" in engines.log[-2:]


def test_the_error_of_a_process_that_dies_has_its_last_message(model: Path, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho out of luck >&2\nexit 1\n")
    python.chmod(0o755)
    case = PeerCase.of(model, tmp_path)
    with pytest.raises(RunnerError, match="the process ended: out of luck"):
        Process(str(python), case, "ncnn", 1)


# An engine whose thread goes on spinning for 0.1 s of a processor's time after its answer.
SPINS = f"""{FIRST_LINES}import json, sys, time, numpy
job = json.loads(sys.argv[-1])
numpy.savez(job["folder"] + "/outputs.npz", y=numpy.zeros(4))
print(json.dumps(dict(create_ns=1, first_ns=1, peak_bytes=1, shipped_bytes=1)), flush=True)
for line in sys.stdin:
    print(json.dumps(dict(ns=[1] * int(line), waited=0)), flush=True)
    end = time.process_time() + 0.1
    while time.process_time() < end: pass
    open(job["folder"] + "/rests", "w").close()
"""


def test_the_next_engine_waits_until_the_threads_of_the_last_one_are_idle(
    model: Path, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    python.write_text(SPINS)
    python.chmod(0o755)
    case = PeerCase.of(model, tmp_path)
    with closing(Process(str(python), case, "ncnn", 1)) as engine:
        assert engine.run(3).ns == [1, 1, 1]
        assert (case.folder / "rests").exists()


def test_a_failure_of_trimtab_is_an_error(model: Path, tmp_path: Path) -> None:
    engines = FakeEngines({"ncnn": 1_000, "trimtab": None})
    with pytest.raises(RunnerError, match="it cannot"):
        compare(ComparisonScope([model]), engines, tmp_path)


def result(network: str, engine: str, threads: int, ms: float) -> PeersRow:
    loads = (LoadFigures(int(ms * 3e6), int(ms * 1e6), int(ms * 1e6) + 100, int(ms * 1e4), 2e-6),)
    return PeersRow.of((network, engine, threads), 100, loads, [[int(ms * 1e6)]])


def test_tables_have_ratios_to_the_best_peer_and_their_geometric_mean() -> None:
    times = {"a": {"onnxruntime": 8, "ncnn": 4, "trimtab": 2}, "b": {"ncnn": 1, "trimtab": 2}}
    results = [
        result(network, engine, threads, ms / threads)
        for threads in (1, 2)
        for network, engines in times.items()
        for engine, ms in engines.items()
    ]
    text = tables.markdown(report.page(PeerComparison(VERSIONS, tuple(results), ())))
    sections = dict(part.split("\n\n", 1) for part in text.split("## ")[1:])
    rows = {
        title: [
            [cell.strip() for cell in line.split("|")[1:-1]] for line in table.strip().splitlines()
        ]
        for title, table in sections.items()
    }
    median = rows["Median milliseconds of an inference, 1 thread"]
    assert median[0][1:] == ["onnxruntime 1.0", "ncnn 2.0", "trimtab 3.0", "ratio to the best peer"]
    assert median[2:] == [
        ["a", "8.00", "4.00", "2.00", "0.50"],
        ["b", "-", "1.00", "2.00", "2.00"],
        ["geometric mean", "", "", "", "1.00"],
    ]
    start = rows["Milliseconds of loading and the first inference"]
    assert [row[-1] for row in start[2:]] == ["0.25", "-", "0.25"]
    for title, whom in (
        ("Peak resident megabytes, weights included", "leanest"),
        ("Megabytes of model files, as an engine's own converter makes them", "smallest"),
    ):
        assert rows[title][0][-1] == f"ratio to the {whom} peer"
        assert [row[-1] for row in rows[title][2:]] == ["0.50", "2.00", "1.00"]
    speed_up = rows["Speed-up from 1 to 2 threads"]
    assert speed_up[2:] == [["a", "2.00", "2.00", "2.00"], ["b", "-", "2.00", "2.00"]]


def test_a_peer_with_other_results_does_not_count() -> None:
    rows = [result("a", "ncnn", 1, 4.0), result("a", "trimtab", 1, 2.0)]
    wrong = replace(result("a", "opencv", 1, 1.0), error=1.0)
    assert report.ratios_of(report.MEDIAN, [*rows, wrong], 1) == {"a": 0.5}


def test_json_has_every_sample_and_the_figures() -> None:
    outcome = PeerComparison(VERSIONS, (result("a", "trimtab", 1, 2.0),), ())
    (row,) = json.loads(json.dumps(report.facts(outcome)))["results"]
    assert row["samples"] == {"median_ms": [[2_000_000]]}
    assert row["start_ms"] == 8.0
    assert row["loads"][0]["peak_bytes"] == 2_000_100


def test_the_error_of_an_interpreter_without_peers_says_how_to_install_them(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho '{}'\n")
    python.chmod(0o755)
    with pytest.raises(MissingRequirementError, match="pip install numpy onnxruntime"):
        Installed(str(python))
    with pytest.raises(MissingRequirementError, match="does not run the peers"):
        probe(str(tmp_path / "missing"))


@pytest.mark.parametrize("text", ["", "0", "1,", "two", "1;2"])
def test_bad_thread_counts_are_refused(text: str) -> None:
    assert thread_counts("1,2") == [1, 2]
    with pytest.raises(UsageError):
        thread_counts(text)


@pytest.mark.parametrize(
    ("expected", "output", "error"),
    [
        ([2.0, -4.0], [2.0, -3.0], 0.25),
        ([0.0, 0.0], [0.0, 0.002], 0.002),
        ([1.0], [1.0, 1.0], math.inf),
        ([1.0, 1.0], [1.0, math.nan], math.inf),
    ],
    ids=["of the largest magnitude", "zeros are expected", "other number of elements", "no number"],
)
def test_errors_are_relative_to_the_largest_expected_magnitude(
    model: Path, tmp_path: Path, expected: list[float], output: list[float], error: float
) -> None:
    golden = Golden((), [np.array(expected, np.float32)], ("y",), "by hand")
    np.savez(tmp_path / "outputs.npz", np.array(output, np.float32))
    assert PeerCase(model, golden, (), 0, tmp_path).error() == pytest.approx(error)


@pytest.mark.skipif(importlib.util.find_spec("onnxruntime") is None, reason="needs onnxruntime")
def test_a_real_peer_and_trimtab_compute_the_same_in_processes_of_their_own(
    model: Path, tmp_path: Path
) -> None:
    engines = Installed(sys.executable)
    engines.versions = {name: engines.versions[name] for name in ("onnxruntime", "trimtab")}
    outcome = compare(ComparisonScope([model], rounds=2), engines, tmp_path / "cache")
    assert outcome.left_out == ()
    assert [r.engine for r in outcome.results] == ["onnxruntime", "trimtab"]
    for measured in outcome.results:
        assert measured.error < 1e-6
        assert len(timed(measured)) == 8
        assert len(measured.loads) == LOADS
        assert min(timed(measured)) > 0
        assert measured.beyond_weights_bytes > 0
        assert measured.peak_bytes > measured.weights_bytes
    assert outcome.results[0].shipped_bytes == model.stat().st_size


def test_a_network_is_quantized_once_and_has_int8_weights(model: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    qdq = quantized(model, tmp_path / "cache")
    graph = onnx.load(qdq).graph
    assert {"QuantizeLinear", "DequantizeLinear"} <= {node.op_type for node in graph.node}
    assert TensorProto.INT8 in {tensor.data_type for tensor in graph.initializer}
    written = qdq.stat().st_mtime_ns
    assert quantized(model, tmp_path / "cache") == qdq
    assert qdq.stat().st_mtime_ns == written


def test_a_network_with_free_dimensions_is_not_quantized(model: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    free = onnx.load(model)
    free.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    onnx.save(free, model)
    with pytest.raises(DynamicShapeError, match="free dimensions"):
        quantized(model, tmp_path)
    assert not list(tmp_path.rglob("*.prepared"))


def test_int8_networks_run_only_on_engines_that_read_qdq_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lab.peers.compare.probe", lambda _: VERSIONS)
    assert set(Installed("python").versions) == {"onnxruntime", "ncnn", "trimtab"}
    assert set(Installed("python", quantized=True).versions) == {"onnxruntime", "trimtab"}
    monkeypatch.setattr("lab.peers.compare.probe", lambda _: {"mnn": "1.0"})
    with pytest.raises(MissingRequirementError, match="no peer"):
        Installed("python", quantized=True)
