"""Precision: in which dtype each operator computes. docs/precision.md has the rules.

A program of `precision` f16 computes in f16 wherever the target's binary can; graph inputs and
outputs keep their dtypes. A minimum cut decides where casts are inserted: an operator in f16 gains
in proportion to its work, and a tensor whose producer and consumers differ costs one conversion.
Quantization needs samples, so the program itself already says which operators compute on int8
values (`trimtab.quantization`); the plan says which of the others may compute in f16.
"""

from __future__ import annotations

from collections.abc import Mapping

from trimtab import schema
from trimtab.errors import PlanError
from trimtab.planner.float16 import to_f16
from trimtab.program import Op, Program, lineage
from trimtab.program.min_cut import SINK, SOURCE, MinCut
from trimtab.target import Target

AUTO = "auto"
"""Stands for the fastest precision that keeps the accuracy, which samples decide."""

PRECISIONS = ("f32", "f16", "int8", "mixed", AUTO)
TYPES = PRECISIONS[:3]
"""The dtypes that a plan of precision mixed may assign to an operator."""

_FLOATS = ("f32", "f16")

# Estimates in float32 multiply-adds: conversion of one element (load, convert, store, where a
# vector of multiply-adds is one instruction), call of one operator, and the saving per element that
# is computed in half the bytes.
CONVERT, CALL, _ELEMENT = 4, 4096, 1

# The architecture that emulates f16 in float32, element by element: slow, for tests on developers'
# machines.
_EMULATES = "x86_64"

_F32_HINT = "--precision f32, which is the default"


def assign(
    program: Program, target: Target, precision: str, types: Mapping[str, str] | None = None
) -> Program:
    """Assigns dtypes for `precision` and inserts casts; returns `program` itself if it has them
    already. `types`: for int8 and mixed, the dtype of each operator by name.

    PlanError if the target does not support the dtype, a constant does not fit, or int8 is
    requested for a program that is not quantized.
    """
    types = types or {}
    requested = {precision, *types.values()} - {"mixed", AUTO}
    if precision in ("mixed", AUTO) and not types:
        raise PlanError(
            f"precision {precision} needs the precision of each operator",
            where=f"precision {precision}",
            hint='--precision mixed --calibration FOLDER --budget "top1 >= 99 %" searches, or a '
            "plan with [precisions]",
        )
    if "int8" in requested and not is_quantized(program):
        raise PlanError(
            "the network is not quantized, and quantization needs samples",
            where=f"precision {precision}",
            hint="--calibration FILE.npz or FOLDER, or trimtab.quantize(program, samples)",
        )
    if "f16" not in requested or any(_computes_f16(program, op) for op in program.ops):
        return program
    check_target(target)
    return _CastInserter(program, _choose(program, target, _excluded(program, types))).run()


def _excluded(program: Program, types: Mapping[str, str]) -> set[str]:
    """The operators that may not compute in f16: those that `types` names, and those that they are
    fused with, such as the sum that has the name of a convolution, too.
    """
    names = {name for name, dtype in types.items() if dtype != "f16"}
    fused = names - {op.name for op in program.ops}
    if not fused or not program.source:
        return names
    becomes = zip(program.source.ops, lineage.successors(program.source, program), strict=True)
    indices = {index for op, index in becomes if op.name in fused and index is not None}
    return names | {program.ops[index].name for index in indices}


def is_quantized(program: Program) -> bool:
    """Whether any tensor of the program is quantized."""
    return any(v.quantization is not None and not v.packed for v in program.vars.values())


def has_f16_kernels(target: Target) -> bool:
    """Whether the target has f16 arithmetic, not only conversions."""
    return any(k.family == "gemm" and k.dtype == "f16" and not k.portable for k in target.kernels())


def _computes_f16(program: Program, op: Op) -> bool:
    """Whether a program whose dtypes are assigned may have `op`. Others, too, can convert and move
    f16 values, those of f16 graph inputs and outputs.
    """
    is_f16 = any(program.vars[name].dtype == "f16" for name in op.outputs)
    return is_f16 and not op.schema.takes_all_types


