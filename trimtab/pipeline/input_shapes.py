"""The shapes of graph inputs as text, `data=1,3,224,224`, and the cameras in front of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from trimtab import camera
from trimtab.camera import Camera
from trimtab.errors import UsageError
from trimtab.importers.free_dimensions.bounds import STATE, Size, fixed, parsed
from trimtab.toml_table import TomlFile


def parse(inputs: Iterable[str]) -> dict[str, tuple[Size, ...]]:
    """["data=1..8,3,224,224"] -> {"data": ("1..8", 3, 224, 224)}; UsageError for anything else."""
    shapes: dict[str, tuple[Size, ...]] = {}
    for text in inputs:
        name, _, dims = text.rpartition("=")
        try:
            shape = parsed(dims)
        except UsageError:
            if ".." in dims:  # which says what is wrong with the bounds
                raise
            shape = ()
        if not name or not shape or _is_empty(shape):
            raise UsageError(
                f"cannot read the input shape {text!r}",
                hint="write it as NAME=1,3,224,224, or with bounds as NAME=1..8,3,64..640,64..640;"
                " NAME=@OUTPUT is a state, and NAME=16000 the value of an input without dimensions",
            )
        if name in shapes:
            raise UsageError(
                f"the input {name!r} has two shapes", hint="give every input one shape"
            )
        shapes[name] = shape
    return shapes


def _is_empty(shape: tuple[Size, ...]) -> bool:
    """Whether a shape has a size of 0; a single 0 may be the value of an input."""
    return len(shape) > 1 and any(isinstance(n, int) and n < 1 for n in shape)


def without_bounds(shapes: Mapping[str, tuple[Size, ...]]) -> dict[str, tuple[int, ...]]:
    """The shapes, if all sizes are numbers; UsageError otherwise."""
    sizes = fixed(shapes)
    if sizes is None:
        raise UsageError("bounds of an input do not fit here", hint="give each dimension one size")
    return sizes


class Inputs(NamedTuple):
    """Graph inputs in texts, by name: shapes, cameras in front of the network, and views of
    pictures, "" for the only one.
    """

    shapes: dict[str, tuple[Size, ...]]
    cameras: dict[str, Camera]
    views: dict[str, Camera]


def parse_all(inputs: Iterable[str], *, cameras: bool = True, views: bool = True) -> Inputs:
    """The shapes, the cameras such as `data=camera(nv12, 1920x1080) | yolo` and the views such as
    `auto` or `data=yolo` among texts, if these may be there; UsageError for anything else, and for
    two of one input.
    """
    shapes: list[str] = []
    result = Inputs({}, {}, {})
    for text in _without_files(inputs):
        if cameras and "=camera" in text:
            name, _, description = text.partition("=camera")
            if not name or name in result.cameras:
                problem = f"the input {name!r} has two cameras" if name else "a camera has no input"
                raise UsageError(problem, where=text, hint="write NAME=camera(...), once per input")
            result.cameras[name] = camera.parse(f"camera{description}")
        elif views and camera.is_view(text):
            name, view = camera.parse_view(text)
            if name in result.views:
                problem = f"the input {name!r} has two views" if name else "there are two views"
                raise UsageError(problem, where=text, hint="give the steps of an input once")
            result.views[name] = view
        else:
            shapes.append(text)
    return result._replace(shapes=parse(shapes))


def _without_files(inputs: Iterable[str]) -> Iterator[str]:
    """The texts, and those in the table `inputs` of TOML files among them."""
    for text in inputs:
        if not text.endswith(".toml"):
            yield text
            continue
        for name, description in read_use(text).inputs.items():
            yield f"{name}={description}"


def read_use(path: str) -> ModelUse:
    """The use of a model that a TOML file says; UsageError for a malformed one."""
    return TomlFile(Path(path), UsageError, hint="docs/camera.md").record(ModelUse)


@dataclass(frozen=True)
class ModelUse:
    """A TOML file beside a model: its inputs, as shapes or cameras, and its head."""

    inputs: Mapping[str, str] = field(default_factory=dict)
    head: str = ""


def text(shapes: Mapping[str, Iterable[Size]]) -> str:
    """{"a": (1, 3), "b": (4,)} -> "a=1,3 b=4"."""
    return " ".join(
        f"{name}={','.join(map(str, shape)).replace(f',{STATE}', STATE)}"
        for name, shape in shapes.items()
    )
