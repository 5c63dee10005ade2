"""Persons of PoseNet, beside the formulas of PersonLab in numpy and beside Coral's decoder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab
from tests.heads import coral, persons
from tests.heads.reference import Array
from trimtab.errors import UnsupportedOperatorError
from trimtab.target import Target


def run(maps: dict[str, Array], **options: Any) -> Any:
    """The results of the head on maps [n, c, h, w] or [n, h, w, c]."""
    program = trimtab.Program("pose")
    axis = 2 if maps["heat"].shape[1] == persons.POINTS else 1
    size = [(count - 1) * persons.STRIDE + 1 for count in maps["heat"].shape[axis : axis + 2]]
    image = np.zeros((1, 3, *size), np.float32)
    program.add_input("image", image.shape)
    for name, x in maps.items():
        program.add_input(name, x.shape)
    program.outputs = list(maps)
    session = trimtab.Session(trimtab.attach_head(program, "posenet_multi", **options), cache=False)
    return session.run({"image": image, **{k: x.astype(np.float32) for k, x in maps.items()}})


def random_maps(seed: int, size: tuple[int, int], count: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    centers = rng.random((count, 1, 2)) * size * persons.STRIDE
    keypoints = centers + rng.uniform(-40, 40, (count, persons.POINTS, 2))
    return [x.astype(np.float32) for x in persons.seen(keypoints, size, rng)]


def check(results: Any, keypoints: Array, scores: Array, image: int = 0) -> None:
    count = int(results["count"][image])
    assert count == len(scores)
    boxes = results["boxes"][image]
    np.testing.assert_allclose(results["points"][image, :count], keypoints, 1e-4, 1e-2)
    np.testing.assert_allclose(boxes[:count, 4], scores, 1e-4, 1e-5)
    places = keypoints[..., :2]
    extent = np.concatenate([places.min(1), places.max(1)], 1)
    np.testing.assert_allclose(boxes[:count, :4], extent, 1e-4, 1e-2)
    assert not boxes[count:].any()


@pytest.mark.parametrize(
    ("size", "count"), [((5, 6), 1), ((9, 9), 2), ((33, 21), 5), ((14, 31), 8)]
)
@pytest.mark.parametrize("threshold", [0.1, 0.25, 0.6])
def test_persons_are_those_of_the_formulas_of_the_paper(
    size: tuple[int, int], count: int, threshold: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = [random_maps(seed, size, count) for seed in range(3)]
    maps = {
        name: np.stack(x) for name, x in zip(coral.MAPS, zip(*images, strict=True), strict=True)
    }
    total = 0
    for isa in Target.host().isas:
        monkeypatch.setenv("TRIMTAB_ISA", isa)
        results = run(maps, score=threshold, max_boxes=20)
        for i, image in enumerate(images):
            heat, offsets, displacements = (x.astype(float) for x in image)
            keypoints, scores = persons.decoded(heat, offsets, displacements, threshold)
            check(results, keypoints, scores, i)
            total += len(scores)
    assert total or threshold > 0.5


@pytest.mark.parametrize("name", coral.NAMES)
@pytest.mark.parametrize("form", ["together", "apart", "channels last"])
def test_persons_are_those_of_corals_decoder(name: str, form: str) -> None:
    stored = coral.recorded(name)
    maps = {of: stored[of][None] for of in coral.MAPS}
    if form == "apart":
        forward, backward = np.split(maps.pop("displacements"), 2, 1)
        maps |= {"forward": forward, "backward": backward}
    elif form == "channels last":
        maps = {of: np.moveaxis(x, 1, -1) for of, x in maps.items()}
    results = run(maps, score=float(stored["threshold"]), max_boxes=10)
    check(results, stored["points"], stored["scores"])


def test_persons_are_mapped_to_the_frame_and_their_boxes_are_clipped_to_it() -> None:
    maps = {name: x[None] for name, x in zip(coral.MAPS, random_maps(1, (17, 17), 3), strict=True)}
    plain = run(maps)
    count = int(plain["count"][0])
    assert count > 1
    mapped = run(maps, scale=(2, 3), offset=(5, -7), frame=(200, 300))
    expected = plain["points"][0, :count] * [2, 3, 1] + [5, -7, 0]
    np.testing.assert_allclose(mapped["points"][0, :count], expected, 1e-5, 1e-3)
    corners = plain["boxes"][0, :count, :4] * [2, 3, 2, 3] + [5, -7, 5, -7]
    expected = corners.clip(0, [200, 300, 200, 300])
    np.testing.assert_allclose(mapped["boxes"][0, :count, :4], expected, 1e-5, 1e-3)
    assert int(run(maps, max_boxes=1)["count"][0]) == 1


def test_the_logits_behind_a_networks_probabilities_are_read() -> None:
    program = trimtab.load("posenet")
    behind = trimtab.attach_head(program, "posenet_multi", score=0.3, max_boxes=100)
    assert "sigmoid" not in [op.type for op in behind.ops]
    image = np.random.default_rng(1).standard_normal((1, 3, 257, 257)).astype(np.float32)
    raw = {name: x[0].astype(float) for name, x in trimtab.Session(program).run(image).items()}
    logits = np.log(raw["heatmaps"] / (1 - raw["heatmaps"]))
    displacements = np.concatenate([raw["forward"], raw["backward"]])
    keypoints, scores = persons.decoded(logits, raw["offsets"], displacements, 0.3, stride=32)
    assert len(scores) > 3
    check(trimtab.Session(behind).run(image), keypoints, scores)


@pytest.mark.parametrize("name", coral.NAMES)
def test_corals_operator_in_tflite_files_computes_what_coral_computes(name: str) -> None:
    model = coral.model(name)
    program = trimtab.load(model.bytes())
    feeds = dict(zip(program.inputs, model.feeds, strict=True))
    coral.check(name, trimtab.Session(program).run(feeds))


def test_masks_of_persons_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedOperatorError, match="masks of persons"):
        trimtab.load(coral.model("a", masks=True).bytes())
