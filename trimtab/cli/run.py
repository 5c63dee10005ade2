"""Shows what a network sees in pictures."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.cli._command import argument, command, group, option
from trimtab.cli._options import PlanOptions, PrecisionOptions, parse_inputs

if TYPE_CHECKING:
    from trimtab.pipeline.recipe import Recipe

GROUP = "Build"
_SHAPE = re.compile(r".+=[\d.,]+", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of `run`."""

    model: str = argument("model file or zoo network")
    image: tuple[str, ...] = option("picture to show to the network (repeatable)", ())
    input: tuple[str, ...] = option(
        "steps from a picture to the network's input (docs/camera.md): auto (the default) takes "
        "what the model's file says, others are a family such as yolo or imagenet, or the steps; "
        "NAME=yolo for one of several inputs; also a shape, NAME=1,3,224,224 (repeatable)",
        (),
    )
    head: str = option(
        "what reads the outputs (docs/boxes.md), such as yolov8:score=0.4; auto takes what the "
        "model's file says, or the best classes of a classifier; none shows the outputs",
        "auto",
    )
    device: str = option("device to compute on (./inv device); default: this process")
    output: str = option("picture to draw into; default: PICTURE-seen.png in this folder")
    json: bool = option("print JSON", False)
    plan: PlanOptions = group(PlanOptions)
    precision: PrecisionOptions = group(PrecisionOptions)

    def validate(self) -> None:
        """Errors of `resolve.check`; UsageError for pictures that are missing."""
        from trimtab.devices import find_device
        from trimtab.errors import UsageError
        from trimtab.pipeline import resolve

        if not self.image:
            raise UsageError("which picture?", hint="--image photo.jpg")
        if self.output and len(self.image) > 1:
            raise UsageError("--output is one picture", hint="leave it out for several pictures")
        if missing := [path for path in self.image if not Path(path).is_file()]:
            raise UsageError(f"there is no file {missing[0]!r}", hint="--image takes a file")
        resolve.check(self.recipe())
        self.view()
        if self.device:
            find_device(self.device)

    def view(self) -> str:
        """The steps from a picture to the input; UsageError for several."""
        from trimtab.errors import UsageError

        views = [text for text in self.input if not _SHAPE.fullmatch(text)]
        if len(views) > 1:
            raise UsageError(
                f"--input has two ways from a picture to the network: {' and '.join(views)}",
                hint="give one of them, and shapes as NAME=1,3,224,224",
            )
        return views[0] if views else "auto"

    def recipe(self) -> Recipe:
        """The recipe of these options, without camera and head; UsageError for invalid values."""
        from trimtab.pipeline.recipe import Recipe

        return Recipe(
            model=self.model,
            shapes=parse_inputs(text for text in self.input if _SHAPE.fullmatch(text)),
            plan=self.plan.read(),
            calibration=self.precision.read(),
        )


@command(RunOptions, engine=True, short_options=False)
def run(options: RunOptions) -> None:
    """Show what a network sees in pictures: boxes, points, masks, classes; drawn and as a table."""
    from trimtab.cli._progress import shown
    from trimtab.pipeline.look import look
    from trimtab.sight import read_picture
    from trimtab.strict_json import dumps

    progress = shown(quiet=options.json)
    pictures = [read_picture(Path(path)) for path in options.image]
    sights = look(
        options.recipe(), pictures, options.view(), options.head, options.device, progress
    )
    rows = []
    for path, sight in zip(options.image, sights, strict=True):
        drawn = _drawn(sight.draw(), Path(options.output or f"{Path(path).stem}-seen.png"))
        rows.append({"image": path, "drawn": drawn, **sight.to_json()})
        if not options.json:
            took = f": {sight.milliseconds:.2f} ms" if sight.milliseconds is not None else ""
            print(f"{path}{took}\n{sight.table().text()}" + f"\ndrawn: {drawn}" * bool(drawn))
    if options.json:
        print(dumps(rows, indent=1))


def _drawn(image: object, path: Path) -> str:
    """Writes the drawing, if there is one, and returns its path."""
    import io

    from trimtab import files

    if image is None:
        return ""
    stream = io.BytesIO()
    image.save(stream, format="PNG")  # type: ignore[attr-defined]
    files.write_bytes(path, stream.getvalue())
    return str(path)
