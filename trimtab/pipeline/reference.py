"""The outputs that a binary must compute before it may have a latency."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.bench import golden, oracle
from trimtab.bench.golden import Golden, RoundingLoss
from trimtab.errors import PlanError, WrongOutputError
from trimtab.importers.free_dimensions.bounds import largest, split_states
from trimtab.pipeline.loaded import Loaded
from trimtab.pipeline.plugin_nodes import plugin_nodes
from trimtab.pipeline.recipe import Shapes
from trimtab.planner.plan_file import WEIGHTS_TYPES, Plan
from trimtab.planner.precision import can_compute_f16
from trimtab.program import Program
from trimtab.program.block import NUMPY_DTYPES
from trimtab.quantization.accuracy import Deviation
from trimtab.session import Session, optimize
from trimtab.target import Target

Array = NDArray[Any]


def expected_output(loaded: Loaded) -> Golden:
    """The expected outputs of a loaded network, with the tolerance of its precision."""
    plan, source = loaded.network.plan, loaded.network.program
    if loaded.network.quantized or loaded.recipe.head:
        expected = host_output(source, plan)
    elif loaded.recipe.cameras:
        expected = _output_behind_cameras(loaded)
    else:
        expected = reference_output(loaded.path, source, loaded.recipe.shapes)
    # Weights stored in fewer bits are rounded like those of a network that computes in f16.
    types = (plan.precision, *plan.precisions.values(), expected.precision)
    is_half = "f16" in types or plan.weights_type != WEIGHTS_TYPES[0]
    expected = expected.within("f16" if is_half else "f32")
    measurement = loaded.recipe.measurement
    if not (measurement and measurement.settings.accept_wrong):
        _check_finite(expected)
    if not is_half:
        return replace(expected, rounding=_simulated_flips(source, expected))
    exact = source if loaded.network.quantized else loaded.source
    return replace(expected, rounding=simulated_rounding(exact, plan, expected.inputs, source))


def _check_finite(expected: Golden) -> None:
    """WrongOutputError if the reference itself computes values that are not finite."""
    for name, output in zip(expected.output_names, expected.outputs, strict=True):
        if output.dtype.kind == "f" and (count := np.count_nonzero(~np.isfinite(output))):
            raise WrongOutputError(
                f"{expected.oracle} computes NaN or infinity from seeded inputs: {count:,} of "
                f"{output.size:,} values",
                where=f"output {name}",
                hint="check the weights; if the network means it, --accept-wrong measures it, and "
                "compares these values by their kind",
            )


def simulated_rounding(
    source: Program, plan: Plan, inputs: Sequence[Array], rounded: Program | None = None
) -> list[RoundingLoss]:
    """The loss of each output by f16, as `plan` uses it: the program on this machine without it,
    and with it, then as `rounded` if other weights replace its own. Empty if this machine cannot
    compute it, or a value leaves the range of f16.
    """
    feed = dict(zip(source.inputs, inputs, strict=True))
    plain = {name: "f32" if dtype == "f16" else dtype for name, dtype in plan.precisions.items()}
    exact = Plan(precision="f32" if plan.precision == "f16" else plan.precision, precisions=plain)
    if {*plain.values()} == {"f32"}:
        exact = Plan()
    half = plan.numbers
    if source.planned:
        return []
    try:
        pairs = (source, exact), (rounded or source, half)
        one, other = (Session(program, plan=p).run(feed) for program, p in pairs)
    except PlanError:
        return []
    deviations = [Deviation.of(one[name], other[name]) for name in source.outputs]
    if any(deviation.not_finite for deviation in deviations):
        return []
    return [RoundingLoss(deviation.max_error, deviation.cosine) for deviation in deviations]


def _simulated_flips(source: Program, expected: Golden) -> list[RoundingLoss]:
    """The difference of each output of a network that trimtab quantized between the portable
    kernels, which computed `expected`, and the others of this machine. Empty for other networks.
    """
    if source.planned or not any(expected.scales) or expected.others:
        return []
    results = Session(source).run(dict(zip(source.inputs, expected.inputs, strict=True)))
    pairs = zip(expected.outputs, map(results.__getitem__, source.outputs), strict=True)
    deviations = [Deviation.of(*pair) for pair in pairs]
    if any(one.not_finite for one in deviations):
        return []
    return [RoundingLoss(one.max_error, one.cosine) for one in deviations]


def reference_output(path: Path, source: Program, shapes: Shapes) -> Golden:
    """The outputs of a model file, from an independent engine if one reads the format.

    ONNX models run in onnxruntime, and nodes of plug-ins in the plug-in's reference. Other formats
    run on this machine with the portable kernels: that checks the device against the host, not the
    importer, and the record says so. A planned .ttm file runs as it is: PlanError if this machine
    lacks the kernels of its plan.
    """
    if path.suffix != ".onnx":
        return host_output(source)
    shapes, states = split_states(shapes)
    return oracle.onnx_golden(path, largest(shapes), plugin_nodes(), states=states)


def _output_behind_cameras(loaded: Loaded) -> Golden:
    """The outputs for frames: those of the reference for the pictures that this machine makes of
    the frames.
    """
    source, cameras = loaded.source, loaded.recipe.cameras
    if loaded.path.suffix != ".onnx":
        return host_output(source)
    pictures = source.copy()
    readers = {name: source.block.consumers(name)[0] for name in cameras}
    pictures.outputs = [op.outputs[0] for op in readers.values()]
    frames = host_output(pictures)
    values = dict(zip(readers, frames.outputs, strict=True))
    shapes = largest(loaded.recipe.shapes)
    expected = oracle.onnx_golden(loaded.path, shapes, plugin_nodes(), values)
    inputs = [
        frame if name in cameras else drawn
        for name, frame, drawn in zip(source.inputs, frames.inputs, expected.inputs, strict=True)
    ]
    return replace(expected, inputs=inputs)


def host_output(source: Program, plan: Plan | None = None) -> Golden:
    """The outputs that this machine computes from seeded inputs, in the precisions of `plan` if it
    can: after an f16 layer, other roundings give other int8 values.
    """
    inputs = [source.vars[name] for name in source.inputs]
    arrays = oracle.samples((var.shape, NUMPY_DTYPES[var.dtype]) for var in inputs)
    how = "the kernels of its plan" if source.planned else "trimtab's portable kernels"
    outputs = host_session(source, plan).run(dict(zip(source.inputs, arrays, strict=True)))
    return Golden(
        arrays,
        [outputs[name] for name in source.outputs],
        list(source.outputs),
        f"{how} on the host (not independent)",
        scales=output_scales(source),
    )


def host_session(source: Program, plan: Plan | None = None) -> Session:
    """A program with the portable kernels of this machine, in the precisions of `plan` if it can;
    a planned one as it is.
    """
    if source.planned:
        return Session(source)
    portable = Target.portable(Target.host().arch)
    precisions = Plan()
    if plan and can_compute_f16(portable):
        precisions = Plan(precision=plan.precision, precisions=plan.precisions)
    return Session(optimize(source, portable, precisions))


def output_scales(program: Program) -> list[float]:
    """The quantization scale of each output, or of the last int8 values that it depends on; 0 if
    there are none.
    """

    def scale(names: Iterable[str]) -> float:
        stored = [program.vars[name] for name in names]
        scales = [max(v.quantization.scale) for v in stored if v.data is None and v.quantization]
        return max(scales, default=0.0)

    operators = [
        (op.inputs, op.outputs, 0.0 if scale(op.outputs) else scale(op.inputs))
        for op in program.ops
    ]
    scales = golden.output_scales(program.outputs, operators)
    # An int8 output itself is compared value by value.
    return [1.0 if scale([name]) else s for name, s in zip(program.outputs, scales, strict=True)]
