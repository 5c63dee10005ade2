"""Packing: weights in the order in which kernels read them.

kernels/kernel_api.h describes the formats; the order of the taps is the order in which the engine's
drivers (runtime/ops/window.h, conv_transpose.cpp) produce pointers. This package contains the
formats that several algorithms share; others are in the module of their algorithm.

Packed weights with padding or transforms are larger than the plain ones. They can also be packed at
load time, by an operator of the engine that `prepares` (docs/planner.md): the file then stores each
weight once, in an order that makes packing cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import PlanError
from trimtab.planner.float16 import to_f16
from trimtab.planner.kernel_calls import KernelCall
from trimtab.planner.packing import coding
from trimtab.planner.packing.int8 import LEAST_COLUMN, exact_scales, to_int8
from trimtab.program import Op, Program, Var, attributes
from trimtab.schema import operator
from trimtab.target import Target

Array = NDArray[Any]


@dataclass(frozen=True)
class Form:
    """A storage order of a constant: `run` produces it as a flat array. Operators with equal keys
    share the constant. `sizes`: the number of elements of each panel, for weights of a shape.
    """

    key: tuple[Any, ...]
    run: Callable[[Array], Array]
    sizes: Callable[[tuple[int, ...]], Sequence[int]] | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Preparation:
    """Packing of a constant at load time by the `operator` of that name, from its `stored` form,
    which holds every element once. `ready`: the stored form already is the packed one. `calls`:
    (kernel, call, count) of the kernel calls. `axis`: the dimension of the columns, if the operator
    also expands int8, coded or not, with a scale for each of them.
    """

    stored: Form
    operator: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    ready: bool = False
    calls: tuple[tuple[str, KernelCall, int], ...] = ()
    axis: int | None = None

    def is_done(self, stored: str, computed: str) -> bool:
        """Whether elements that are stored in a form and computed with as a dtype need no
        operator.
        """
        return self.ready and stored == computed


@dataclass(frozen=True)
class Packing(Form):
    """The packed form of a constant operand for a kernel. `at_load`: how the engine produces it, or
    None if only the file can contain it.
    """

    at_load: Preparation | None = None


@dataclass(frozen=True)
class Storage:
    """How the file stores an operator's weights: unpacked in the form `weights` if `at_load`, else
    packed. With f32, weights that are values of int8 with scales, or of f16, are stored so all the
    same; with int8 and coded forms, those that no scales fit as f16.
    """

    at_load: bool
    weights: str = "f32"

    def form_of(self, var: Var, axis: int | None) -> str:
        """How a constant is stored, whose columns are those of a dimension: as the weights of a
        float network, or as its dtype, which one that is packed already has.
        """
        is_stored = var.packed and var.data is not None
        if is_stored or var.dtype not in ("f32", "f16"):
            return var.dtype
        if axis is not None and var.count >= LEAST_COLUMN * var.shape[axis]:
            if self.weights in _SCALED:
                return self.weights
            if self.weights == "f32" and is_int8(var, axis):
                return "int8"
        return "f32" if var.dtype == self.weights == "f32" and not is_half(var) else "f16"


_SCALED = ("int8", *coding.FORMS)  # the forms with a scale for each output channel

_LEAST_BYTES = 1024  # of weights that are worth an operator that expands them
_SAMPLE = 256


def is_half(var: Var) -> bool:
    """Whether a constant of float32 has values of f16 alone, as the weights of a file that stores
    them as f16.
    """
    if var.data is None or var.bytes < _LEAST_BYTES:
        return False
    data = np.asarray(var.data).reshape(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        return all(
            np.array_equal(part.astype(np.float16).astype(np.float32), part)
            for part in (data[:_SAMPLE], data)
        )


def is_int8(var: Var, axis: int) -> bool:
    """Whether a constant of float32 has values of int8 with a scale for each index of `axis`."""
    if var.data is None or var.dtype != "f32" or var.bytes < _LEAST_BYTES:
        return False
    return exact_scales(np.asarray(var.data), axis) is not None


class Packer:
    """Replaces constants of a program by packed ones, each packed once: in the file, or by an
    operator of the engine if the target supports it.
    """

    def __init__(self, program: Program, target: Target) -> None:
        self.program = program
        self.target = target
        self.packed: dict[tuple[Any, ...], str] = {}
        self.preparations: list[Op] = []

    def pack(self, op: Op, packings: Mapping[int, Packing], storages: Sequence[Storage]) -> None:
        """Packs operands of `op`, which are stored so, by input index; PlanError if one is not a
        constant.
        """
        for index, packing in packings.items():
            if index >= len(op.inputs) or not op.inputs[index]:
                continue
            var = self.program.vars[op.inputs[index]]
            if var.data is None:
                raise PlanError(
                    f"input {op.schema.inputs[index].name} must be a constant",
                    where=f"operator {op.name} ({op.type})",
                    hint="use mat_mul for operands that are computed",
                )
            op.inputs[index] = self._packed(var, packing, storages[index])

    def _packed(self, var: Var, packing: Packing, storage: Storage) -> str:
        preparation = packing.at_load
        if (
            not storage.at_load
            or preparation is None
            or not self._supports(preparation, storage, var)
        ):
            return self._constant(var, packing, var.dtype)
        form = self._form(var, preparation, storage)
        stored = self._constant(var, preparation.stored, form, preparation.axis)
        if preparation.is_done(form, var.dtype):
            return stored
        key = (stored, packing.key)
        if key not in self.packed:
            name = self.program.block.new_name(f"{var.name}.packed")
            self.program.vars[name] = Var(name, var.shape, var.dtype, packed=True)
            bits = coding.FORMS.get(form, 8) if self.program.vars[stored].dtype == "u8" else 8
            scaled = {"bits": bits} if form in _SCALED else {}
            values = attributes.complete(
                operator(preparation.operator), {**preparation.attributes, **scaled}
            )
            self.preparations.append(Op(preparation.operator, [stored], [name], values, name))
            self.packed[key] = name
        return self.packed[key]

    def _form(self, var: Var, preparation: Preparation, storage: Storage) -> str:
        """How a constant is stored: coded weights need a binary with code for u8."""
        form, profile = storage.form_of(var, preparation.axis), self.target.profile
        is_missing = profile is not None and "u8" not in profile.dtypes
        return "int8" if form in coding.FORMS and is_missing else form

    def _supports(self, preparation: Preparation, storage: Storage, var: Var) -> bool:
        kernel = preparation.attributes.get("kernel", "")
        form = self._form(var, preparation, storage)
        return preparation.is_done(form, var.dtype) or (
            self.target.holds(preparation.operator)
            and (not kernel or kernel in self.target.kernel_names)
        )

    def _constant(self, var: Var, order: Form, form: str, axis: int | None = None) -> str:
        key = (var.name, order.key, form)
        if key not in self.packed:
            assert var.data is not None
            name = self.program.block.new_name(f"{var.name}.stored")
            self.program.vars[name] = _stored(var, name, order, form, axis)
            self.packed[key] = name
        return self.packed[key]

    def finish(self) -> None:
        """Inserts the packing operators before all others, where no activation needs memory, and
        removes the constants that nothing reads.
        """
        self.program.ops[:0] = self.preparations
        used = {name for op in self.program.ops for name in op.inputs} | set(self.program.outputs)
        for var in list(self.program.constants()):
            if var.name not in used:
                del self.program.vars[var.name]


def expanded(var: Var, form: str, axis: int | None) -> tuple[Array, int]:
    """The float32 values of weights that are stored in a form, and their bytes in the file."""
    data = np.asarray(var.data, np.float32)
    if axis is None or form not in _SCALED:
        halves = form == "f16"
        return (data.astype(np.float16).astype(np.float32) if halves else data), (
            data.nbytes >> halves
        )
    columns = data.shape[axis]
    dims = [columns if i == axis else 1 for i in range(data.ndim)]
    if form == "int8":
        steps, quantization = to_int8(data, axis)
        scales = np.asarray(quantization.scale, np.float32)
        return steps * scales.reshape(dims), data.size + 8 * columns
    steps, scales = coding.to_steps(data, axis, coding.FORMS[form])
    return steps * scales.reshape(dims), coding.estimated_bytes(steps, columns)


def _stored(var: Var, name: str, order: Form, form: str, axis: int | None) -> Var:
    """A constant in that order and form; `axis`: the dimension of its columns."""
    data = np.asarray(var.data)
    if form in coding.FORMS and axis is not None and order.sizes:
        steps, scales = coding.to_steps(data, axis, coding.FORMS[form])
        flat = coding.coded(order.run(steps), scales, order.sizes(var.shape))
        if flat.size < data.size:  # int8 takes no more otherwise
            return Var(name, flat.shape, "u8", data=flat, packed=True)
    if form in _SCALED and axis is not None:
        data, quantization = to_int8(data, axis)
        flat = order.run(data)
        return Var(name, var.shape, "i8", data=flat, packed=True, quantization=quantization)
    if form != var.dtype:
        data = to_f16(data, var.name, "store this network's weights as f32")
    return Var(name, var.shape, form, data=order.run(data), packed=True)
