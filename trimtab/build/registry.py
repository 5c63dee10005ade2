"""Text of generated/registry.cpp: the operators of a binary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trimtab import kernels, schema
from trimtab.build.attribute_structs import constant_row_of, pascal, rows_of
from trimtab.build.profile_headers import BANNER
from trimtab.profile import Profile

LAYOUT_RULES = {"any": "kAny", "plain": "kPlain", "nhwc": "kNhwc", "converts": "kConverts"}


def header_of(op: schema.Operator) -> str:
    """The header with the struct of an operator's attributes."""
    return f"generated/attributes/{op.name}.h"


def _inputs(op: schema.Operator, sources: Sequence[str]) -> tuple[schema.Port, ...]:
    """The inputs in a binary with these sources of sizes: those of its only source are present, and
    there are none behind the last input of any source.
    """
    if not op.size_ports:
        return op.inputs
    is_only = len(sources) == 1
    ports = [
        replace(p, optional=not is_only or p.sizes not in sources) if p.sizes else p
        for p in op.inputs
    ]
    while ports[-1].sizes and ports[-1].sizes not in sources:
        ports.pop()
    return tuple(ports)


def _mask(ports: tuple[schema.Port, ...], trait: str) -> str:
    bits = (
        0xFFFF << i & 0xFFFF if port.variadic else 1 << i
        for i, port in enumerate(ports)
        if getattr(port, trait)
    )
    return hex(sum(bits))


def registry_source(profile: Profile, selected: list[kernels.Kernel]) -> str:
    """Text of generated/registry.cpp: one row per operator of the profile, with a class for each
    dtype that `selected` kernels compute.
    """
    ops = [op for op in profile.operators() if not op.run_time]
    out = [
        BANNER,
        '#include "runtime/core/registry.h"\n\n#include <stddef.h>\n',
        *(f'#include "{header_of(op)}"' for op in ops),
        "\nnamespace trimtab {\n",
    ]
    rows = []
    for op in ops:
        struct, sources = f"{op.class_name}Attributes", profile.size_sources(op)
        classes = (
            [pascal(d) for d in profile.dtypes_of(op, selected) or op.dtypes[:1]]
            if op.typed
            else [""]
        )
        factories = [f"k{op.class_name}{name}Factory" for name in classes]
        out += [f"extern const OperatorFactory {factory};" for factory in factories]
        out.append(
            f"static const OperatorFactory* const k{op.class_name}Factories[] = {{"
            f"{', '.join('&' + factory for factory in factories)}}};"
        )
        fields = "nullptr"
        if op.attributes:
            fields = f"k{op.class_name}Fields"
            out.append(f"static const AttributeField {fields}[] = {{")
            constants = profile.constants_of(op)
            for a in op.attributes:
                if a.name in constants:
                    out.append(constant_row_of(struct, constants[a.name]))
                else:
                    # The operator checks the length of an attribute that may have terms.
                    has_terms = a.terms and "terms" in sources
                    row = replace(a, length=0) if has_terms else a
                    out += rows_of(struct, op.class_name, row)
            out.append("};")
        (min_in, max_in), (min_out, max_out) = op.input_counts, op.output_counts
        inputs = _inputs(op, sources)
        if op.size_ports:
            min_in = max(i + 1 for i, port in enumerate(inputs) if not port.optional)
            max_in = len(inputs)
        dtypes = hex(sum(1 << schema.DTYPES[d] for d in profile.dtypes_of(op, selected)))
        traits = ("optional", "constant", "index", "half", "real", "in_place")
        masks = ", ".join(_mask(inputs, trait) for trait in traits)
        strided = ", ".join(_mask(ports, "strided") for ports in (inputs, op.outputs))
        rows.append(
            f"    {{{op.schema_hash:#x}u, {op.id}, {min_in}, {max_in}, {min_out}, {max_out}, "
            f"LayoutRule::{LAYOUT_RULES[op.layout]}, {str(op.view).lower()}, "
            f"{str(op.prepares).lower()}, {str(op.accepts_empty).lower()}, {dtypes}, {masks}, "
            f"{len(op.attributes)}, {len(factories)}, {str(op.state).lower()}, {strided}, "
            f"{fields}, k{op.class_name}Factories, "
            f'"{op.name if profile.strings else ""}"}},'
        )
    out.append("\nconst OperatorRow kOperatorTable[] = {\n" + "\n".join(rows) + "\n};")
    out.append(f"const size_t kOperatorTableSize = {len(ops)};")
    has_records = any(a.fields for op in ops for a in op.attributes)
    out.append(
        f"RecordsDecoder* const kDecodeRecords = {'&DecodeRecords' if has_records else 'nullptr'};"
    )
    out.append(f"const uint64_t kSchemaHash = {schema.schema_hash():#x}u;")
    out.append("\n}  // namespace trimtab")
    return "\n".join(out) + "\n"
