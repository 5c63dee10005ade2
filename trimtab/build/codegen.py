"""Generates the engine's tables and kernel sources from schemas, the kernel inventory and a
profile.

CMake runs this at configure time: `python -m trimtab.build.codegen --profile FILE --arch aarch64
--output DIR`. It uses the standard library only. Files are rewritten only if their text changes, so
that builds stay incremental:

    generated/attributes/NAME.h  the struct of an operator's attributes
    generated/plugin_attributes.h  the structs of all operators, for the sources of plug-ins
    generated/op_ids.h          operator ids
    generated/config.h          switches and the version
    generated/counts.h          the operators whose results have sizes that depend on data
    generated/element_sizes.h   the sizes of the elements of the profile's types
    generated/windows.h         the windows of the profile's depthwise convolutions
    generated/registry.cpp      the operators of the profile
    generated/kernel_table.cpp  the kernels of the profile, best first within a family
    generated/kernels/NAME.cpp  the generated kernels among them
    generated/ops/NAME.cpp      the unary operators without a source file
    generated/isa_table.cpp     the valid values of TRIMTAB_ISA
    sources.cmake               the sources for CMake, with the flags of each instruction set
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from trimtab import __version__, files, kernels, paths, plugins, schema, strict_json
from trimtab.build.attribute_structs import pascal, struct_of
from trimtab.build.profile_headers import (
    BANNER,
    config_header,
    counts_header,
    element_sizes_header,
    op_ids_header,
    windows_header,
)
from trimtab.build.registry import header_of, registry_source
from trimtab.errors import SchemaError, TrimtabError
from trimtab.profile import Profile, find_profile

_OPS = "generated/ops"


def _is_built_in(op: schema.Operator) -> bool:
    """Whether an operator's source belongs to trimtab and not to a plug-in."""
    return op.path.is_relative_to(paths.root() / "runtime")


def _is_known(op: schema.Operator) -> bool:
    """Whether trimtab has an operator with this name and these attributes: headers for all sources
    do not change if a plug-in replaces its implementation.
    """
    return _is_built_in(op) or bool(op.replaces)


def attributes_header(
    op: schema.Operator,
    constants: Mapping[str, int] | None = None,
    sources: Sequence[str] = schema.SIZE_SOURCES,
) -> str:
    """Text of generated/attributes/NAME.h: the enums of an operator's attributes and their struct,
    with members ordered by type.

    Each operator has a header of its own, so that a schema that is added or changed recompiles the
    sources of its operator, and no others. `constants`: members that are no variables. `sources`:
    where the operator has sizes from, if it has several sources.
    """
    bits = sum(1 << schema.SIZE_SOURCES.index(source) for source in sources)
    more = [f"  static constexpr unsigned kSizeSources = {bits};  // see runtime/ops/sizes.h"]
    guard = f"TRIMTAB_GENERATED_ATTRIBUTES_{op.name.upper()}_H_"
    return "\n".join(
        [
            BANNER,
            f"#ifndef {guard}\n#define {guard}\n",
            '#include "runtime/core/attributes.h"\n\nnamespace trimtab {\n',
            *struct_of(
                op.class_name,
                op.attributes,
                *(more if op.size_ports else ()),
                constants=constants,
            ),
            "}  // namespace trimtab\n\n#endif\n",
        ]
    )


def plugin_attributes_header(ops: Iterable[schema.Operator]) -> str:
    """Text of generated/plugin_attributes.h, which includes the headers of these operators."""
    guard = "TRIMTAB_GENERATED_PLUGIN_ATTRIBUTES_H_"
    includes = (f'#include "{header_of(op)}"' for op in ops)
    return "\n".join([BANNER, f"#ifndef {guard}\n#define {guard}\n", *includes, "\n#endif\n"])


def operator_source(op: schema.Operator) -> str:
    """generated/ops/NAME.cpp: a unary operator, computed by the kernels of its only family."""
    return (
        f'{BANNER}#include "{header_of(op)}"\n#include "runtime/ops/unary.h"\n\n'
        f'TRIMTAB_UNARY_OPERATOR({op.class_name}, "{op.families[0]}")\n'
    )


