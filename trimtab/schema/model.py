"""What a schema says of an operator: plain data, and what follows from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from trimtab.errors import SchemaError

FIELD_TYPES = ("int", "uint", "float", "double", "bool", "enum", "ints", "floats")
"""What the fields of a record may be."""
ATTRIBUTE_TYPES = (*FIELD_TYPES, "op", "kernel", "records")
DTYPES = {"f32": 1, "f16": 2, "i8": 3, "u8": 4, "i32": 5, "i64": 6, "bool": 7}
LAYOUTS = ("any", "plain", "nhwc", "converts")


@dataclass(frozen=True)
class Port:
    """One input or output of an operator.

    `index`: holds i32 or i64 whatever the operator's dtypes are. `half`: may also hold f16, which
    is computed with as f32. `real`: holds f32 whatever the operator's dtypes are. `strided`: may
    be some channels of a larger NHWC tensor, so that its pixels do not lie side by side.
    `in_place`: of an input, the first output may be written where it lies, as no element is read
    after the one of the output at its place was written.
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


@dataclass(frozen=True)
class Attribute:
    """One attribute. `default` is None when the attribute must be given; `range`: least and most of
    an int, which loader and planner check; `plan` marks what the planner decides; `fields`: of each
    of the records that the attribute is a list of.
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
    fields: tuple[Attribute, ...] = ()

    @property
    def signature(self) -> str:
        """What gives its bytes in a .ttm file their meaning."""
        inside = f"{{{','.join(f.signature for f in self.fields)}}}" if self.fields else ""
        return f"{self.name}:{self.type}{inside}:{'|'.join(self.values)}"


@dataclass(frozen=True)
class Macs:
    """Multiply-accumulates of an operator whose results are sums of products: the sum of `terms`,
    each the product of some dimensions of some operands.
    """

    terms: tuple[tuple[tuple[str, slice], ...], ...]

    def count(self, shapes: Mapping[str, tuple[int, ...]]) -> int:
        """How many they are; `shapes`: those of the operator's inputs and outputs. What is absent
        takes none.
        """
        return sum(
            math.prod(math.prod(shapes[name][dims]) for name, dims in term)
            for term in self.terms
            if all(shapes.get(name) for name, _ in term)
        )


@dataclass(frozen=True)
class Operator:
    """The schema of one operator.

    `layout`: "nhwc" wants its 4-D tensors in NHWC order, "plain" in row-major order, "any" wants
    all its 4-D tensors alike, "converts" is the conversion itself. `typed`: it has a C++ class for
    each type of its first input, which its others have, too. `activation`: element-wise with
    at most the parameters alpha and beta, so it can become the epilogue of an operator that
    `fuses_activation`. `prepares`: makes what other operators read as constants, of constants, once
    when a model is set up. `run_time`: is not compiled in, but registered by whatever runs it
    (docs/run-time-plugins.md). `path`: of its schema, with its source beside it; `replaces`: the
    built-in operator in whose place a plug-in's stands.
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
    typed: bool = False
    run_time: bool = False
    macs: Macs | None = None
    replaces: str = ""
    path: Path = Path()

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name; SchemaError when the operator has none."""
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        known = ", ".join(a.name for a in self.attributes) or "none"
        raise SchemaError(
            f"operator {self.name} has no attribute {name!r}", hint=f"it has: {known}"
        )

    @property
    def only_moves(self) -> bool:
        """Whether it takes elements of every type, and so can do no more than move or convert them:
        what they stand for stays.
        """
        return len(self.dtypes) == len(DTYPES)

    @property
    def families(self) -> tuple[str, ...]:
        """Micro-kernel families the operator may call; "@activation" stands for those of every
        activation.
        """
        return tuple(f for a in self.attributes for f in a.families)

    @property
    def input_counts(self) -> tuple[int, int]:
        """Fewest and most inputs; 255 at most when the last one is variadic."""
        return _counts(self.inputs)

    @property
    def output_counts(self) -> tuple[int, int]:
        """Fewest and most outputs."""
        return _counts(self.outputs)

    @property
    def schema_hash(self) -> int:
        """32 bits over what gives the operator's bytes in a .ttm file their meaning.

        A file is refused when one of its operators has another hash, and only then: operators may
        be added to the engine without making files unreadable.
        """
        attributes = ",".join(a.signature for a in self.attributes)
        text = f"{self.id} {self.name} {self.input_counts} {self.output_counts} {attributes}"
        if self.run_time:  # the engine makes it of what is registered, by the hash that it has
            return name_hash(text)
        return int.from_bytes(sha256(text.encode())[:4], "little")

    @property
    def class_name(self) -> str:
        """The C++ class of the operator."""
        return "".join(part.capitalize() for part in self.name.split("_"))


def sha256(data: bytes) -> bytes:
    """The digest of `data`."""
    import hashlib  # OpenSSL's 3 MB: a process that only runs a model needs no hash

    return hashlib.sha256(data).digest()


def _counts(ports: tuple[Port, ...]) -> tuple[int, int]:
    least = sum(1 for p in ports if not p.optional)
    return least, 255 if any(p.variadic for p in ports) else len(ports)


@cache
def name_hash(name: str) -> int:
    """FNV-1a, 32 bits: how kernels and families are named in .ttm files and in generated tables."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value
