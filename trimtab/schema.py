"""Operator schemas: what every operator is called, takes, gives and needs.

`runtime/ops/<op>.toml` is the one source of truth for an operator; this module is the only one that
reads it. The engine's generated tables (`trimtab.build.codegen`), the importers, the passes and
the model file all work from these dataclasses. What several operators have alike stands once, in
`runtime/ops/shared/`. docs/adding-an-operator.md has the TOML format.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from trimtab import paths, plugins
from trimtab.errors import SchemaError

ATTRIBUTE_TYPES = ("int", "float", "bool", "enum", "ints", "floats", "op", "kernel")
DTYPES = {"f32": 1, "f16": 2, "i8": 3, "u8": 4, "i32": 5, "i64": 6, "bool": 7}
LAYOUTS = ("any", "plain", "nhwc", "converts")
BLOCKS = ("attributes", "plan")  # tables of attributes


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
    an int, which loader and planner check; `plan` marks what the planner decides.
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
    when a model is set up. `path`: of its schema, with its source beside it; `replaces`: the
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
        attributes = ",".join(f"{a.name}:{a.type}:{'|'.join(a.values)}" for a in self.attributes)
        text = f"{self.id} {self.name} {self.input_counts} {self.output_counts} {attributes}"
        return int.from_bytes(_sha256(text.encode())[:4], "little")

    @property
    def macro(self) -> str:
        """The op macro that decides whether the operator is compiled at all."""
        return f"TRIMTAB_OP_{self.name.upper()}"

    @property
    def class_name(self) -> str:
        """The C++ class of the operator."""
        return "".join(part.capitalize() for part in self.name.split("_"))


def _sha256(data: bytes) -> bytes:
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


def _attributes(table: dict[str, Any], plan: bool, where: str) -> list[Attribute]:
    result = []
    for name, row in table.items():
        keys: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
        try:
            attribute = Attribute(name=name, plan=plan, **keys)
        except TypeError as e:
            raise SchemaError(f"attribute {name}: {e}", where=where) from None
        if attribute.type not in ATTRIBUTE_TYPES:
            raise SchemaError(
                f"attribute {name} has unknown type {attribute.type!r}",
                where=where,
                hint=f"use one of {', '.join(ATTRIBUTE_TYPES)}",
            )
        if problem := _range_problem(attribute):
            raise SchemaError(f"attribute {name} {problem}", where=where, hint=_RANGE_HINT)
        result.append(attribute)
    return result


_RANGE_HINT = "range = [least, most] of an int, 0 <= least <= 255, most <= 65535"


def _range_problem(attribute: Attribute) -> str:
    """What is wrong with the range of an attribute, or that a plan's number has none; "" if all is
    well.
    """
    if not attribute.range:
        numeric = attribute.plan and attribute.type == "int"
        return "of a plan needs a range" if numeric else ""
    if attribute.type != "int" or len(attribute.range) != 2:
        return "has a range that is none"
    least, most = attribute.range
    if not (0 <= least <= 255 and least <= most <= 65535):
        return "has a range that the engine cannot check"
    inside = attribute.default is None or least <= attribute.default <= most
    return "" if inside else "has a default outside its range"


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        raise SchemaError(str(e), where=str(path)) from None


def _include(table: dict[str, Any], path: Path) -> None:
    """Adds to `table`, the schema of `path`, what the files of shared/ that it includes say.

    An operator's own attributes come first, then theirs, in the order of `include`. "prefix:file"
    takes a file's attributes alone, with the prefix before their names. Nothing may be said twice.
    """
    places = (paths.root() / "runtime" / "ops" / "shared", path.parent / "shared")
    files = {f.stem: f for folder in places for f in sorted(folder.glob("*.toml"))}
    for include in table.pop("include", []):
        prefix, _, name = include.rpartition(":")
        if name not in files:
            raise SchemaError(
                f"includes {name!r}, which runtime/ops/shared/ does not have",
                where=str(path),
                hint=f"it has: {', '.join(files) or 'none'}",
            )
        shared = _toml(files[name])
        theirs = [{prefix + k: v for k, v in shared.pop(key, {}).items()} for key in BLOCKS]
        blocks = [
            (table.setdefault(key, {}), block) for key, block in zip(BLOCKS, theirs, strict=True)
        ]
        shared = {} if prefix else shared
        for own, added in [*blocks, (table, shared)]:
            if twice := sorted(own.keys() & added.keys()):
                raise SchemaError(
                    f"says again what runtime/ops/shared/{name}.toml says: {', '.join(twice)}",
                    where=str(path),
                    hint="drop it here, or do not include the file",
                )
            own.update(added)


def _macs(text: str, ports: set[str], where: str) -> Macs | None:
    """What is written as "y * w[1:]": elements of y, times dimensions of w from the second on; or a
    sum of such products.
    """
    terms = []
    for term in text.split(" + ") if text else ():
        factors = [re.fullmatch(r"(\w+)(?:\[(-?\d*):(-?\d*)\])?", f) for f in term.split(" * ")]
        found = [match for match in factors if match and match[1] in ports]
        if len(found) < max(len(factors), 2):
            raise SchemaError(
                f"cannot read macs = {text!r}",
                where=where,
                hint='write "y * w[1:]", with names of inputs or outputs',
            )
        ends = [
            (match[1], [int(end) if end else None for end in match.group(2, 3)]) for match in found
        ]
        terms.append(tuple((name, slice(*end)) for name, end in ends))
    return Macs(tuple(terms)) if terms else None


def read_operator(path: Path, id: int | None = None) -> Operator:
    """Reads one schema file, which may do without an `id` where one is given; SchemaError names the
    file and what is wrong with it.
    """
    where = str(path)
    table = _toml(path)
    if id is not None:
        table.setdefault("id", id)
    _include(table, path)
    try:
        inputs = tuple(Port(**row) for row in table.pop("inputs", []))
        outputs = tuple(Port(**row) for row in table.pop("outputs"))
        operator = Operator(
            name=path.stem,
            dtypes=tuple(table.pop("dtypes")),
            inputs=inputs,
            outputs=outputs,
            macs=_macs(table.pop("macs", ""), {p.name for p in (*inputs, *outputs)}, where),
            attributes=tuple(
                _attributes(table.pop("attributes", {}), False, where)
                + _attributes(table.pop("plan", {}), True, where)
            ),
            depends=tuple(table.pop("depends", [])),
            path=path,
            **table,
        )
    except (KeyError, TypeError) as e:
        raise SchemaError(f"bad or missing key: {e}", where=where) from None
    if unknown := set(operator.dtypes) - set(DTYPES):
        raise SchemaError(
            f"unknown dtypes {sorted(unknown)}", where=where, hint=f"use {', '.join(DTYPES)}"
        )
    if operator.layout not in LAYOUTS:
        raise SchemaError(
            f"unknown layout {operator.layout!r}",
            where=where,
            hint=f"use one of {', '.join(LAYOUTS)}",
        )
    return operator


@cache
def operators() -> dict[str, Operator]:
    """All operators by name, in the order of their ids; ids are permanent and unique."""
    found: dict[str, Operator] = {}
    for path in sorted((paths.root() / "runtime" / "ops").glob("*.toml")):
        _add(found, read_operator(path))
    for plugin in plugins.found():
        with plugins.tolerated(plugin):
            more = dict(found)
            for path in plugin.parts("ops"):
                _add(more, _read_plugin_operator(path))
            found = more
    return dict(sorted(found.items(), key=lambda item: item[1].id))


def _add(found: dict[str, Operator], op: Operator) -> None:
    """Adds an operator to those that there are, or puts it in the place of the one that it
    replaces.
    """
    other = found.get(op.replaces or op.name)
    if op.replaces and (other is None or op.name != op.replaces):
        raise SchemaError(
            f"replaces = {op.replaces!r}, which is no other operator of its name",
            where=str(op.path),
            hint="replaces = NAME stands in NAME.toml, of an operator that there is",
        )
    if other is not None and not op.replaces:
        raise SchemaError(
            f"there is an operator {op.name} in {other.path}",
            where=str(op.path),
            hint=f'call it otherwise; or write replaces = "{op.name}" to take its place',
        )
    if other is not None and other.schema_hash != op.schema_hash:
        raise SchemaError(
            f"replaces {op.name}, but has other inputs, outputs or attributes",
            where=str(op.path),
            hint=f"the passes and the planner know those of {other.path}",
        )
    if other is None and (same := next((o for o in found.values() if o.id == op.id), None)):
        raise SchemaError(
            f"operator {op.name} has id {op.id}, as {same.name} in {same.path}",
            where=str(op.path),
            hint="ids are permanent: give the newer one another id",
        )
    beside = {path.stem for path in op.path.parent.glob("*.toml")}
    if missing := {*op.depends} - found.keys() - beside:
        raise SchemaError(f"depends on unknown operators {sorted(missing)}", where=str(op.path))
    found[op.name] = op


_FIRST_PLUGIN_ID = 0x8000


def _read_plugin_operator(path: Path) -> Operator:
    """The operator of a plug-in, whose id, where it has none of its own, is made of its name."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", path.stem):
        raise SchemaError("an operator's name is in snake_case", where=str(path))
    if not path.with_suffix(".cpp").is_file():
        hint = "it computes the operator: docs/adding-an-operator.md"
        raise SchemaError(f"there is no {path.stem}.cpp beside it", where=str(path), hint=hint)
    own = _FIRST_PLUGIN_ID | name_hash(path.stem) & 0x7FFF
    op = read_operator(path, own)
    if op.replaces:
        built_in = paths.root() / "runtime" / "ops" / path.name
        return replace(op, id=read_operator(built_in).id) if built_in.is_file() else op
    if not _FIRST_PLUGIN_ID <= op.id <= 0xFFFF:
        hint = f"leave `id` out, or take one of {_FIRST_PLUGIN_ID} to {0xFFFF}"
        raise SchemaError(f"id {op.id} is not one of a plug-in's", where=str(path), hint=hint)
    return op


def operator(name: str) -> Operator:
    """The schema of one operator; SchemaError when there is none of that name."""
    try:
        return operators()[name]
    except KeyError:
        raise SchemaError(
            f"there is no operator {name!r}", hint="runtime/ops/ holds one TOML file per operator"
        ) from None


@cache
def schema_hash() -> int:
    """64 bits over the schemas of all operators: tells one version of the engine from another."""
    hashes = b"".join(op.schema_hash.to_bytes(4, "little") for op in operators().values())
    return int.from_bytes(_sha256(hashes)[:8], "little")
