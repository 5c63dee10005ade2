"""Draws boxes in the frames of a video or a camera.

python frames.py MODEL VIDEO-OR-CAMERA FOLDER

MODEL is a detector with a head behind a camera, such as `./inv convert` writes; a camera is named
by its number.
"""

from __future__ import annotations

import sys
from pathlib import Path

import trimtab


def main(model: str, source: str, folder: str) -> None:
    """Prints the boxes of each frame, and writes it with its boxes to the folder."""
    session = trimtab.Session(model)
    frames = trimtab.camera.frames(int(source) if source.isdigit() else source)
    Path(folder).mkdir(parents=True, exist_ok=True)
    for number, frame in enumerate(frames):
        boxes = trimtab.DetectedBoxes.of(session.run(frame))
        print(f"frame {number}", boxes, sep="\n")
        boxes.draw(frame.pixels[:, :, ::-1].copy()).save(Path(folder) / f"{number:05d}.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
