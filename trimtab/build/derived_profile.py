"""Derived profiles: exactly the operators, dtypes and kernels that a program uses."""

from __future__ import annotations

from collections.abc import Iterator

from trimtab import kernels, schema
from trimtab.profile import Profile
from trimtab.program import Program
from trimtab.session import optimize
from trimtab.target import Target


def profile_of(
    program: Program, target: Target | None = None, strings: bool = True, threads: bool = True
) -> Profile:
    """The smallest profile that runs `program`, which is planned for `target` (default: this
    machine) if it is not planned yet.
    """
    planned = program if program.planned else optimize(program, target)
    names = set()
    for op in planned.ops:
        for attribute in op.schema.attributes:
            if attribute.type == "kernel" and (kernel := op.attributes[attribute.name]):
                names.add(kernels.kernel(kernel).name)
    dtypes = {"f32"} | {var.dtype for var in planned.vars.values()}
    return Profile(
        name=program.name or "derived",
        doc=f"Derived from {program.name or 'a program'} for {planned.target}.",
        ops=tuple(sorted({op.type for op in planned.ops})),
        dtypes=tuple(sorted(dtypes)),
        kernels=tuple(sorted(names)),
        strings=strings,
        threads=threads,
        constants=tuple(sorted(_constants(planned))),
        windows=tuple(sorted({*_windows(planned)})),
        sizes=tuple(sorted({*_sizes(planned)})),
    )


def _constants(program: Program) -> Iterator[str]:
    """The specialized attributes that have the same value in all operators of a kind."""
    values: dict[tuple[str, str], set[int]] = {}
    for op in program.ops:
        for a in op.schema.attributes:
            if a.specialized:
                number = a.number(op.attributes.get(a.name, a.default))
                values.setdefault((op.type, a.name), set()).add(number)
    for (op_type, name), numbers in values.items():
        number, *others = numbers
        if not others and 0 <= number <= schema.MAX_CONSTANT:
            yield f"{op_type}.{name}={number}"


def _sizes(program: Program) -> Iterator[str]:
    """The sources of sizes of operators that have another one than attributes."""
    sized = {op.type for op in program.ops if op.size_source != "attributes"}
    return (f"{op.type}.{op.size_source}" for op in program.ops if op.type in sized)


def _windows(program: Program) -> Iterator[str]:
    """The windows of depthwise convolutions, as in `Profile.windows`."""
    for op in program.ops:
        kernel = op.attributes.get("kernel")
        families = {family for attribute in op.schema.attributes for family in attribute.families}
        if kernel and "depthwise" in families and "strides" in op.attributes:
            channels, _, height, width = program.vars[op.inputs[1]].shape
            few = "few " if channels < kernels.kernel(kernel).nr else ""
            yield f"{few}{height}x{width}/{op.attributes['strides'][1]}"