def _has_f32(program: Program, op: Op) -> bool:
    return any(program.vars[name].dtype == "f32" for name in (*op.inputs, *op.outputs) if name)


def _is_between_floats(program: Program, op: Op) -> bool:
    """Whether `op` converts f16 to f32 or f32 to f16."""
    if op.type != "cast":
        return False
    return {program.vars[name].dtype for name in (*op.inputs, *op.outputs)} == {*_FLOATS}


def can_compute_f16(target: Target) -> bool:
    """Whether the target can compute in f16, natively or emulated."""
    return has_f16_kernels(target) or target.arch == _EMULATES


def check_target(target: Target) -> None:
    """PlanError if the target cannot compute in f16."""
    if not can_compute_f16(target):
        raise PlanError(
            f"{target.name} has no f16 arithmetic",
            where="precision f16",
            hint="--weights f16 halves the weights in the file and computes in f32",
        )


def _choose(program: Program, target: Target, excluded: set[str]) -> set[int]:
    """The operators that compute in f16, by id(op): the source side of the cut."""
    families = {(k.family, k.dtype) for k in target.kernels()}
    cut = MinCut()
    # A conversion of the program has its f16 side for nothing: it disappears beside f16.
    nodes = {id(op): SOURCE for op in program.ops if _is_between_floats(program, op)}
    conversions = set(nodes)
    for op in program.ops:
        if op.name not in excluded and _supports_f16(program, op, families):
            nodes[id(op)] = cut.node()
            cut.add(SOURCE, nodes[id(op)], _gain(program, op))
    makers = {name: op for op in program.ops for name in op.outputs}
    readers: dict[str, list[Op]] = {}
    for op in program.ops:
        for index, name in enumerate(op.inputs):
            if name and not _port(op, index).index:
                readers.setdefault(name, []).append(op)
    for name, var in program.vars.items():
        if var.dtype != "f32" or var.data is not None:
            continue
        producer = nodes.get(id(makers[name]), SINK) if name in makers else SINK
        consumers = {nodes.get(id(op), SINK) for op in readers.get(name, [])}
        if program.is_output(name):
            consumers.add(SINK)
        cut.add_conversion(producer, consumers, var.count * CONVERT + CALL)
    side = cut.source_side()
    return {op for op, node in nodes.items() if node in side} - conversions


def _port(op: Op, index: int) -> schema.Port:
    ports = op.schema.inputs
    return ports[min(index, len(ports) - 1)]


def _supports_f16(program: Program, op: Op, kernel_families: set[tuple[str, str]]) -> bool:
    """Whether the kernels of the target's binary can compute `op` in f16."""
    if "f16" not in op.schema.dtypes or op.type == "cast" or op.schema.checks or op.schema.prepares:
        return False
    if not _has_f32(program, op):
        return False
    for attribute in op.schema.attributes:
        families = attribute.families
        if "@activation" in families:
            activation = op.attributes[attribute.name.removesuffix("_kernel")]
            families = schema.operator(activation).families if activation else ()
        elif attribute.optional:
            continue
        if families and not any((family, "f16") in kernel_families for family in families):
            return False
    return True


def _gain(program: Program, op: Op) -> int:
    elements = sum(program.vars[name].count for name in op.outputs)
    macs = 0
    if op.schema.macs:
        ports = zip(op.schema.inputs, op.inputs, strict=False)
        shapes = {port.name: program.vars[name].shape for port, name in ports if name}
        outputs = zip(op.schema.outputs, op.outputs, strict=False)
        shapes |= {port.name: program.vars[name].shape for port, name in outputs}
        macs = op.schema.macs.count(shapes)
    return macs // 2 + elements * _ELEMENT


