"""Proves what a head takes a network's tensors for, before it is attached."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import TrimtabError, UsageError
from trimtab.heads._reading import Reading, Values
from trimtab.heads._request import HeadRequest
from trimtab.heads._trace import CAMERA, CHANNELS, image_sizes, is_alone, on_strides
from trimtab.program import Program, Var
from trimtab.program.block import NUMPY_DTYPES
from trimtab.session import Session

_TOLERANCE = 0.01  # of a value in a run: a step of int8 numbers
_PROBABILITIES = ("sigmoid", "hard_sigmoid", "softmax", "softmax_columns")


@dataclass(frozen=True)
class Proof:
    """A head's reading that nothing contradicts. `request`: with the head's own name; `program`:
    the network, whose outputs are the tensors that the head reads; `reasons`: what proves it.
    """

    request: HeadRequest
    reading: Reading
    program: Program
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        tensors = ", ".join(f"{n} {list(self.program.vars[n].shape)}" for n in self.program.outputs)
        reading = self.reading
        rows = f"{reading.rows:,} boxes" if reading.rows else ""
        count = reading.classes
        classes = f"{count:,} class{'es' * (count > 1)}" if count else ""
        form = " of ".join(filter(None, (rows, classes)))
        text = f"head {self.request.name} reads {tensors}" + (f" as {form}" if form else "")
        return f"{text}: {'; '.join(self.reasons)}" if self.reasons else text


def reasons(program: Program, reading: Reading, request: HeadRequest) -> tuple[str, ...]:
    """The facts that prove a reading of the outputs of `program`; UsageError if one contradicts it,
    or if nothing says where the boxes and where the classes are.
    """
    counts = [*_names(program, reading, request), *_grids(program, reading, request)]
    return *counts, *_run(program, reading, request)


def _refused(program: Program, request: HeadRequest, what: str, hint: str) -> UsageError:
    tensors = ", ".join(f"{name} {list(program.vars[name].shape)}" for name in program.outputs)
    what = f"the head {request.name} does not fit {tensors}: {what}"
    return UsageError(what, where=program.name, hint=hint)


def _other_heads(program: Program, request: HeadRequest) -> str:
    others = [name for name in program.hints.heads if name != request.name]
    of_file = f": the file's may be {', '.join(others)}" if others else ""
    return f"name the head whose form this is (docs/boxes.md){of_file}"


def _names(program: Program, reading: Reading, request: HeadRequest) -> Iterator[str]:
    """Classes against the names of the model's file, or the user's."""
    labels, source = program.hints.labels, "the file"
    if request.labels:
        labels, source = request.labels, "labels"
    named = {reading.classes, reading.classes - 1} if reading.has_background else {reading.classes}
    if request.classes and reading.classes:
        yield "as classes= says"
    elif labels and reading.classes and len(labels) not in named:
        entry = f" ({program.hints.entry})" if program.hints.entry else ""
        raise _refused(
            program,
            request,
            f"it would read {reading.classes:,} classes, and {source} names {len(labels):,}{entry}",
            f"{_other_heads(program, request)}; or {request.name}:classes={reading.classes} if the "
            "number is right, or labels=FILE with its names",
        )
    elif labels and reading.classes:
        yield f"{source} names {len(labels):,}"


def _grids(program: Program, reading: Reading, request: HeadRequest) -> Iterator[str]:
    """Rows against the places of the image's grids; other rows have more boxes than classes."""
    sizes = [*image_sizes(program)]
    if not reading.on_grids or not sizes:
        return
    fitting = (on_strides(size, reading.rows, reading.on_grids) for size in sizes)
    strides = next(filter(None, fitting), ())
    if strides:
        yield f"as many as places of strides {strides[0]} to {strides[-1]}"
    elif reading.classes > reading.rows and not (
        request.classes or request.labels or program.hints.labels
    ):
        height, width = sizes[0]
        raise _refused(
            program,
            request,
            f"{reading.rows:,} boxes of {reading.classes:,} classes are not the places of an image "
            f"of {width} x {height}, and the file names no classes",
            f"{request.name}:classes={reading.classes} if that is right; yolov10 reads boxes that "
            "the network has chosen, rt_detr and detr those of queries",
        )


