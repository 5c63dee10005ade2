"""Shows what a network sees in pictures and videos."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trimtab.cli._command import argument, command, group, option
from trimtab.cli._options import PlanOptions, PrecisionOptions, RecipeOptions
from trimtab.paths import PROGRAM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trimtab.pipeline.recipe import Recipe
    from trimtab.sight import Sight

GROUP = "Build"


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
    device: str = option(f"device to compute on ({PROGRAM} device); default: this process")
    video: str = option(
        "video file, stream or number of a camera, in place of pictures; needs OpenCV"
    )
    frames: int = option("end after so many frames of --video; default: all, or until Ctrl-C", 0)
    reference: bool = option(
        "compare with the same network in float32, with the portable kernels of this machine", False
    )
    output: str = option("file to draw into; default: PICTURE-seen.png or VIDEO-seen.mp4 here")
    json: bool = option("print JSON; for --video a line per frame", False)
    plan: PlanOptions = group(PlanOptions)
    precision: PrecisionOptions = group(PrecisionOptions)

    def validate(self) -> None:
        """Errors of `resolve.check`; UsageError for pictures that are missing."""
        from trimtab.devices import find_device
        from trimtab.errors import UsageError
        from trimtab.files import check_writable
        from trimtab.pipeline import resolve

        if bool(self.image) == bool(self.video):
            raise UsageError(
                "--image and --video exclude each other" if self.video else "which picture?",
                hint="--image photo.jpg, or --video clip.mp4",
            )
        if self.frames < 0:
            raise UsageError(f"--frames is {self.frames}", hint="give a number of frames")
        if self.frames and not self.video:
            raise UsageError("--frames limits a --video", hint="leave it out for pictures")
        if self.output and len(self.image) > 1:
            raise UsageError("--output is one picture", hint="leave it out for several pictures")
        if missing := [path for path in self.image if not Path(path).is_file()]:
            raise UsageError(f"there is no file {missing[0]!r}", hint="--image takes a file")
        if self.output:
            check_writable(Path(self.output))
        resolve.check(self.recipe())
        self.view()
        if self.device:
            find_device(self.device)

    def view(self) -> str:
        """The steps from a picture to the input; UsageError for several."""
        from trimtab.camera import is_view
        from trimtab.errors import UsageError

        views = [text for text in self.input if is_view(text)]
        if len(views) > 1:
            raise UsageError(
                f"--input has two ways from a picture to the network: {' and '.join(views)}",
                hint="give one of them, and shapes as NAME=1,3,224,224",
            )
        return views[0] if views else "auto"

    def recipe(self) -> Recipe:
        """The recipe of these options, without camera and head; UsageError for invalid values."""
        from trimtab.camera import is_view

        shapes = tuple(text for text in self.input if not is_view(text))
        network = RecipeOptions(model=self.model, input=shapes)
        return network.read(self.plan.read(), self.precision.read(), cameras=False)


@command(RunOptions, engine=True, short_options=False)
def run(options: RunOptions) -> None:
    """Show what a network sees in pictures or a video: boxes, points, masks, classes; drawn."""
    _show_video(options) if options.video else _show_pictures(options)


def _show_pictures(options: RunOptions) -> None:
    from trimtab.sight import read_picture
    from trimtab.strict_json import dumps

    pictures = [read_picture(Path(path)) for path in options.image]
    rows = []
    for path, sight in zip(options.image, _sights(options, pictures), strict=True):
        drawn = _drawn(sight.draw(), Path(options.output or f"{Path(path).stem}-seen.png"))
        rows.append({"image": path, "drawn": drawn, **sight.to_json()})
        if not options.json:
            print(f"{path}{_took(sight)}\n{_text(sight)}{_beside(sight)}")
            if drawn:
                print(f"drawn: {drawn}")
    if options.json:
        print(dumps(rows, indent=1))


def _text(sight: Sight) -> str:
    if sight.boxes is not None and not len(sight.boxes):
        return "no box reaches the score of the head; --head auto:score=0.1 shows weaker ones"
    return sight.table().text()


def _show_video(options: RunOptions) -> None:
    from contextlib import suppress
    from itertools import islice

    import numpy as np

    from trimtab.camera import frames, video_file
    from trimtab.strict_json import dumps

    source = int(options.video) if options.video.isdecimal() else options.video
    video = frames(source)
    stem = f"camera{source}" if isinstance(source, int) else Path(source).stem
    path = Path(options.output or f"{stem}-seen.mp4")
    pictures = (np.ascontiguousarray(frame.pixels[..., ::-1]) for frame in video)
    has_drawing = False
    with video_file(path, video.rate) as file, suppress(KeyboardInterrupt):
        sights = _sights(options, islice(pictures, options.frames or None))
        for i, sight in enumerate(sights):
            image = sight.draw()
            if has_drawing := image is not None:
                file.add(np.asarray(image))
            if options.json:
                print(dumps({"frame": i, **sight.to_json()}), flush=True)
            else:
                print(f"frame {i}{_took(sight)}: {sight}{_beside(sight)}", flush=True)
    if has_drawing and not options.json:
        print(f"drawn: {path}")


def _sights(options: RunOptions, pictures: Iterable[NDArray[Any]]) -> Iterator[Sight]:
    from trimtab.cli._progress import shown
    from trimtab.pipeline.look import look

    return look(
        options.recipe(),
        pictures,
        options.view(),
        options.head,
        options.device,
        shown(quiet=options.json),
        beside_reference=options.reference,
    )


def _took(sight: Sight) -> str:
    return f": {sight.milliseconds:.2f} ms" if sight.milliseconds is not None else ""


def _beside(sight: Sight) -> str:
    return f"\nbeside the reference: {sight.difference}" if sight.difference else ""


def _drawn(image: Any, path: Path) -> str:
    """Writes the drawing, if there is one, and returns its path."""
    import io

    from trimtab import files

    if image is None:
        return ""
    stream = io.BytesIO()
    image.save(stream, format="PNG")
    files.write_bytes(path, stream.getvalue())
    return str(path)
