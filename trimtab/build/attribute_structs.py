"""Generates C++ structs of attributes and their records, and the tables that decode them.

Uses the standard library only, like `trimtab.build.codegen`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from trimtab import schema

CPP_TYPES = {
    "int": "int64_t",
    "uint": "uint64_t",
    "float": "float",
    "double": "double",
    "bool": "bool",
    "ints": "IntList",
    "floats": "FloatList",
    "op": "uint32_t",
    "kernel": "KernelRef",
}
# The order of a struct's members: without padding, and equal for all unary operators.
MEMBER_ORDER = (
    *(
        "int",
        "uint",
        "double",
        "ints",
        "floats",
        "records",
        "kernel",
        "float",
        "op",
        "enum",
        "bool",
    ),
)


_DECODED = "decoded"


def pascal(name: str) -> str:
    """Converts snake_case to PascalCase."""
    return "".join(part.capitalize() for part in name.split("_"))


def struct_of(
    name: str,
    attributes: Iterable[schema.Attribute],
    *more: str,
    constants: Mapping[str, int] | None = None,
    suffix: str = "Attributes",
) -> list[str]:
    """The struct of an operator's attributes, or of a record. `name`: prefix of the type names;
    `more`: additional member declarations; `constants`: members that are no variables; `suffix`: of
    the struct's name.
    """
    out, own, constants = [], list(attributes), constants or {}
    for a in own:
        if a.type == "enum":
            values = ", ".join(f"k{pascal(v)}" for v in a.values)
            out.append(f"enum class {name}{pascal(a.name)} : uint32_t {{ {values} }};\n")
        if a.type == "records":
            record = name + pascal(a.name)
            out += struct_of(
                record,
                a.fields,
                f"  static constexpr size_t kFieldCount = {len(a.fields)};",
                "  static const AttributeField kFields[kFieldCount];",
                suffix="",
            )
            rows = "\n".join(row for f in a.fields for row in rows_of(record, record, f))
            out.append(f"inline const AttributeField {record}::kFields[] = {{\n{rows}\n}};\n")
    out.append(f"struct {name}{suffix} {{")
    for a in sorted(own, key=lambda a: MEMBER_ORDER.index(a.type)):
        record = name + pascal(a.name)
        cpp = {"enum": record, "records": f"RecordList<{record}>"}.get(a.type) or CPP_TYPES[a.type]
        if a.name in constants:
            number = constants[a.name]
            out.append(f"  static constexpr {cpp} {a.name} = static_cast<{cpp}>({number});")
        else:
            out.append(f"  {cpp} {a.name};")
    if constants:
        out.append(f"  int64_t {_DECODED};  // what the file has for a constant")
    return [*out, *more, "};\n"]


def constant_row_of(struct: str, number: int) -> str:
    """The table row of an attribute that has one value, whatever its type is: the loader refuses
    others. The limit 0 of an int means none; an enum of one value has only 0.
    """
    kind, low, limit = ("Int", number, number) if number else ("Enum", 0, 1)
    return f"    {{AttributeType::k{kind}, {low}, offsetof({struct}, {_DECODED}), {limit}}},"


def rows_of(struct: str, name: str, a: schema.Attribute) -> Iterator[str]:
    """The table row of an attribute, followed by those of its record's fields."""
    kind = "Int" if a.type in ("uint", "double") else pascal(a.type)
    low, limit = a.range or (
        0,
        {"enum": len(a.values), "records": len(a.fields)}.get(a.type, a.length),
    )
    yield f"    {{AttributeType::k{kind}, {low}, offsetof({struct}, {a.name}), {limit}}},"
    record = name + pascal(a.name)
    for field in a.fields:
        yield from rows_of(record, record, field)
