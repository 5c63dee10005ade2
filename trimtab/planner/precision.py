"""In which type each operator computes: docs/precision.md has the rules.

A program of `precision` f16 computes in f16 wherever the target's binary can; inputs and outputs of
the program stay what they are. Casts lie where a minimum cut says: an operator gains as much as it
has to do, and a tensor whose maker and readers differ costs a conversion, once. Which operators
compute on integers stands in the program already, as that takes samples
(`trimtab.quantization`); with `mixed` the plan says of the others which may compute in f16.
"""

from __future__ import annotations

from collections.abc import Mapping

from trimtab import schema
from trimtab.errors import PlanError
from trimtab.planner.float16 import halved
from trimtab.program import Op, Program
from trimtab.program.min_cut import INFINITE, SINK, SOURCE, MinCut
from trimtab.target import Target

PRECISIONS = ("f32", "f16", "int8", "mixed")
TYPES = PRECISIONS[:3]
"""What a plan of precision mixed may say of an operator."""

_FLOATS = ("f32", "f16")

# Estimates, in multiply-adds of float32: what an element costs to convert (it is loaded, converted
# and stored, where a vector of multiply-adds is one instruction), what an operator costs to call,
# and what an element that is computed in half the bytes saves.
_CONVERT, _CALL, _ELEMENT = 4, 4096, 1

# Where f16 is computed in float, element by element: slow, but what a developer tests on.
_EMULATES = "x86_64"

_STAY = "--precision f32, which it is by default"


def assign(
    program: Program, target: Target, precision: str, types: Mapping[str, str] | None = None
) -> Program:
    """`program` with the types of `precision` and casts between them; itself where it has them
    already. `types`: with mixed, those of operators, by name.

    PlanError when the target cannot compute in it, a constant does not fit, or integers are asked
    for that the program has not.
    """
    types = types or {}
    wanted = {precision} if precision != "mixed" else {*types.values()}
    if precision == "mixed" and not types:
        raise PlanError(
            "which operators compute in which type is not known",
            where="precision mixed",
            hint='--precision mixed --calibration FOLDER --budget "top1 >= 99 %" searches, or a '
            "plan with [precisions]",
        )
    if "int8" in wanted and not is_quantized(program):
        raise PlanError(
            "the network is not quantized, and what its integers stand for takes samples",
            where=f"precision {precision}",
            hint="--calibration FILE.npz or FOLDER, or trimtab.quantize(program, samples)",
        )
    if "f16" not in wanted or any(_is_half(program, op) for op in program.ops):
        return program
    _check(target)
    barred = {name for name, kind in types.items() if kind != "f16"}
    return _CastInserter(program, _choose(program, target, barred)).run()


def is_quantized(program: Program) -> bool:
    """Whether some of its tensors are quantized integers."""
    return any(var.quantization is not None for var in program.vars.values())


def has_half(target: Target) -> bool:
    """Whether f16 is computed in, and not only stored."""
    return any(k.family == "gemm" and k.dtype == "f16" and not k.portable for k in target.kernels())


def _is_half(program: Program, op: Op) -> bool:
    return any(program.vars[name].dtype == "f16" for name in op.outputs)


def can_compute_half(target: Target) -> bool:
    """Whether f16 is computed in somehow, if slowly."""
    return has_half(target) or target.arch == _EMULATES


def _check(target: Target) -> None:
    if not can_compute_half(target):
        raise PlanError(
            f"{target.name} has no arithmetic in f16",
            where="precision f16",
            hint="--weights f16 halves the weights in the file, and computes in f32",
        )


def _choose(program: Program, target: Target, barred: set[str]) -> set[int]:
    """The operators that compute in f16, by id(op): the source's side of the cut."""
    held = {(k.family, k.dtype) for k in target.kernels()}
    cut = MinCut()
    nodes = {}
    for op in program.ops:
        if op.name not in barred and _can(program, op, held):
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
        made = nodes.get(id(makers[name]), SINK) if name in makers else SINK
        read = {nodes.get(id(op), SINK) for op in readers.get(name, [])}
        if program.is_output(name):
            read.add(SINK)
        # One conversion serves all readers that disagree with the maker.
        cost = var.count * _CONVERT + _CALL
        some_single, some_half = cut.node(), cut.node()
        cut.add(made, some_single, cost)
        cut.add(some_half, made, cost)
        for reader in read:
            cut.add(some_single, reader, INFINITE)
            cut.add(reader, some_half, INFINITE)
    side = cut.source_side()
    return {op for op, node in nodes.items() if node in side}


def _port(op: Op, index: int) -> schema.Port:
    ports = op.schema.inputs
    return ports[min(index, len(ports) - 1)]


def _can(program: Program, op: Op, held: set[tuple[str, str]]) -> bool:
    """Whether the target's binary can compute `op` in f16."""
    if "f16" not in op.schema.dtypes or op.type == "cast":
        return False
    operands = [*op.inputs, *op.outputs]
    if not any(program.vars[name].dtype == "f32" for name in operands if name):
        return False
    for attribute in op.schema.attributes:
        families = attribute.families
        if "@activation" in families:
            activation = op.attributes[attribute.name.removesuffix("_kernel")]
            families = schema.operator(activation).families if activation else ()
        elif attribute.optional:
            continue
        if families and not any((family, "f16") in held for family in families):
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
    """Walks forward: results get the types of their operators, operands those that these want."""

    def __init__(self, program: Program, half: set[int]) -> None:
        self.program = program.copy()
        self.program.source = program.source or program
        ops = zip(program.ops, self.program.ops, strict=True)
        self.types = {id(twin): "f16" if id(op) in half else "f32" for op, twin in ops}
        self.twins: dict[tuple[str, str], str] = {}
        self.ops: list[Op] = []

    def run(self) -> Program:
        """The program with its types."""
        for op in self.program.ops:
            wanted = self.types[id(op)]
            op.inputs = [
                name if not name or _port(op, i).index else self._operand(name, wanted)
                for i, name in enumerate(op.inputs)
            ]
            self.ops.append(op)
            if wanted == "f16":
                self._halve_results(op)
        self.program.ops[:] = self.ops
        used = {name for op in self.ops for name in op.inputs}
        used |= {*self.program.inputs, *self.program.outputs}
        for var in list(self.program.constants()):
            if var.name not in used:
                del self.program.vars[var.name]
        return self.program

    def _operand(self, name: str, wanted: str) -> str:
        """`name` in the type `wanted`: itself, or a twin that is made before its reader."""
        name = self.twins.get((name, wanted), name)
        var = self.program.vars[name]
        if var.dtype not in _FLOATS or var.dtype == wanted:
            return name
        if var.data is not None:
            twin = self.program.block.add_constant(
                halved(var.data, name, _STAY), f"{name}.{wanted}"
            )
            self.program.vars[twin].layout = var.layout
        else:
            twin = self._cast(name, wanted, f"{name}.{wanted}")
        self.twins[name, wanted] = twin
        return twin

    def _cast(self, name: str, dtype: str, result: str) -> str:
        cast = self.program.block.make_op("cast", [name], {"to": dtype}, [result])
        self.program.vars[cast.outputs[0]].layout = self.program.vars[name].layout
        self.ops.append(cast)
        return cast.outputs[0]

    def _halve_results(self, op: Op) -> None:
        """Those that leave the program get a twin of their name, which is what it was."""
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