def kernel_table_source(selected: list[kernels.Kernel]) -> str:
    """Text of generated/kernel_table.cpp: the rows of a family together, highest rank first;
    SchemaError if two names have the same hash.
    """
    isas = kernels.isas()
    activations = {f for op in schema.operators().values() if op.activation for f in op.families}
    hashes: dict[int, str] = {}
    for name in {n for k in kernels.inventory().values() for n in (k.name, k.typed_family)}:
        for key in (
            (schema.name_hash(name), schema.name_hash(name) & 0xFFFF)
            if name in {k.typed_family for k in selected}
            else (schema.name_hash(name),)
        ):
            if hashes.setdefault(key, name) != name:
                raise SchemaError(
                    f"kernel names {name} and {hashes[key]} have the same hash",
                    where="kernels/",
                    hint="rename one of the two",
                )
    out = [BANNER, '#include "runtime/core/cpu.h"\n#include "runtime/core/kernel_table.h"\n']
    # Kernels of plug-ins may have argument types that kernel_api.h does not declare.
    foreign = {k.args_type for p in plugins.active() for k in selected if k.is_of(p)}
    out += [f"template <typename T>\nstruct {name};" for name in sorted(foreign)]
    out += [f'extern "C" void {k.name}(const {k.args}& args);' for k in selected]
    out.append("\nnamespace trimtab {\n\nconst KernelRow kKernelTable[] = {")
    rows = sorted(selected, key=lambda k: (k.family, k.dtype, -isas[k.isa].rank, k.name))
    for k in rows:
        features = " | ".join(f"kCpu{pascal(f)}" for f in isas[k.isa].features) or "0"
        family = schema.name_hash(k.typed_family) & 0xFFFF
        out.append(
            f"    {{{schema.name_hash(k.name):#x}u, {family:#x}u, {k.mr}, {k.nr}, "
            f"DType::k{pascal(k.dtype) if k.family in activations else 'None'}, {features}, "
            f"reinterpret_cast<KernelFunction>({k.name})}},"
        )
    if not selected:
        out.append("    {0, 0, 0, 0, DType::kNone, 0, nullptr},")
    out.append(f"}};\nconst size_t kKernelTableSize = {len(selected)};")
    names = [f'    "{k.name}",' for k in rows] or ["    nullptr,"]
    out += ["const char* const kKernelNames[] = {", *names, "};", "\n}  // namespace trimtab"]
    return "\n".join(out) + "\n"


def kernel_source(kernel: kernels.Kernel, template: kernels.KernelTemplate) -> str:
    """Text of generated/kernels/NAME.cpp: one function with the kernel's name."""
    signature = f'extern "C" void {kernel.name}(const {kernel.args}& args)'
    return (
        f'{BANNER}#include "{template.vectors}"\n\n#include "{template.header}"\n\n'
        f"{signature} {{ {template.function}(args); }}\n"
    )


def isa_table_source(arch: str, strings: bool) -> str:
    """Text of generated/isa_table.cpp: the rows of isa.toml for `arch`, each with its CPU features
    and those of lower rows.
    """
    isas = [isa for isa in kernels.isas().values() if arch in isa.arch]
    rows = []
    for isa in isas:
        features = {f for other in isas if other.rank <= isa.rank for f in other.features}
        bits = " | ".join(f"kCpu{pascal(f)}" for f in sorted(features)) or "0"
        rows.append(f"    {{{schema.name_hash(isa.name):#x}u, {bits}}},  // {isa.name}")
    text = f"TRIMTAB_ISA must be one of {', '.join(isa.name for isa in isas)}" if strings else ""
    return "\n".join(
        [
            BANNER,
            '#include "runtime/core/cpu.h"\n\nnamespace trimtab {\n',
            "const IsaRow kIsaTable[] = {",
            *rows,
            f"}};\nconst size_t kIsaTableSize = {len(rows)};",
            f'const char kIsaMessage[] = "{text}";',
            "\n}  // namespace trimtab\n",
        ]
    )


