"""Recipes in records: what is written is what a later build reads."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.build import samples
from trimtab import camera
from trimtab.bench.jobs import Settings
from trimtab.bench.pace import Pace
from trimtab.errors import ResultError
from trimtab.heads import HeadRequest
from trimtab.pipeline.budget import Budget
from trimtab.pipeline.calibration import Calibration
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.pipeline.recorded import RecordedRecipe
from trimtab.planner.plan_file import Choice, Plan
from trimtab.results import records

OUTPUT = Path("elsewhere")
NV12 = camera.parse("camera(nv12, 64x64..1920x1080) | letterbox(640, 114) | rgb | scale(1/255)")
RECIPES = {
    "default": Recipe("squeezenet"),
    "shapes": Recipe("squeezenet", shapes={"data": ("1..8", 3, 224, 224), "h": (1, 4, "@new")}),
    "camera and head": Recipe(
        "squeezenet",
        cameras={"data": NV12},
        head=HeadRequest("yolov8", score=0.3, labels=("a cat", "öl"), anchors=(1.5, 2.0)),
        pictures=True,
    ),
    "plan": Recipe(
        "squeezenet",
        profile="yolo",
        toolchain="aarch64-linux-musl",
        cpu="cortex-a53",
        plan=Plan(
            operators={"conv1": Choice("winograd_4", {"kernel": "gemm_f32_4x16_neona53", "mr": 4})},
            prefer="size",
            precision="mixed",
            precisions={"conv2": "f32"},
            threads=2,
        ),
        budget=Budget(model_bytes=1 << 20),
        embed_model=True,
        strings=False,
    ),
    "calibration": Recipe(
        "squeezenet",
        outputs=("prob",),
        calibration=Calibration("", "entropy", budget="top1 >= 99 %", views={"": NV12}),
        build_type="Debug",
        shared=True,
    ),
}


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_reads_back_as_it_was_written(name: str) -> None:
    recipe = replace(RECIPES[name], output=Path("dist/net"))
    written = json.loads(json.dumps(RecordedRecipe.of(recipe).to_json()))
    read = RecordedRecipe.read(written, Path("build.json"))
    assert read.for_output(OUTPUT, Path("build.json")) == replace(recipe, output=OUTPUT)


def test_the_choices_of_a_plan_are_those_that_records_know() -> None:
    plan = Plan(prefer="size", precision="f16", accuracy="fast", weights_type="f16")
    choices = RecordedRecipe.of(Recipe("net", plan=plan)).choices
    assert tuple(choices) == records.CHOICES
    assert [*choices.values()] == ["f16", "f16", "size", "fast"]


def test_a_recipe_of_paced_frames_is_built_for_them_again() -> None:
    recipe = Recipe("net", measurement=MeasurementRequest(settings=Settings(pace=Pace(30, 5))))
    recorded = RecordedRecipe.of(recipe)
    assert "measurement" not in recorded.recipe
    assert recorded.for_output(OUTPUT, Path("build.json")).is_paced


def test_a_network_of_the_zoo_is_no_file_beside_a_folder_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "squeezenet").mkdir()  # such as an earlier build
    monkeypatch.chdir(tmp_path)
    assert RecordedRecipe.of(Recipe("squeezenet")).sources == {}


def test_the_files_of_a_recipe_are_recorded_by_their_content(tmp_path: Path) -> None:
    samples.relu(tmp_path, "x86_64")
    (tmp_path / "photos" / "more").mkdir(parents=True)
    files = {
        tmp_path / "relu.onnx": None,
        tmp_path / "photos" / "1.png": b"one",
        tmp_path / "photos" / "more" / "2.png": b"two",
        tmp_path / "ranges.json": b"{}",
    }
    for path, data in files.items():
        if data is not None:
            path.write_bytes(data)
    calibration = Calibration(str(tmp_path / "photos"), ranges=str(tmp_path / "ranges.json"))
    recipe = Recipe(str(tmp_path / "relu.onnx"), calibration=calibration)
    assert RecordedRecipe.of(recipe).sources == {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }
    assert RecordedRecipe.of(Recipe("squeezenet")).sources == {}


@pytest.mark.parametrize("values", [None, {}, [], "recipe"])
def test_a_record_without_a_recipe_says_so(values: object) -> None:
    with pytest.raises(ResultError, match="does not say how its binary was built") as error:
        RecordedRecipe.read(values, Path("dist/net/build.json"))
    assert error.value.where == "dist/net/build.json"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"recipe": {}, "sources": {"net.onnx": 5}}, "`sources.net.onnx` must be a string"),
        ({"recipe": {}}, "`sources` is missing"),
        ({"recipe": {"modle": "x"}, "sources": {}}, "unknown key `modle`"),
        ({"recipe": {"plan": {"threads": "2"}}, "sources": {}}, "`plan.threads` must be"),
        ({"recipe": {"output": "/etc"}, "sources": {}}, "unknown key `output`"),
    ],
)
def test_a_damaged_recipe_is_refused_by_its_key(values: object, message: str) -> None:
    with pytest.raises(ResultError, match=message):
        RecordedRecipe.read(values, Path("build.json")).for_output(OUTPUT, Path("build.json"))
