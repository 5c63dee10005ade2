"""The C program that `build --example` writes; tests/build/test_embedding.py runs one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.devices.conftest import require
from trimtab import paths
from trimtab.build import example
from trimtab.heads import HeadRequest
from trimtab.pipeline import input_shapes
from trimtab.pipeline.loaded import load
from trimtab.pipeline.recipe import Recipe
from trimtab.program import Program

HEADER = paths.root() / "runtime" / "api" / "trimtab.h"


def test_the_example_has_the_names_and_shapes_of_any_network_as_valid_c(tmp_path: Path) -> None:
    program = Program("odd")
    names = ['a"*/b\n??/', "int", "größe"]
    for name, dtype in zip(names, ("f32", "u8", "i64"), strict=True):
        program.add_input(name, (2, 3), dtype)
    program.outputs = [*program.inputs]
    require("cc", "gcc")
    for with_names in (True, False):
        folder = tmp_path / str(with_names)
        folder.mkdir()
        for name, text in example.sources(program, "net.ttm", names=with_names).items():
            (folder / name).write_text(text)
        words = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c"]
        subprocess.run([*words, f"-I{HEADER.parent}", "example.c"], cwd=folder, check=True)
    text = (tmp_path / "True" / "example.c").read_text()
    assert "static uint8_t input1[6];" in text
    assert 'trimtab_input_index(model, "int")' in text


@pytest.mark.parametrize("format", ["nv12", "i420", "rgb"])
def test_the_example_of_a_camera_and_a_head_uses_both_as_valid_c(
    tmp_path: Path, format: str
) -> None:
    camera = f"data=camera({format}, 640x480) | yolo"
    cameras = input_shapes.parse_all([camera]).cameras
    request = HeadRequest.parse("yolov3:score=0.4,iou=0.5,classes=80")
    recipe = Recipe(model="yolo_fastest", cameras=cameras, head=request)
    require("cc", "gcc")
    for name, text in example.sources(load(recipe).network.program, "net.ttm").items():
        (tmp_path / name).write_text(text)
    words = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c"]
    subprocess.run([*words, f"-I{HEADER.parent}", "example.c"], cwd=tmp_path, check=True)
    text = (tmp_path / "example.c").read_text()
    last = {"nv12": 307200, "i420": 307200 + 76800, "rgb": 0}[format]
    assert f"= input0 + {last};" in text.split("trimtab_set_image")[0].rsplit("planes", 1)[1]
    assert "trimtab_set_input" not in text
    assert "trimtab_box_at(model, 0, i, &box)" in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--profile", "yolo"], "there is none"),
        (["--model", "squeezenet", "--embed-model"], "--embed-model delivers none"),
    ],
)
def test_an_example_without_a_model_file_is_refused_at_once(words: list[str], says: str) -> None:
    argv = [sys.executable, "-m", "trimtab.cli", "build", "--example", *words]
    done = subprocess.run(argv, cwd=paths.root(), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert says in done.stderr
