"""Shows a picture to a network: the camera in front of it, and the head behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import camera, heads, importers
from trimtab.camera import Camera
from trimtab.errors import UsageError
from trimtab.heads import HeadRequest
from trimtab.importers import Model
from trimtab.program import Program
from trimtab.quantization.picture_samples import read_pixels
from trimtab.session import Session
from trimtab.sight.result import Sight

Array = NDArray[Any]

AUTO = "auto"


def run(
    model: Program | Model, image: str | Path | Array, input: str = AUTO, head: str = AUTO
) -> Sight:
    """Shows a picture, a file or RGB uint8[h, w, 3], to a network.

    `model`: a program that is not planned, or anything that `load` accepts; `input`, `head`: as
    `view` and `head` of `Showing.of`. The result prints and draws itself: `run(...).table()`,
    `run(...).draw()`.

    UsageError for a view or head that does not fit; CalibrationError for a file that is no picture;
    errors of `load`.
    """
    picture = image if isinstance(image, np.ndarray) else read_pixels(Path(image))
    program = model if isinstance(model, Program) else importers.load(model)
    showing = Showing.of(program, picture, input, head)
    request = showing.head
    if request:
        proof = heads.prove(program, request)
        program, request = proof.program, proof.request
    whole = camera.attach(program, showing.camera, showing.input)
    if request:
        whole = heads.with_head(whole, request)
    return showing.sight(picture, Session(whole).run({showing.input: picture}))


@dataclass(frozen=True)
class Showing:
    """How pictures of one size are shown to a network. `input`: the name of the input behind the
    `camera`, of `size`, width and height; `head`: None shows the outputs as they are.
    """

    input: str
    camera: Camera
    head: HeadRequest | None
    size: tuple[int, int]

    @staticmethod
    def of(program: Program, picture: Array, view: str = AUTO, head: str = AUTO) -> Showing:
        """The way for pictures of the size of `picture`, uint8[h, w, 3].

        `view`: the steps from a picture to the network's input, such as "yolo", "auto" for what
        the model's file says, or "NAME=yolo" for one of several inputs. `head`: "auto" takes what
        the file says, or else the best classes of a classifier; "none" shows the outputs.
        UsageError if the network takes no picture, and for a view or head that cannot be read.
        """
        height, width = picture.shape[:2]
        name, steps = camera.parse_view(view)
        steps = camera.of_picture(steps, width, height)
        name = name or _picture_input(program)
        view_of_frame = camera.with_steps_of(program, steps)
        size = _size(program, name, view_of_frame)
        if others := ", ".join(other for other in program.inputs if other != name):
            raise UsageError(
                f"beside the picture {name}, the network takes {others}",
                where=program.name,
                hint="export the part that takes pictures alone, such as the tower of CLIP, or "
                "feed all inputs to trimtab.Session (docs/api.md)",
            )
        request = None if head == "none" else _head(program, head)
        return Showing(name, view_of_frame, request, size)

    def sight(
        self,
        picture: Array,
        results: Mapping[str, Array],
        milliseconds: float | None = None,
        reference: Mapping[str, Array] | None = None,
    ) -> Sight:
        """The results for a picture."""
        placement = self.camera.placement(self.size)
        return Sight(picture, results, placement, self.size, milliseconds, reference)


def _head(program: Program, text: str) -> HeadRequest | None:
    request = HeadRequest.parse(text)
    if request.name != AUTO or program.hints.heads:
        return request
    shapes = [program.vars[name].shape for name in program.outputs]
    # A file that says what the network is for, and no head, may end with an embedding.
    is_classifier = (
        not program.hints.entry and len(shapes) == 1 and len(shapes[0]) == 2 and shapes[0][1] > 1
    )
    return replace(request, name="top_k") if is_classifier else None


def advice(program: Program) -> str:
    """How pictures are shown to a network, in words: what its file says, or what is missing."""
    try:
        name = _picture_input(program)
    except UsageError as error:
        return str(error)
    if steps := program.hints.camera:
        return f"its file says how a picture becomes {name}: {steps}"
    return f"its file does not say how a picture becomes {name}: run needs --input (docs/camera.md)"


def _picture_input(program: Program) -> str:
    """The only input that may be a picture; UsageError if there is none, or several."""
    shapes = {name: _batched(program.vars[name].shape) for name in program.inputs}
    fitting = [name for name, shape in shapes.items() if len(shape) == 4 and shape[0] == 1]
    if len(fitting) == 1 and shapes[fitting[0]].count(1) < 3:
        return fitting[0]
    if len(fitting) == 1:
        name, shape = fitting[0], shapes[fitting[0]]
        raise UsageError(
            f"the input {name} {list(shape)} has one pixel",
            where=program.name,
            hint="its file may leave the size open: --input "
            f"{name}={f'1,224,224,{shape[3]}' if shape[3] > 1 else f'1,{shape[1]},224,224'}",
        )
    listed = ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())
    if not any(len(shape) == 4 for shape in shapes.values()):
        raise UsageError(
            "no input takes a picture",
            where=program.name,
            hint="a picture has the shape [1, channels, height, width], or [1, height, width, "
            f"channels], and the inputs are {listed}; trimtab.Session takes arrays (docs/api.md)",
        )
    raise UsageError(
        "which input takes the picture?" if fitting else "no input takes one picture",
        where=program.name,
        hint=f"--input NAME=yolo, or another size of a batch; the inputs are {listed}",
    )


def _batched(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with a batch of 1, as that of a picture [3, h, w], which torchvision's have."""
    return (1, *shape) if len(shape) == 3 and shape[0] == 3 else shape


def _size(program: Program, name: str, view: Camera) -> tuple[int, int]:
    """Width and height of an input; UsageError if there is none of that name."""
    shape = _batched(program.vars[name].shape) if name in program.inputs else ()
    if len(shape) != 4:
        hint = f"the inputs are: {', '.join(program.inputs)}"
        raise UsageError(f"the input {name!r} takes no picture", where=program.name, hint=hint)
    _, channels, height, width = shape
    if channels != view.channel_count:  # channels are last
        height, width = channels, height
    return width, height
