"""Builds of trainings, whose records have the request of the training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.learning.test_run import NETWORK, SOLVER
from trimtab.errors import VerificationError
from trimtab.learning import loaded
from trimtab.learning.prepared import prepare, training_files
from trimtab.learning.request import TrainingRequest
from trimtab.learning.settings import Loss, Solver
from trimtab.pipeline.built import build
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import Recipe
from trimtab.pipeline.recorded import RecordedRecipe
from trimtab.verification import checks


@pytest.fixture(name="solver")
def caffe_solver(tmp_path: Path) -> TrainingRequest:
    """The training of a Caffe solver."""
    (tmp_path / "solver.prototxt").write_text(SOLVER)
    (tmp_path / "net.prototxt").write_text(NETWORK)
    shapes = {"data": (4, 2, 3, 5)}
    return TrainingRequest(solver=str(tmp_path / "solver.prototxt"), shapes=shapes)


@pytest.mark.parametrize(
    "request_",
    [
        TrainingRequest("net.onnx", shapes={"x": (4, 3)}, losses=(Loss("euclidean", sigma=2.0),)),
        TrainingRequest(
            "net.onnx",
            optimizer=Solver("adam", policy="multistep", steps=(3, 5)),
            trainable={"ip*": (2.0, 0.0)},
            batch_statistics=("bn*",),
            dropout={"relu6": 0.5},
            seed=3,
        ),
        TrainingRequest(solver="solver.prototxt", weights=("a.caffemodel", "b.caffemodel")),
    ],
)
def test_a_record_has_the_request_of_a_training(request_: TrainingRequest, tmp_path: Path) -> None:
    values = RecordedRecipe.of(Recipe(), request_).to_json()
    recorded = RecordedRecipe.read(json.loads(json.dumps(values)), tmp_path)
    assert recorded.request(TrainingRequest, tmp_path) == request_
    assert recorded.for_output(tmp_path, tmp_path) == Recipe(output=tmp_path)


def test_the_sources_of_a_training_are_the_files_that_it_reads(solver: TrainingRequest) -> None:
    path = Path(solver.solver)
    assert training_files(solver) == [path, path.with_name("net.prototxt")]
    path.unlink()
    assert training_files(solver) == []


@pytest.mark.build
@pytest.mark.slow
def test_a_build_that_trains_is_the_same_to_the_byte(
    solver: TrainingRequest, tmp_path: Path
) -> None:
    recipe = Recipe(output=tmp_path / "out")
    build(plan(loaded.load(recipe, prepare(solver))))
    recorded = checks.recorded_build(tmp_path / "out")
    outcome = checks.compare(recorded)
    assert outcome.difference == ""
    assert any(str(row[0]).endswith(".checkpoint") for row in outcome.table.rows)
    (tmp_path / "net.prototxt").write_text(NETWORK.replace("num_output: 16", "num_output: 8"))
    with pytest.raises(VerificationError, match=r"net\.prototxt has changed since the build"):
        checks.compare(recorded)
