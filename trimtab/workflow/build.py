"""From a planned program to a binary that can be measured."""

from __future__ import annotations

import re

import trimtab
from trimtab import paths, size
from trimtab.bench.protocol import Subject
from trimtab.build import builder
from trimtab.build.builder import BuildRequest
from trimtab.build.toolchain import find_toolchain
from trimtab.errors import ProfileError
from trimtab.profile import Profile, find_profile
from trimtab.program import Program


def build_subject(
    program: Program, profile: str, toolchain: str, cpu: str, embed_model: bool
) -> Subject:
    """Build the runner of a planned program and take stock of it.

    The profile is the named one, or holds just what the program needs.
    """
    needed = trimtab.profile_of(program)
    chosen = find_profile(profile) if profile else needed
    compiler = find_toolchain(toolchain)
    check_profile(chosen, needed, compiler.arch)
    core = compiler.core(cpu)
    stem = re.sub(r"[^\w.-]", "_", program.name) or "model"
    parts = (stem, chosen.name if profile else "trimmed", toolchain, core.name)
    folder = paths.cache() / "bench" / "-".join(parts)
    model = folder / f"{stem}.ttm"
    folder.mkdir(parents=True, exist_ok=True)
    program.save(model, names=chosen.strings)
    build = builder.build(
        BuildRequest(
            profile=chosen,
            output_dir=folder / "build",
            toolchain=toolchain,
            cpu=core.name,
            model=model,
            embed_model=embed_model,
        )
    )
    return Subject(
        binary=build.runner,
        model=model,
        is_model_embedded=embed_model,
        profile=profile or "trimmed",
        toolchain=toolchain,
        cpu=core.name,
        compiler=build.compiler,
        flags=build.flags,
        operators=[f"{op.type} {op.name}" for op in program.ops],
        size=size.measure(build.runner).to_json(),
    )


def check_profile(profile: Profile, needed: Profile, arch: str) -> None:
    """Raise ProfileError when a binary of `profile` could not run what needs `needed`."""
    kept = {op.name for op in profile.operators()} | {k.name for k in profile.kept_kernels(arch)}
    asked = {op.name for op in needed.operators()} | set(needed.kernels)
    if missing := sorted(asked - kept):
        raise ProfileError(
            f"the model needs {', '.join(missing)}, which the profile leaves out",
            where=f"profile {profile.name}",
            hint="take another profile, or none: then the binary holds just what the model needs",
        )
