"""The outputs that a binary must compute before it may have a latency."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from trimtab.bench import golden, oracle
from trimtab.bench.golden import Golden
from trimtab.pipeline.loaded import Loaded
from trimtab.pipeline.plugin_nodes import plugin_nodes
from trimtab.pipeline.recipe import Shapes
from trimtab.planner.plan_file import Plan
from trimtab.planner.precision import can_compute_f16
from trimtab.program import Program
from trimtab.program.program import NUMPY_DTYPES
from trimtab.session import Session, optimize
from trimtab.target import Target


def expected_output(loaded: Loaded) -> Golden:
    """The expected outputs of a loaded network, with the tolerance of its precision."""
    plan, source = loaded.network.plan, loaded.network.program
    if loaded.network.quantized:
        expected = host_output(source, plan)
    else:
        expected = reference_output(loaded.path, source, loaded.recipe.shapes)
    # Weights stored in f16 are rounded like those of a network that computes in f16.
    types = (plan.precision, plan.weights_type, *plan.precisions.values(), expected.precision)
    is_half = "f16" in types
    return expected.within("f16" if is_half else "f32")


def reference_output(path: Path, source: Program, shapes: Shapes) -> Golden:
    """The outputs of a model file, from an independent engine if one reads the format.

    ONNX models run in onnxruntime, and nodes of plug-ins in the plug-in's reference. Other formats
    run on this machine with the portable kernels: that checks the device against the host, not the
    importer, and the record says so. A planned .ttm file runs as it is: PlanError if this machine
    lacks the kernels of its plan.
    """
    if path.suffix == ".onnx":
        return oracle.onnx_golden(path, shapes, plugin_nodes())
    return host_output(source)


def host_output(source: Program, plan: Plan | None = None) -> Golden:
    """The outputs that this machine computes from seeded inputs, in the precisions of `plan` if it
    can: after an f16 layer, other roundings give other int8 values.
    """
    inputs = [source.vars[name] for name in source.inputs]
    arrays = oracle.samples((var.shape, NUMPY_DTYPES[var.dtype]) for var in inputs)
    how = "the kernels of its plan" if source.planned else "trimtab's portable kernels"
    portable = Target.portable(Target.host().arch)
    precisions = Plan()
    if plan and can_compute_f16(portable):
        precisions = Plan(precision=plan.precision, precisions=plan.precisions)
    runnable = source if source.planned else optimize(source, portable, precisions)
    outputs = Session(runnable).run(dict(zip(source.inputs, arrays, strict=True)))
    return Golden(
        arrays,
        [outputs[name] for name in source.outputs],
        list(source.outputs),
        f"{how} on the host (not independent)",
        scales=_output_scales(source),
    )


def _output_scales(program: Program) -> list[float]:
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
