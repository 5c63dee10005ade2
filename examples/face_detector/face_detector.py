"""Detects faces in a picture, like face_detector.c.

python face_detector.py MODEL PICTURE.ppm [THRESHOLD]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np

import trimtab

OVERLAP = 0.3


def read_ppm(path: str) -> np.ndarray:
    """Reads the pixels of a binary PPM, uint8[h, w, 3]."""
    data = Path(path).read_bytes()
    head = re.match(rb"P6\s+(\d+)\s+(\d+)\s+255\s", data)
    if head is None:
        sys.exit(f"face_detector: {path}: is not a binary 8-bit PPM without comments (P6)")
    width, height = int(head[1]), int(head[2])
    return np.frombuffer(data, np.uint8, width * height * 3, head.end()).reshape(height, width, 3)


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Intersection over union of two boxes."""
    extent = np.maximum(0, np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]))
    areas = [np.prod(np.maximum(0, box[2:] - box[:2])) for box in (a, b)]
    return float(np.prod(extent) / (sum(areas) - np.prod(extent) + 1e-9))


def main(model: str, picture: str, threshold: float = 0.7) -> None:
    """Prints a line for each face: score, left, top, right, bottom in pixels."""
    program = trimtab.load(model)
    (name,) = program.inputs
    _, _, h, w = program.vars[name].shape
    pixels = read_ppm(picture)
    height, width, _ = pixels.shape
    resized = pixels[np.arange(h) * height // h][:, np.arange(w) * width // w]
    x = ((resized.astype(np.float32) - 127) / 128).transpose(2, 0, 1)[None]
    results = trimtab.Session(program).run({name: np.ascontiguousarray(x)})
    scores, boxes = results.values()
    boxes = boxes[0] * np.float32([width, height, width, height])
    chosen: list[int] = []
    for i in np.argsort(-scores[0, :, 1], kind="stable"):
        if scores[0, i, 1] <= threshold:
            break
        if all(overlap(boxes[i], boxes[j]) <= OVERLAP for j in chosen):
            chosen.append(int(i))
            print(f"{scores[0, i, 1]:.4f}", *(f"{v:.2f}" for v in boxes[i]))


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(float, sys.argv[3:]))