class _CastInserter:
    """Inserts casts in one forward walk: results get the dtypes of their operators, and operands
    are cast to the dtypes that their consumers need.
    """

    def __init__(self, program: Program, f16_ops: set[int]) -> None:
        self.program = program.copy()
        self.program.source = program.source or program
        ops = list(zip(program.ops, self.program.ops, strict=True))
        self.types = {
            id(twin): "f16" if id(op) in f16_ops else "f32"
            for op, twin in ops
            if _has_f32(program, op)
        }
        self.conversions = {id(twin) for op, twin in ops if _is_between_floats(program, op)}
        self.twins: dict[tuple[str, str], str] = {}
        self.ops: list[Op] = []

    def run(self) -> Program:
        """The program with casts."""
        for op in self.program.ops:
            if id(op) in self.conversions:
                self._convert(op)
                continue
            if id(op) not in self.types:
                self.ops.append(op)
                continue
            dtype = self.types[id(op)]
            op.inputs = [
                name if not name or _port(op, i).index else self._operand(name, dtype)
                for i, name in enumerate(op.inputs)
            ]
            self.ops.append(op)
            if dtype == "f16":
                self._convert_results(op)
        self.program.ops[:] = self.ops
        self._remove_unread()
        used = {name for op in self.ops for name in op.inputs}
        used |= {*self.program.inputs, *self.program.outputs}
        for var in list(self.program.constants()):
            if var.name not in used:
                del self.program.vars[var.name]
        return self.program

    def _convert(self, op: Op) -> None:
        """Adds a conversion of the program itself, unless its operand has become f16."""
        (x,), (y,) = op.inputs, op.outputs
        program, half = self.program, self.twins.get((x, "f16"), x)
        if program.vars[half].dtype != "f16" or program.vars[y].dtype != "f16":
            narrow, wide = (y, x) if program.vars[y].dtype == "f16" else (x, y)
            self.twins[wide, "f16"] = narrow
        elif not program.is_output(y):
            self._rename(y, half)
            return
        elif half not in program.inputs and not program.is_output(half):
            self._rename(half, y)
            return
        else:
            op.inputs = [half]
        self.ops.append(op)

    def _rename(self, old: str, new: str) -> None:
        """Makes `new` the name of the f16 tensor that has both names."""
        var = self.program.vars.pop(old)
        self.program.vars.setdefault(new, var).name = new
        for op in {id(op): op for op in (*self.program.ops, *self.ops)}.values():
            op.inputs = [new if name == old else name for name in op.inputs]
            op.outputs = [new if name == old else name for name in op.outputs]
        self.twins = {
            (new if name == old else name, dtype): new if twin == old else twin
            for (name, dtype), twin in self.twins.items()
        }

    def _remove_unread(self) -> None:
        """Removes conversions that no operator reads any more."""
        read = {*self.program.outputs, *(name for op in self.program.ops for name in op.inputs)}
        for op in list(self.program.ops):
            if op.type == "cast" and read.isdisjoint(op.outputs):
                self.program.ops.remove(op)
                del self.program.vars[op.outputs[0]]

    def _operand(self, name: str, dtype: str) -> str:
        """`name` as `dtype`: itself, or a converted twin that is computed before its consumer."""
        name = self.twins.get((name, dtype), name)
        var = self.program.vars[name]
        if var.dtype not in _FLOATS or var.dtype == dtype:
            return name
        if var.data is not None:
            twin = self.program.block.add_constant(
                to_f16(var.data, name, _F32_HINT), f"{name}.{dtype}"
            )
            self.program.vars[twin].layout = var.layout
        else:
            twin = self._cast(name, dtype, f"{name}.{dtype}")
        self.twins[name, dtype] = twin
        return twin

    def _cast(self, name: str, dtype: str, result: str) -> str:
        cast = self.program.block.make_op("cast", [name], {"to": dtype}, [result])
        self.program.vars[cast.outputs[0]].layout = self.program.vars[name].layout
        self.ops.append(cast)
        return cast.outputs[0]

    def _convert_results(self, op: Op) -> None:
        """Makes the results f16. A graph output keeps its name and dtype through a cast."""
        block = self.program.block
        for index, name in enumerate(op.outputs):
            var = block.vars[name]
            if var.dtype != "f32":
                continue
            if self.program.is_output(name):
                var = block.vars.pop(name)
                var.name = block.new_name(f"{name}.f16")
                block.vars[var.name] = var
                op.outputs[index] = var.name
                var.dtype = "f16"
                self._cast(var.name, "f32", name)
                self.twins[name, "f16"], self.twins[name, "f32"] = var.name, name
            else:
                var.dtype = "f16"
