"""The description of the network in a run record."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

import trimtab
from tests.importers.test_onnx_quantized import network as qdq_network
from trimtab import session, tables, zoo
from trimtab.program import Op, Program, inspection


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Program:
    path = zoo.write("shufflenet_v2", tmp_path_factory.mktemp("zoo"))
    return session.optimize(trimtab.load(path))


def test_the_peak_of_live_tensors_is_the_activation_memory(planned: Program) -> None:
    tensors = inspection.network(planned)["memory"]
    sums = [
        sum(one["bytes"] for one in tensors if one["first"] <= i <= one["last"])
        for i in range(len(planned.ops) + 1)
    ]
    assert max(sums) == inspection.inspect(planned).activation_bytes
    # The engine's bound includes the scratch memory of operators.
    assert 0 < max(sums) <= trimtab.Session(planned).memory["arena_lower_bound_bytes"]


def test_operators_are_those_of_the_program(planned: Program) -> None:
    operators = inspection.network(planned)["operators"]
    assert [one["label"] for one in operators] == [f"{op.type} {op.name}" for op in planned.ops]
    # 146 million multiply-accumulates: torchvision's page of the model.
    assert sum(one["macs"] for one in operators) / 1e6 == pytest.approx(146, rel=0.015)
    assert all(read < i for i, one in enumerate(operators) for read in one["reads"])
    weights = sum(one["weights_bytes"] for one in operators)
    assert weights == pytest.approx(4 * 2.28e6, rel=0.02)


def test_what_a_qdq_network_computes_from_constants_is_marked(tmp_path: Path) -> None:
    """The oracle is the ONNX file: a node without a path from a graph input."""
    model, _ = qdq_network(np.int8)
    path = tmp_path / "qdq.onnx"
    path.write_bytes(model.SerializeToString())
    computed = {info.name for info in model.graph.input}
    fed = []
    for node in model.graph.node:
        fed.append(bool(computed & set(node.input)))
        computed |= set(node.output) if fed[-1] else set()
    program = trimtab.load(path)
    before = inspection.network(session.optimize(program), program)["before"]
    assert [one["prepares"] for one in before] == [not is_fed for is_fed in fed]
    assert fed.count(False) == 9


def test_the_kernel_of_an_operator_without_code_is_its_provider_at_run_time() -> None:
    run_time = SimpleNamespace(schema=SimpleNamespace(run_time=True, id=60_000), attributes={})
    assert inspection.kernel_of(cast(Op, run_time)) == "at run time: nothing here"
    built_in = Op("relu", ["x"], ["y"], {"kernel": "relu_f32_avx2"})
    assert inspection.kernel_of(built_in) == "relu_f32_avx2"


def test_operators_that_only_move_or_map_elements_are_folded() -> None:
    program = Program("net")
    x = program.add_input("x", (1, 3, 4, 6))
    weights = program.block.add_constant(np.ones((2, 3, 1, 1), np.float32))
    program.block.add_op("conv", [x, weights], None, ["convolved"])
    program.block.add_op("relu", ["convolved"], None, ["mapped"])
    program.outputs = ["mapped"]
    facts = [inspection.inspect(program)]
    whole, folded = (tables.text(inspection.page(facts, whole=whole)) for whole in (True, False))
    assert len(whole.splitlines()) == len(folded.splitlines())  # a sentence in place of a row
    assert "1 operators that only move or map elements are left out" in folded
    assert "left out" not in whole