def sources_cmake(
    profile: Profile, selected: list[kernels.Kernel], arch: str, compiler: str
) -> str:
    """Text of sources.cmake: version, operator switches, sources, and per-file flags of instruction
    sets.

    On architectures with vector kernels, portable kernels run rarely, so they are not optimized for
    speed; neither are kernels that run only once, when a model is set up.
    """
    isas, run_time = kernels.isas(), any(op.run_time for op in profile.operators())
    ops = [op for op in profile.operators() if not op.run_time]
    names = {op.name for op in ops if _is_built_in(op)}
    own = sorted(path.stem for path in (paths.root() / "runtime" / "ops").glob("*.toml"))
    out = ["# Generated by trimtab/build/codegen.py. Do not edit."]
    out.append(f'set(TRIMTAB_VERSION "{__version__}")')
    out += [f"set(TRIMTAB_OP_{name.upper()} {'ON' if name in names else 'OFF'})" for name in own]
    foreign = [op for op in ops if not _is_built_in(op)]
    sources = [op.path.with_suffix(".cpp") for op in foreign if not op.is_generated]
    sources += sorted({helper for path in sources for helper in _helpers(path.parent)})
    out.append(f"set(TRIMTAB_RUN_TIME_OPERATORS {'ON' if run_time else 'OFF'})")
    out += ["set(TRIMTAB_PLUGIN_SOURCES", *(f'  "{path.as_posix()}"' for path in sources), ")"]
    generated = [
        f"${{CMAKE_CURRENT_LIST_DIR}}/{_OPS}/{op.name}.cpp" for op in ops if op.is_generated
    ]
    out += ["set(TRIMTAB_GENERATED_OPERATORS", *(f'  "{path}"' for path in generated), ")"]
    places = {
        k.name: ("${CMAKE_CURRENT_LIST_DIR}/" if k.template else "") + k.path.as_posix()
        for k in selected
    }
    out += ["set(TRIMTAB_KERNEL_SOURCES", *(f'  "{path}"' for path in places.values()), ")"]
    has_vectors = any(arch in isa.arch and isa.features for isa in isas.values())
    callers = {
        family: {op.prepares for op in schema.operators().values() if family in op.families}
        for family in {k.family for k in selected}
    }
    slow = [
        places[k.name]
        for k in selected
        if callers[k.family] == {True} or (has_vectors and not isas[k.isa].features)
    ]
    out += ["set(TRIMTAB_SLOW_KERNEL_SOURCES", *(f'  "{path}"' for path in slow), ")"]
    # Only a plug-in's own sources see its headers: other plug-ins do not recompile anything.
    for plugin in plugins.active():
        theirs = [path.as_posix() for path in sources if path.is_relative_to(plugin.folder)]
        theirs += [places[k.name] for k in selected if k.is_of(plugin)]
        for path in theirs:
            out.append(
                f'set_property(SOURCE "{path}" PROPERTY INCLUDE_DIRECTORIES "{plugin.folder}")'
            )
    for k in selected:
        if flags := ";".join(isas[k.isa].flags_for(compiler)):
            path = places[k.name]
            out.append(f'set_property(SOURCE "{path}" PROPERTY COMPILE_OPTIONS "{flags}")')
    return "\n".join(out) + "\n"


def _helpers(ops: Path) -> list[Path]:
    """Sources in a plug-in's `ops/` without a schema: code that several operators share."""
    return [path for path in ops.glob("*.cpp") if not path.with_suffix(".toml").is_file()]


def generate(
    profile: Profile, arch: str, compiler: str, output: Path, instruments: bool = False
) -> None:
    """Writes all generated files of a binary with `profile` for `arch` into `output`.

    `instruments`: include the kernels that no operator calls, which measure the machine.
    """
    ops = [op for op in schema.operators().values() if not op.run_time]
    selected = profile.kernels_for(arch)
    if instruments:
        selected += kernels.instruments(arch, {family for op in ops for family in op.families})
    generated = output / "generated"
    for op in ops:
        sources = profile.size_sources(op)
        header = attributes_header(op, profile.constants_of(op), sources)
        files.write_if_changed(output / header_of(op), header)
    files.write_if_changed(generated / "plugin_attributes.h", plugin_attributes_header(ops))
    ids = op_ids_header(op for op in ops if _is_known(op))
    files.write_if_changed(generated / "op_ids.h", ids)
    files.write_if_changed(generated / "config.h", config_header(profile))
    files.write_if_changed(generated / "counts.h", counts_header(profile))
    files.write_if_changed(generated / "element_sizes.h", element_sizes_header(profile))
    files.write_if_changed(generated / "windows.h", windows_header(profile))
    files.write_if_changed(generated / "registry.cpp", registry_source(profile, selected))
    files.write_if_changed(generated / "kernel_table.cpp", kernel_table_source(selected))
    files.write_if_changed(generated / "isa_table.cpp", isa_table_source(arch, profile.strings))
    for k in selected:
        if k.template:
            files.write_if_changed(output / k.path, kernel_source(k, k.template))
    for op in profile.operators():
        if op.is_generated:
            files.write_if_changed(output / _OPS / f"{op.name}.cpp", operator_source(op))
    files.write_if_changed(
        output / "sources.cmake", sources_cmake(profile, selected, arch, compiler)
    )
    facts = {
        "profile": profile.name,
        "arch": arch,
        "ops": [op.name for op in profile.operators()],
        "kernels": [k.name for k in selected],
    }
    files.write_if_changed(output / "contents.json", strict_json.dumps(facts, indent=1) + "\n")


def main() -> int:
    """Command line of the configure step. Returns 0, or the exit code of the printed error."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--profile", required=True)
    parser.add_argument("--arch", required=True)
    parser.add_argument("--compiler", default="gcc", help="zig, or gcc for GCC and clang")
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument(
        "--instruments", action="store_true", help="include the kernels that measure the machine"
    )
    parser.add_argument(
        "--plugin", action="append", default=[], type=Path, help="folder of a plug-in"
    )
    arguments = parser.parse_args()
    try:
        plugins.use_only(arguments.plugin)
        generate(
            find_profile(arguments.profile),
            arguments.arch,
            arguments.compiler,
            arguments.output,
            arguments.instruments,
        )
    except TrimtabError as e:
        print(f"trimtab.build.codegen: {e}", file=sys.stderr)
        return e.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
