"""Mistakes in words: of the pictures that a float32 network is shown, before anything is
quantized, and the layer of a quantized network that adds most noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from trimtab.accuracy import decibels
from trimtab.heads import HeadRequest
from trimtab.paths import PROGRAM
from trimtab.program import Program
from trimtab.quantization.accuracy import Reference, is_row, noise
from trimtab.quantization.calibration import run_on_samples
from trimtab.quantization.observer import Array
from trimtab.quantization.samples import Samples

_MAX_SAMPLES = 8
_SAME_CLASS = 5  # different pictures of one class, by chance, are fewer
_FLAT = 0.05  # of the way from equal probabilities to certainty


def preprocessing_warning(
    program: Program, samples: Samples, head: HeadRequest | None = None
) -> str:
    """The hint at wrong preprocessing in what a float32 network makes of samples, and what to look
    at; "" if nothing does. Seeded samples are no evidence.
    """
    if samples.is_seeded:
        return ""
    count = min(samples.count, _MAX_SAMPLES)
    shown = [samples.feed(i * samples.count // count) for i in range(count)]
    reference = Reference(program, Samples(count, shown.__getitem__), head)
    symptom = _symptom(reference, program)
    if not symptom:
        return ""
    ranges = "; ".join(_range(name, [feed[name] for feed in shown]) for name in program.inputs)
    origin = f" (pictures become inputs {samples.origin})" if samples.origin else ""
    return (
        f"the float32 network {symptom} in {count} sample{'s'[: count != 1]}, so the preprocessing "
        f"may be wrong{origin}. Look at the range of values ({ranges}), the order of channels (rgb "
        f"or bgr) and the layout; {PROGRAM} run MODEL --image FILE --input STEPS shows the result"
    )


def _symptom(reference: Reference, program: Program) -> str:
    """The suspicious fact of the results of the float32 network; "" if nothing is."""
    boxes = [rows for rows in reference.detected if rows is not None]
    if boxes and not any(map(len, boxes)):
        return "finds no box"
    first = program.outputs[0]
    if boxes or not is_row(program.vars[first].shape):
        return ""
    rows = [one[first].astype(np.float64).ravel() for one in reference.outputs]
    if not all(np.isfinite(row).all() for row in rows):
        return ""
    likeliest = float(np.mean([_probabilities(row).max() for row in rows]))
    if likeliest < 1 / rows[0].size + _FLAT * (1 - 1 / rows[0].size):
        return f"has a flat softmax (the likeliest class has {likeliest:.1%})"
    classes = {int(row.argmax()) for row in rows}
    if len(rows) >= _SAME_CLASS and len(classes) == 1:
        return f"finds one class only ({classes.pop()})"
    return ""


def _probabilities(row: Array) -> Array:
    """The scores of one picture as probabilities, which they may be already."""
    if row.min() >= 0 and abs(row.sum() - 1) < 0.01:
        return row
    powers = np.exp(row - row.max())
    return np.asarray(powers / powers.sum())


def _range(name: str, values: Sequence[Array]) -> str:
    low, high = min(v.min() for v in values), max(v.max() for v in values)
    return f"{name} is {low:.4g} to {high:.4g}"


def worst_layer(reference: Program, program: Program, samples: Samples) -> str:
    """The operator of `reference`, a simplified float32 program, that adds most noise of its own in
    its quantized twin, by the first sample: its name and the ratio of signal to noise; "" without
    any noise.
    """
    ops = {
        op.name: op
        for op in reference.ops
        if op.outputs[0] in program.vars and not op.schema.moves(op.attributes)
    }
    names = [n for op in ops.values() if reference.vars[n := op.outputs[0]].dtype == "f32"]
    observed: list[Mapping[str, Array]] = []

    def keep(_: int, values: Mapping[str, Array]) -> None:
        observed.append({name: values[name] for name in names})

    one = Samples(1, samples.feed)
    for each in (reference, program):
        run_on_samples(each, names, one, "looking for the worst layer", keep)
    noises = noise([observed[0]], [observed[1]])
    added = {
        op.name: noises[op.outputs[0]] - max((noises.get(n, 0.0) for n in op.inputs), default=0.0)
        for op in ops.values()
        if op.outputs[0] in noises
    }
    worst = max(added, key=added.__getitem__, default="")
    if not worst or added[worst] <= 0:
        return ""
    return f"{worst} ({ops[worst].type}), {decibels(noises[ops[worst].outputs[0]])}"
