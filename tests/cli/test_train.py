"""The task `train`, and `build --train`: mistakes are found before anything is built."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.small_programs import Net, normal
from trimtab.cli import build, train
from trimtab.errors import DeviceError, ModelFileError, UsageError


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Options of a training that works: a model of one layer, and its data."""
    monkeypatch.setattr("trimtab.cli._engine.build_engine", lambda quiet=False: None)
    net = Net(data=(2, 5))
    net.finish(net("gemm", "data", normal(3, 5), normal(3)))
    net.program.save(tmp_path / "net.ttm")
    data = np.random.default_rng(0).standard_normal((9, 5), np.float32)
    np.savez(tmp_path / "data.npz", data=data, label=np.arange(9) % 3)
    files = {"model": "net.ttm", "data": "data.npz", "output": "out.onnx"}
    return {name: str(tmp_path / file) for name, file in files.items()} | {"iterations": 4}


def test_events_are_objects_and_the_network_has_the_format_of_its_file(
    words: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    train.train.body(None, **words, display=2, snapshot=3, json=True)
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(event["event"], event["iteration"]) for event in events] == [
        *[("train", 2), ("snapshot", 3), ("train", 4), ("snapshot", 4)],
    ]
    assert events[0].keys() == {"event", "iteration", "loss", "rate"}
    assert Path(events[1]["path"]) == tmp_path / "out_iter_3.checkpoint"
    import onnx

    onnx.checker.check_model(str(tmp_path / "out.onnx"))


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"model": ""}, UsageError, "what to train"),
        ({"data": ""}, UsageError, "which data"),
        ({"data": "/nowhere"}, UsageError, "no such file or folder"),
        ({"model": "/nowhere.onnx"}, ModelFileError, "there is no such file"),
        ({"device": "nothing"}, DeviceError, "unknown device 'nothing'"),
        ({"cpu": "cortex-a53"}, UsageError, "--toolchain and --cpu are for --device"),
        ({"solver": "s.prototxt"}, UsageError, "the solver names network, losses"),
        ({"caffemodel": ["net.caffemodel"]}, UsageError, "--caffemodel is for the network of"),
        ({"loss": ["hinge"]}, UsageError, "there is no loss 'hinge'"),
        ({"optimizer": "lars"}, UsageError, "there is no optimizer 'lars'"),
        ({"trainable": ["conv*"]}, UsageError, "no parameter fits 'conv[*]'"),
        ({"output": "net.h5"}, UsageError, "no exporter writes .h5"),
        ({"iterations": 0}, UsageError, "how many iterations"),
        ({"test_interval": 2}, UsageError, "no data for tests"),
        ({"resume": "/nowhere"}, ModelFileError, "is not a checkpoint of this training"),
    ],
)
def test_mistakes_are_errors_that_say_what_to_do(
    words: dict[str, Any], changes: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match) as caught:
        train.train.body(None, **{**words, **changes})
    assert getattr(caught.value, "hint", "")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"loss": ["softmax"]}, "--loss are for trainings"),
        ({"train": True, "example": True}, "--example is a program for inference"),
        ({"train": True, "head": "yolov8"}, "neither a budget nor a head"),
        ({"train": True, "max_memory": "1M"}, "neither a budget nor a head"),
    ],
)
def test_a_build_trains_or_infers(
    words: dict[str, Any], options: dict[str, Any], match: str
) -> None:
    with pytest.raises(UsageError, match=match):
        build.build.body(None, model=words["model"], **options)