def _run(program: Program, reading: Reading, request: HeadRequest) -> Iterator[str]:
    """Values of a picture of noise against their limits."""
    unproven = [values for values in reading.values if not _is_probability(program, values)]
    results = _results(program, [values.tensor for values in unproven]) if unproven else None
    if results is None:
        return
    shown = []
    for values in unproven:
        part = _of_axis(results[values.tensor], values)
        low, high = (float(v) for v in (part.min(initial=np.inf), part.max(initial=-np.inf)))
        fits = not part.size or (
            low >= values.low - _TOLERANCE and high <= values.high + _TOLERANCE
        )
        if values.ordered and _disorder(part, values.axis) > _TOLERANCE:
            raise _refused(
                program,
                request,
                f"in a run with noise, right and bottom of {_disorder(part, values.axis):.0%} of "
                "its boxes are before left and top",
                f"{_other_heads(program, request)}; or --tensor names the tensors of this one",
            )
        if values.in_pixels and 0 < high <= 1:
            raise _refused(
                program,
                request,
                f"its {values.what} would be in pixels, and in a run with noise they are from "
                f"{low:.4g} to {high:.4g}",
                f"{_other_heads(program, request)}; or {request.name}:relative if they are so",
            )
        is_whole = not values.whole or np.all(np.abs(part - np.round(part)) < _TOLERANCE)
        if not fits or not is_whole:
            kind = "whole numbers " if values.whole else ""
            last = f" to {values.high:g}" if math.isfinite(values.high) else ""
            raise _refused(
                program,
                request,
                f"its {values.what} would be {kind}from {values.low:g}{last}, and in a run with "
                f"noise they are {'' if is_whole else 'fractions '}from {low:.4g} to {high:.4g}",
                f"{_other_heads(program, request)}; or --tensor names the tensors of this one",
            )
        order = ", in order" if values.ordered else ""
        shown.append(f"{values.what} from {low:.3g} to {high:.3g}{order}")
    yield f"in a run with noise {', '.join(shown)}"


def _of_axis(result: NDArray[np.float32], values: Values) -> NDArray[np.float32]:
    """The elements of a result, which may have fewer rows in this run."""
    end = min(values.end, result.shape[values.axis])
    return np.take(result, range(values.start, end), values.axis)


def _disorder(corners: NDArray[np.float32], axis: int) -> float:
    """The share of boxes whose ends are before their beginnings."""
    begin, end = np.split(corners, 2, axis)
    return float(np.mean((end < begin - _TOLERANCE).any(axis)))


def _is_probability(program: Program, values: Values) -> bool:
    producer = program.block.producer(values.tensor)
    is_unit = (values.low, values.high, values.whole) == (0, 1, False)
    return is_unit and producer is not None and producer.type in _PROBABILITIES


def _results(program: Program, names: Sequence[str]) -> dict[str, NDArray[np.float32]] | None:
    """Tensors that follow from pictures alone, for pictures of noise; None if others decide, or
    nothing on this machine can run the network.
    """
    sample = program.copy()
    sample.keep_only(dict.fromkeys(names))
    _leave_out_cameras(sample)
    read = {name for op in sample.ops for name in op.inputs}
    is_fed = all(_is_picture(sample.vars[name]) for name in sample.inputs if name in read)
    if not is_fed or not {*sample.inputs}.isdisjoint(sample.outputs):
        return None
    rng = np.random.default_rng(1)
    try:
        session = Session(sample, cache=False)
        values = session.run({name: _noise(sample.vars[name], rng) for name in sample.inputs})
    except TrimtabError:
        return None
    return {name: _real(sample.vars[name], array) for name, array in values.items()}


def _leave_out_cameras(program: Program) -> None:
    """Makes the pixels that cameras compute inputs."""
    for op in [op for op in program.ops if op.type == CAMERA]:
        program.block.ops.remove(op)
        program.inputs = [op.outputs[0] if i == op.inputs[0] else i for i in program.inputs]
        for name in (op.inputs[0], *op.outputs[1:]):
            del program.vars[name]


def _is_picture(var: Var) -> bool:
    is_image = len(var.shape) == 4 and not {var.shape[1], var.shape[3]}.isdisjoint(CHANNELS)
    return (is_image or is_alone(var.shape)) and var.dtype in ("f32", "f16", "i8", "u8")


def _noise(var: Var, rng: np.random.Generator) -> NDArray[np.generic]:
    if var.dtype in ("f32", "f16"):
        return rng.random(var.shape, np.float32).astype(NUMPY_DTYPES[var.dtype])
    if var.dtype in ("i8", "u8"):
        return rng.integers(0, 256, var.shape, np.uint8).view(NUMPY_DTYPES[var.dtype])
    return np.ones(var.shape, NUMPY_DTYPES[var.dtype])


def _real(var: Var, array: NDArray[np.generic]) -> NDArray[np.float32]:
    if var.quantization is not None:
        return var.quantization.dequantize(array)
    return array.astype(np.float32)
