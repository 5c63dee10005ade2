"""Pictures shown to a network, here and on an emulated board."""

from __future__ import annotations

import dataclasses
import inspect
import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from tests.heads.test_ultraface import raw_network
from tests.recorded_progress import RecordedProgress
from tests.sight.networks import classifier, picture
from trimtab.camera import frames, video_file
from trimtab.cli.run import RunOptions, run
from trimtab.errors import CalibrationError, DeviceError, UsageError
from trimtab.pipeline.look import look
from trimtab.pipeline.recipe import Recipe
from trimtab.planner.plan_file import Plan

FACES = "resize(auto) | mean(127) | scale(1/128)"


def test_a_classifier_shows_its_best_classes_of_each_picture(tmp_path: Path) -> None:
    recipe = Recipe(model=str(classifier(tmp_path)))
    pictures = [picture(32, 16), picture(20, 40), picture(20, 40)]
    sights = [*look(recipe, pictures, "resize(auto, area) | scale(1/255)")]
    for pixels, sight in zip(pictures, sights, strict=True):
        small = cv2.resize(pixels, (16, 16), interpolation=cv2.INTER_AREA) / 255
        r, g, b = small.mean(axis=(0, 1))
        best = sorted({"0": r, "1": g, "2": b, "3": r + g}.items(), key=lambda pair: -pair[1])
        assert [label for label, _ in sight.best] == [label for label, _ in best]
        np.testing.assert_allclose([s for _, s in sight.best], [s for _, s in best], atol=0.02)
        assert sight.milliseconds
        assert sight.milliseconds > 0


def test_without_a_head_the_outputs_are_as_the_network_has_them(tmp_path: Path) -> None:
    recipe = Recipe(model=str(classifier(tmp_path)))
    (sight,) = look(recipe, [picture(16, 16)], "image=scale(1/255)", "none")
    assert list(sight.results) == ["classes"]
    mean = picture(16, 16).mean(axis=(0, 1)) / 255
    np.testing.assert_allclose(sight.results["classes"][0, :3], mean, 1e-4)


def test_heads_that_would_read_outputs_are_told_where_the_file_names_none(tmp_path: Path) -> None:
    path, progress = tmp_path / "faces.ttm", RecordedProgress()
    raw_network().save(path)
    (sight,) = look(Recipe(model=str(path)), [picture(64, 48)], FACES, progress=progress)
    assert sight.boxes is None
    assert "ultraface" in "\n".join(progress.lines)


def test_options_are_checked_before_anything_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "photo.png"
    Image.fromarray(picture(16, 16)).save(path)
    for options, message in (
        ({}, "which picture"),
        ({"image": (str(path),), "video": "0"}, "exclude each other"),
        ({"image": (str(path),), "frames": 3}, "--frames limits a --video"),
        ({"video": "0", "frames": -1}, "--frames is -1"),
        ({"image": ("none.png",)}, "no file 'none.png'"),
        ({"image": (str(path), str(path)), "output": "a.png"}, "--output is one picture"),
        ({"image": (str(path),), "input": ("yolo", "imagenet")}, "two ways from a picture"),
    ):
        with pytest.raises(UsageError, match=message):
            RunOptions(model="squeezenet", **options).validate()
    with pytest.raises(DeviceError, match="nowhere"):
        RunOptions(model="squeezenet", image=(str(path),), device="nowhere").validate()


def test_shapes_and_steps_are_told_apart() -> None:
    options = RunOptions(model="net.param", input=("data=1,3,32,48", "data=yolo"))
    assert options.view() == "data=yolo"
    assert options.recipe().shapes == {"data": (1, 3, 32, 48)}
    assert RunOptions(model="net.param", input=("data=1,3,32,48",)).view() == "auto"


def test_a_file_that_is_no_picture_is_named(tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_text("no picture")
    options = RunOptions(model=str(classifier(tmp_path)), image=(str(tmp_path / "photo.png"),))
    with pytest.raises(CalibrationError, match="is not a picture"):
        inspect.unwrap(run.body)(options)  # without building the engine


def test_the_task_prints_what_it_sees_and_draws_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Image.fromarray(picture(40, 30)).save("photo.png")
    options = RunOptions(model=str(classifier(tmp_path)), image=("photo.png",), input=("imagenet",))
    inspect.unwrap(run.body)(options)
    printed = capsys.readouterr().out
    assert "photo.png: " in printed
    assert "drawn: photo-seen.png" in printed
    assert Image.open("photo-seen.png").size == (40, 30)
    inspect.unwrap(run.body)(dataclasses.replace(options, json=True, output="a.png"))
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["image"], row["drawn"]) == ("photo.png", "a.png")
    assert len(row["classes"]) == 4


def test_a_video_is_shown_frame_by_frame_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with video_file(Path("clip.mp4"), 10) as file:
        for _ in range(4):
            file.add(picture(48, 32))
    options = RunOptions(
        model=str(classifier(tmp_path)), video="clip.mp4", frames=3, input=("imagenet",),
        reference=True,
    )  # fmt: skip
    inspect.unwrap(run.body)(options)
    printed = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in printed] == [
        *["frame 0", "beside the reference", "frame 1", "beside the reference"],
        *["frame 2", "beside the reference", "drawn"],
    ]
    assert len([*frames("clip-seen.mp4")]) == 3
    inspect.unwrap(run.body)(dataclasses.replace(options, json=True))
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["frame"] for row in rows] == [0, 1, 2]
    assert all(row["difference"]["is_same"] for row in rows)


def test_the_reference_computes_in_float32(tmp_path: Path) -> None:
    recipe = Recipe(model=str(classifier(tmp_path)), plan=Plan(weights_type="f16"))
    (sight,) = look(recipe, [picture(16, 16)], "scale(1/255)", "none", beside_reference=True)
    assert sight.reference
    mean = picture(16, 16).mean(axis=(0, 1)) / 255
    np.testing.assert_allclose(sight.reference["classes"][0, :3], mean, 1e-5)
    assert sight.difference


@pytest.mark.build
@pytest.mark.device
def test_the_trimmed_binary_on_a_board_sees_the_same(tmp_path: Path) -> None:
    raw_network().save(tmp_path / "faces.ttm")
    recipe = Recipe(model=str(tmp_path / "faces.ttm"))
    pictures = [picture(160, 120)]
    (here,) = look(recipe, pictures, FACES, "ultraface:score=0.6")
    (there,) = look(recipe, pictures, FACES, "ultraface:score=0.6", "qemu-a53")
    assert here.boxes
    assert there.boxes
    assert len(here.boxes) == len(there.boxes) > 3
    np.testing.assert_allclose(there.results["boxes"], here.results["boxes"], 1e-3, 1e-2)
    assert there.milliseconds is None


def test_a_picture_without_boxes_is_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    raw_network().save(tmp_path / "faces.ttm")
    Image.fromarray(picture(64, 48)).save("photo.png")
    for score, text in (("0.999", "no box reaches the score"), ("0", "xmin")):
        head = f"ultraface:score={score}"
        options = RunOptions(model="faces.ttm", image=("photo.png",), input=(FACES,), head=head)
        inspect.unwrap(run.body)(options)
        assert text in capsys.readouterr().out
