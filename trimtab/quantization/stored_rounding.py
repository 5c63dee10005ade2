"""Rounds weights that are stored as int8 or coded jointly, so that the float network which reads
them back changes least on samples.

It is the adaptive rounding of int8 networks. Biases stay as they are, so that errors are weighted
by the operands' second moments, which include the means, in place of their covariance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from trimtab import passes
from trimtab.accuracy import Accuracy
from trimtab.heads import HeadRequest
from trimtab.passes.fuse_qdq_conv import is_weighted
from trimtab.planner.packing import Storage, coding, expanded
from trimtab.planner.packing.int8 import to_int8
from trimtab.planner.plan_file import Choice, Plan
from trimtab.program import Op, Program, Var
from trimtab.progress import SILENT, Progress
from trimtab.quantization.accuracy import Reference
from trimtab.quantization.adaptive_rounding import rounded
from trimtab.quantization.calibration import operand_moments
from trimtab.quantization.samples import Samples

Array = NDArray[Any]

FORMS = ("int8", *coding.FORMS)
"""The forms that samples round weights to."""

_OPERAND_ERROR = 0.01  # that the operands may have, as a part of their root mean square


def with_rounded_weights(
    program: Program,
    plan: Plan,
    samples: Samples,
    progress: Progress = SILENT,
    head: HeadRequest | None = None,
) -> tuple[Program, Accuracy]:
    """A float32 network whose weights are rounded as `plan` stores them, and its accuracy on the
    held-out samples: `program` itself, an unoptimized one whose weights the planner rounds to
    nearest, if rounding them jointly is not better there.
    """
    reference = Reference(program, samples.held_out, head)
    nearest = reference.compare(program, progress, plan.numbers)
    simple = simplified(program)
    forms = {
        name: (plan.storage(Choice(), planned).weights,)
        for name, planned in planned_names(simple).items()
    }
    joint_values = joint_weights(simple, samples.calibrating, forms, progress)
    values = {name: value for name, by_form in joint_values.items() for value in by_form.values()}
    twin = with_weights(program, values)
    joint = reference.compare(twin, progress, plan.numbers)
    is_better = (joint.noise or 0.0, joint.mean_error) < (nearest.noise or 0.0, nearest.mean_error)
    return (twin, joint) if is_better else (program, nearest)


def simplified(program: Program) -> Program:
    """A copy whose weights are those that a planned file stores."""
    return passes.simplify(program, before="fuse_residual")


def planned_names(simple: Program) -> dict[str, str]:
    """The name that each operator with weights of a simplified program has in a plan: a sum that it
    is fused with names it.
    """
    optimized = passes.optimize(simple)
    readers = {name: op.name for op in optimized.ops for name in op.inputs}
    return {op.name: readers.get(op.inputs[1], op.name) for op in simple.ops if is_weighted(op)}


def joint_weights(
    simple: Program,
    samples: Samples,
    forms: Mapping[str, Sequence[str]],
    progress: Progress = SILENT,
) -> dict[str, dict[str, Array]]:
    """The rounded weights of a simplified program, float32, by operator and by its `forms`:
    products of int8 and the scales that the planner finds again. Operators whose weights are shared
    or too deep for it, and forms that do not store them, are absent.
    """
    readers = Counter(name for op in simple.ops for name in op.inputs)
    weighted = {op.name: op for op in simple.ops if is_weighted(op)}
    values: dict[str, dict[str, Array]] = {}
    with threadpool_limits(1, user_api="blas"):  # other threads would take cores from inferences
        for name, moments in operand_moments(simple, samples, progress).items():
            var, second = simple.vars[weighted[name].inputs[1]], moments.second
            axis = columns_of(weighted[name], var)
            error = _OPERAND_ERROR * float(np.sqrt(second.diagonal.mean())) * 12**0.5
            for form in forms.get(name, ()):
                if (
                    readers[var.name] == 1
                    and Storage(True, form).form_of(var, axis) == form in FORMS
                ):
                    scales = _scales(np.asarray(var.data), form)
                    steps = rounded(np.asarray(var.data), scales, second, error)
                    value = steps * scales.reshape(-1, *[1] * (steps.ndim - 1))
                    twin = Var(var.name, var.shape, var.dtype, data=value)
                    if np.array_equal(expanded(twin, form, axis)[0], value):
                        values.setdefault(name, {})[form] = value
    return values


def _scales(weights: Array, form: str) -> Array:
    """The scales of output channels in a form, float32."""
    if bits := coding.FORMS.get(form):
        return coding.to_steps(weights, 0, bits)[1]
    return np.asarray(to_int8(weights, 0)[1].scale, np.float32)


def with_weights(program: Program, values: Mapping[str, Array]) -> Program:
    """A simplified copy with these weights of its operators; `program` itself if there are none."""
    if not values:
        return program
    twin = simplified(program)
    for op in twin.ops:
        if is_weighted(op) and op.name in values:
            twin.vars[op.inputs[1]].data = values[op.name]
    return twin


def columns_of(op: Op, var: Var) -> int | None:
    """The dimension of an operator's weights that has a scale for each index; None if none has."""
    group, is_deep = int(op.attributes.get("group", 1)), op.type == "conv_transpose"
    return (1 if is_deep else 0) if group == 1 or (not is_deep and var.shape[1] > 1) else None
