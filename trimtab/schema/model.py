"""Operator schemas as plain data, and the facts that follow from them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from trimtab.errors import SchemaError

SPECIALIZED_TYPES = ("enum", "bool", "int")
MAX_CONSTANT = 255
"""The largest value of an attribute that a binary can be specialized for."""
FIELD_TYPES = ("int", "uint", "float", "double", "bool", "enum", "ints", "floats")
"""Types that the fields of a record may have."""
ATTRIBUTE_TYPES = (*FIELD_TYPES, "op", "kernel", "records")
_OPERAND_DTYPES = {"f32": 1, "f16": 2, "i8": 3, "u8": 4, "i32": 5, "i64": 6, "bool": 7}
DTYPES = _OPERAND_DTYPES | {"f64": 8, "i16": 9, "u16": 10, "u32": 11}
END_DTYPES = {"f64": "f32", "i16": "i32", "u16": "i32", "u32": "i64"}
"""Element types that only inputs and outputs of a network have, and the type in which operators
compute with them: `cast` converts between the two.
"""
SIZE_SOURCES = ("attributes", "tensor", "terms")
"""Where the sizes of results come from: attributes; elements of an operand, so that the operator
counts; terms of free dimensions, which are attributes, with an operand that has these dimensions.
"""
FIRST_PLUGIN_ID = 0x8000
"""The smallest id of an operator that a plug-in adds."""
LAYOUTS = ("any", "plain", "nhwc", "converts")
KINDS = ("", "unary", "binary", "movement", "reduction")
"""Families of operators that passes, the quantizer and the exporter treat alike."""


@dataclass(frozen=True)
class Port:
    """One input or output of an operator.

    `index`: holds i32 or i64 whatever the operator's dtypes are. `half`: may also hold f16 or i8,
    which the operator expands. `real`: holds f32 whatever the operator's dtypes are. `strided`: may
    be a channel slice of a larger NHWC tensor, so that its pixels are not contiguous. `in_place`
    (inputs only): an output may share this input's memory, because no input element is
    read after the output elements at its offset have been written. `overwritten` (inputs only): is
    a state, which the operator replaces: nothing reads it afterwards. `sizes`: one of
    `SIZE_SOURCES`, if the sizes of the results come from this operand instead of attributes.
    """

    name: str
    doc: str
    optional: bool = False
    constant: bool = False
    variadic: bool = False
    index: bool = False
    half: bool = False
    real: bool = False
    strided: bool = False
    in_place: bool = False
    overwritten: bool = False
    sizes: str = ""


@dataclass(frozen=True)
class Attribute:
    """One attribute of an operator.

    `default` is None when the attribute is required. `range`: [min, max] of an int, checked by the
    loader and the planner. `plan`: the planner sets it. `fields`: the attributes of each record,
    for an attribute of type "records". `specialized`: a binary whose models have one value of the
    attribute has code for that value only. `terms`: with sizes of terms, it has four numbers for
    each element. `onnx`: its name in ONNX, if another.
    """

    name: str
    type: str
    doc: str
    default: Any = None
    unit: str = ""
    length: int = 0
    range: tuple[int, ...] = ()
    values: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    optional: bool = False
    plan: bool = False
    specialized: bool = False
    terms: bool = False
    onnx: str = ""
    fields: tuple[Attribute, ...] = ()

    def number(self, value: Any) -> int:
        """The integer that a .ttm file has for a value of an enum, bool or int."""
        return self.values.index(value) if self.type == "enum" else int(value)

    @property
    def signature(self) -> str:
        """The text that defines how the attribute is encoded in a .ttm file."""
        inside = f"{{{','.join(f.signature for f in self.fields)}}}" if self.fields else ""
        return f"{self.name}:{self.type}{inside}:{'|'.join(self.values)}"


@dataclass(frozen=True)
class Macs:
    """The formula of an operator's multiply-accumulates: a sum of `terms`, each the product of some
    dimensions of some operands.
    """

    terms: tuple[tuple[tuple[str, slice], ...], ...]

    def count(self, shapes: Mapping[str, tuple[int, ...]]) -> int:
        """Multiply-accumulates for these shapes of inputs and outputs; terms of absent operands are
        0.
        """
        return sum(
            math.prod(math.prod(shapes[name][dims]) for name, dims in term)
            for term in self.terms
            if all(shapes.get(name) for name, _ in term)
        )


@dataclass(frozen=True)
class Operator:
    """The schema of one operator.

    `layout`: "nhwc" requires NHWC order of 4-D tensors, "plain" row-major order, "any" the same
    order for all of them, "converts" is the conversion itself. `typed`: there is a C++ class for
    each type of the first input. `prepares`: computes constants for other operators from constants,
    once per model load. `state`: such a constant is a state, which lasts until it is replaced, and
    which a reset computes again. `accepts_empty`: its result may have elements though an input has
    none. `counts`: the sizes of its results depend on data; shapes are then the largest ones.
    `joins`: it reads one of several branches, of which the others did not run.
    `checks`: it checks its inputs, or updates a state, and stays in a program without readers.
    `run_time`: registered by the process that runs it instead of compiled in
    (docs/run-time-plugins.md). `path`: the schema file, with the source file beside it.
    `replaces`: the built-in operator that a plug-in's operator replaces.

    Traits, which passes, the quantizer and the exporter read instead of operator names
    (docs/adding-an-operator.md):

    `kind`: one of `KINDS`. `onnx`: the ONNX operator with the same operands and attributes.
    `homogeneous`: f(s x) = s f(x) for every s > 0, in each channel separately. `commutative`: its
    two operands may be exchanged. `neutral`: the second operand that makes it the identity.
    `clamp`: [lower, upper] bound, each a number or an attribute, of an operator that only clamps.
    `slope`: the attribute or input that multiplies negative values, of an operator that changes no
    others. `moves_if`: attribute values under which it only moves elements; it does when all
    values of one row match. `channel_axis`: the axis of output channels, of an operator with
    weights and a bias for each. `quantized_as`: its counterpart on int8 values. `table`: an int8
    network computes it by a lookup table. `result_range`: the range of its results, known without
    calibration.
    """

    name: str
    id: int
    doc: str
    layout: str
    dtypes: tuple[str, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    attributes: tuple[Attribute, ...]
    depends: tuple[str, ...] = ()
    activation: bool = False
    fuses_activation: bool = False
    fuses_residual: bool = False
    view: bool = False
    prepares: bool = False
    state: bool = False
    accepts_empty: bool = False
    counts: bool = False
    joins: bool = False
    checks: bool = False
    typed: bool = False
    run_time: bool = False
    macs: Macs | None = None
    replaces: str = ""
    path: Path = Path()
    kind: str = ""
    onnx: str = ""
    homogeneous: bool = False
    commutative: bool = False
    neutral: float | None = None
    clamp: tuple[float | str, ...] = ()
    slope: str = ""
    moves_if: tuple[Mapping[str, Any], ...] = ()
    channel_axis: int | None = None
    quantized_as: str = ""
    table: bool = False
    result_range: tuple[float, ...] = ()

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name; SchemaError if the operator has no such attribute."""
        if name in self.attributes_by_name:
            return self.attributes_by_name[name]
        names = ", ".join(self.attributes_by_name) or "none"
        raise SchemaError(
            f"operator {self.name} has no attribute {name!r}", hint=f"its attributes: {names}"
        )

    @cached_property
    def attributes_by_name(self) -> Mapping[str, Attribute]:
        """The attributes, in their order."""
        return {attribute.name: attribute for attribute in self.attributes}

    @cached_property
    def input_indices(self) -> Mapping[str, int]:
        """The index of each input by name."""
        return {port.name: index for index, port in enumerate(self.inputs)}

    @cached_property
    def takes_all_types(self) -> bool:
        """True if it accepts every type that operators compute with, so that it can only move or
        convert elements.
        """
        return _OPERAND_DTYPES.keys() <= {*self.dtypes}

    @property
    def is_added(self) -> bool:
        """Whether a plug-in adds it."""
        return self.id >= FIRST_PLUGIN_ID

    @property
    def is_generated(self) -> bool:
        """True if the code generator writes its C++ source: a unary operator without a .cpp."""
        source = self.path.with_suffix(".cpp")
        return self.kind == "unary" and not self.run_time and not source.is_file()

    @cached_property
    def size_ports(self) -> Mapping[str, int]:
        """The first input of each source of sizes; empty if all sizes follow from attributes."""
        return {p.sizes: i for i, p in reversed([*enumerate(self.inputs)]) if p.sizes}

    @cached_property
    def overwritten(self) -> tuple[int, ...]:
        """The inputs that are states, which the operator replaces."""
        return tuple(i for i, port in enumerate(self.inputs) if port.overwritten)

    def moves(self, attributes: Mapping[str, Any]) -> bool:
        """True if, with these attributes, its results are elements of its first operand."""
        if self.kind != "movement":
            return False
        rows = self.moves_if or ({},)
        return any(all(attributes[k] == v for k, v in row.items()) for row in rows)

    def bounds(self, attributes: Mapping[str, Any]) -> tuple[float, float] | None:
        """The lower and upper bound of an operator that only clamps; None for any other."""
        if not self.clamp:
            return None
        low, high = (attributes[b] if isinstance(b, str) else b for b in self.clamp)
        return float(low), float(high)

    @property
    def families(self) -> tuple[str, ...]:
        """Micro-kernel families the operator may call; "@activation" stands for the families of
        every activation.
        """
        return tuple(f for a in self.attributes for f in a.families)

    @property
    def input_counts(self) -> tuple[int, int]:
        """Minimum and maximum number of inputs; the maximum is 255 if the last one is variadic."""
        return _counts(self.inputs)

    @property
    def output_counts(self) -> tuple[int, int]:
        """Minimum and maximum number of outputs."""
        return _counts(self.outputs)

    @cached_property
    def schema_hash(self) -> int:
        """32-bit hash of everything that defines the operator's encoding in a .ttm file.

        A reader refuses a file that contains an operator with another hash. Adding operators, or
        operands that sizes come from, does not make files unreadable.
        """
        attributes = ",".join(a.signature for a in self.attributes)
        inputs = _counts(tuple(port for port in self.inputs if not port.sizes))
        text = f"{self.id} {self.name} {inputs} {self.output_counts} {attributes}"
        if self.run_time:  # the engine computes the same hash when the operator is registered
            return name_hash(text)
        return int.from_bytes(sha256(text.encode())[:4], "little")

    @property
    def class_name(self) -> str:
        """The operator's name in C++."""
        return "".join(part.capitalize() for part in self.name.split("_"))


def sha256(data: bytes) -> bytes:
    """The SHA-256 digest of `data`."""
    import hashlib  # loads OpenSSL (3 MB), which a process that only runs models does not need

    return hashlib.sha256(data).digest()


def _counts(ports: tuple[Port, ...]) -> tuple[int, int]:
    required = sum(1 for p in ports if not p.optional)
    return required, 255 if any(p.variadic for p in ports) else len(ports)


@cache
def name_hash(name: str) -> int:
    """32-bit FNV-1a hash, which names kernels and families in .ttm files and generated tables."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value
