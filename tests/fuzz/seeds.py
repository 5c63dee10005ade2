"""Seed inputs of the fuzz targets: `python -m tests.fuzz.seeds FOLDER` writes models, planned for
this machine and followed by bytes for the target's decisions.

The seeds in `operators` are all operator vectors, and models of other formats, types and algorithms
that contain rare operators; with plug-ins, the cases of their operators only. An operator with
vectors needs no other registration. Those in `networks` are small networks in several precisions,
for the target of that name, those in `images` have cameras, those in `training` are training steps,
and those in `pictures` are JPEG and PNG files.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import trimtab
from tests.camera.frames import CAMERAS
from tests.camera.frames import network as behind_a_camera
from tests.core import picture_files, test_pictures
from tests.engine.test_hostile_models import network
from tests.fuzz import networks
from tests.heads import coral, detectors
from tests.importers import sources, streams, test_onnx_dynamic_quantized
from tests.importers.free_dimensions.networks import NETWORKS
from tests.importers.onnx_text import model_of
from tests.learning.networks import depthwise, small
from tests.ops import (
    half,
    test_non_max_suppression,
    test_paired,
    test_quantized_between,
    test_quantized_winograd,
    test_strassen,
)
from tests.ops.cases import all_cases
from tests.ops.cases.separable import FUSED, Chain
from tests.ops.quantized import QuantizedGraph
from trimtab import files, modelfile, plugins, schema
from trimtab.operator_cases import cases_of
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.target import Target

MOST_BYTES = 32 * 1024  # of a seed: the fuzzer mutates small ones more often
DECISIONS = 64
FEW = 4  # seeds of an operator in one dtype; later ones come from other sources than ONNX vectors

Planned = Iterator[tuple[str, Program]]


def trainings() -> Planned:
    """Training steps of small networks with each optimizer."""
    momentum = trimtab.Solver("sgd", weight_decay=0.1, clip_gradients=1.0)
    for name, learner, solver in (
        ("plain", small(), trimtab.Solver("sgd", momentum=0.0)),
        ("momentum", small(), momentum),
        ("several-batches", small(), replace(momentum, iter_size=2)),
        ("depthwise", depthwise(), trimtab.Solver("adam")),
    ):
        training = trimtab.training(learner, optimizer=solver)
        yield f"training-{name}", trimtab.optimize(training.program)


def quantized() -> onnx.ModelProto:
    """Integers from the first convolution to the last."""
    graph = QuantizedGraph()
    x = graph.pair(graph.input(1, 6, 9, 8), 0.03, 4)
    weights = graph.weights(10, 6, 3, 3, scales=10)
    y = graph.conv(x, 0.03, *weights, pads=[1, 1, 1, 1])
    y = graph.pair(graph.node("Relu", y), 0.05, -128)
    depthwise = graph.weights(10, 1, 3, 3, scales=10)
    z = graph.conv(y, 0.05, *depthwise, group=10, pads=[1, 1, 1, 1])
    z = graph.pair(z, 0.04, 3)
    y = graph.pair(graph.node("Add", y, z), 0.06, -7)
    y = graph.node("GlobalAveragePool", y)
    return graph.model(graph.pair(y, 0.02, 1))


def vectors(load: Callable[[onnx.ModelProto], Program]) -> Planned:
    """Every operator vector, planned for this machine."""
    yield "hostile", trimtab.optimize(network())
    yield "quantized", trimtab.optimize(load(quantized()))
    lstm = model_of(*test_onnx_dynamic_quantized.lstm("reverse", False, np.int8), opset=17)
    yield "lstm-in-bytes", trimtab.optimize(load(lstm))
    for case in all_cases():
        yield case.id, trimtab.optimize(load(case.model))
    for name in ("one-step", "window", "first-layer"):
        program = load(QuantizedGraph.model(*test_paired.convolution(name, "any", np.int8)))
        if "avx2" in Target.host().isas:
            yield f"paired-{name}", trimtab.optimize(program, None, test_paired.paired(program))


def behind_cameras() -> Planned:
    """Small networks behind cameras, of one size of frames and of any, also turned."""
    for name, camera in CAMERAS.items():
        program = behind_a_camera((1, camera.channel_count, 8, 9))
        yield f"camera-{name}", trimtab.optimize(trimtab.camera.attach(program, camera))


def _others(
    load: Callable[[onnx.ModelProto], Program], folder: Path, has_few: Callable[..., bool]
) -> Planned:
    """Cameras, a training step, heads, other algorithms, integers, other formats, f16."""
    yield from behind_cameras()
    yield from trainings()
    detector = load(detectors.yolov8(size=(32, 16), strides=(4, 8)))
    free = trimtab.camera.attach(detector, "camera(rgb, 4x4..9x8)")
    yield "head-camera", trimtab.optimize(trimtab.attach_head(free, "yolov8", labels=[*"abcde"]))
    for name, one in NETWORKS.items():
        (folder / "free.onnx").write_bytes(one.build().SerializeToString())
        loaded = trimtab.load(folder / "free.onnx", {"x": one.bounds})
        yield f"free-{name}", trimtab.optimize(loaded)
    for name, program in streams.programs():
        yield f"states-{name}", trimtab.optimize(program)
    boxes = test_non_max_suppression.random_boxes(2, 3, 20, seed=1)
    model = test_non_max_suppression.onnx_model(*boxes, (3, 0.5, 0.1))
    yield "non-max-suppression", trimtab.optimize(load(model))
    for name, model, options in detectors.of_each_kind():
        yield f"head-{name}", trimtab.optimize(trimtab.attach_head(load(model), name, **options))
    for name in coral.NAMES:
        yield f"persons-{name}", trimtab.optimize(trimtab.load(coral.model(name).bytes()))
    for name in FUSED:
        yield f"chain-{name}", trimtab.optimize(load(Chain(name).case().model), None, Plan((name,)))
    for name, layer in test_strassen.LAYERS.items():
        program, _ = test_strassen.program_of(layer)
        yield f"strassen-{name}", trimtab.optimize(program, None, test_strassen.FORCED)
    for name in test_quantized_winograd.CASES:
        graph, y, _, _ = test_quantized_winograd.convolution(name, np.int8)
        plan = test_quantized_winograd.WINOGRAD
        yield f"integers-{name}", trimtab.optimize(load(graph.model(y)), None, plan)
    for name, (build, _, _) in test_quantized_between.CASES.items():
        graph = QuantizedGraph()
        yield f"between-{name}", trimtab.optimize(load(graph.model(build(graph))))
    for format in sources.FORMATS:
        if format == "onnx":
            continue
        for name, write in sources.models(format).items():
            program = trimtab.load(write(folder))
            if has_few(program):
                yield f"{format}-{name}", trimtab.optimize(program)
    with pytest.MonkeyPatch.context() as patch:
        half.convert_for_nothing(patch)
        for case in all_cases():
            planned = has_few(load(case.model), "f16") and half.planned(
                half.rounded(case), folder, Target.host()
            )
            if planned:
                yield f"{case.id}-f16", planned


def _kinds(program: Program) -> set[tuple[str, str]]:
    """Operators of a program, and the types that they compute in."""
    return {(op.type, program.dtype(op)) for op in program.ops}


def programs(folder: Path) -> Planned:
    """Planned programs by name; `folder` is for files on the way."""
    counts: Counter[tuple[str, str]] = Counter()

    def load(model: onnx.ModelProto) -> Program:
        (folder / "case.onnx").write_bytes(model.SerializeToString())
        return trimtab.load(folder / "case.onnx")

    def has_few(program: Program, dtype: str = "") -> bool:
        kinds = ((op, dtype or own) for op, own in _kinds(program))
        return any(counts[k] < FEW and (not dtype or _can(*k)) for k in kinds)

    for name, program in vectors(load):
        counts.update(_kinds(program))
        yield name, program
    for name, program in _others(load, folder, has_few):
        if any(counts[kind] < FEW for kind in _kinds(program)):
            counts.update(_kinds(program))
            yield name, program


def _can(op: str, dtype: str) -> bool:
    operator = schema.operator(op)
    return operator.typed and dtype in operator.dtypes


def of_plugins() -> Planned:
    """The cases of all plug-ins, planned."""
    for plugin in plugins.for_engine():
        for name, case in cases_of(plugin).items():
            yield f"{plugin.name}-{name}", trimtab.optimize(case.program("case"))


def pictures() -> Iterator[tuple[str, bytes]]:
    """Small files of the kinds that the runner decodes."""
    y, x = np.mgrid[:9, :19]
    pixels = np.stack([x * 13, y * 28, (x * 5 + y * 9) % 256], -1).astype(np.uint8)
    for subsampling, progressive, restart in product((0, 1, 2), (False, True), (0, 1)):
        options: dict[str, Any] = {"progressive": progressive, "restart_marker_blocks": restart}
        name = f"{subsampling}-{progressive}-{restart}.jpg"
        yield name, test_pictures.saved(pixels, "jpeg", subsampling=subsampling, **options)
    for interlaced in (False, True):
        for color, depth in ((0, 2), (0, 16), (2, 8), (3, 4), (6, 16)):
            samples = pixels[..., :1].repeat(picture_files.CHANNELS[color], -1).astype(np.int64)
            palette = bytes(range(48)) if color == 3 else b""
            samples = samples * 257 >> (16 - depth)
            data = picture_files.png(samples, depth, color, interlaced=interlaced, palette=palette)
            yield f"{color}-{depth}-{interlaced}.png", data
    for level in (0, 1, 9):
        yield f"level-{level}.png", test_pictures.saved(pixels, "png", compress_level=level)


def write(folder: Path) -> set[str]:
    """Writes all seeds that are small enough; the operators that are in them."""
    scratch = folder.with_name(folder.name + "-scratch")
    scratch.mkdir(exist_ok=True)
    kinds = {"operators": of_plugins()}
    if not plugins.for_engine():
        kinds = {
            "operators": programs(scratch),
            "networks": networks.programs(scratch),
            "images": behind_cameras(),
            "training": trainings(),
        }
    operators: set[str] = set()
    for kind, planned in kinds.items():
        for name, program in planned:
            image = modelfile.encode(program)
            if image.size > MOST_BYTES:
                continue
            decisions = random.Random(name).randbytes(DECISIONS)
            path = folder / kind / f"{name.replace('/', '-')}.bin"
            path.parent.mkdir(parents=True, exist_ok=True)
            files.write_bytes(path, image.tobytes() + decisions)
            operators |= {op.type for op in program.ops}
    for path in scratch.iterdir():
        path.unlink()
    scratch.rmdir()
    (folder / "pictures").mkdir(parents=True)
    for name, data in pictures():
        files.write_bytes(folder / "pictures" / name, data)
    return operators


if __name__ == "__main__":
    print(f"seeds of {len(write(Path(sys.argv[1])))} operators")
