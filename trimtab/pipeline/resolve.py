"""Which model, which machine and which plan a command means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import trimtab
from trimtab import paths, zoo
from trimtab.build.toolchain import find_toolchain
from trimtab.errors import UsageError
from trimtab.planner.plan_file import MAX_THREADS, PREFERENCES, WEIGHTS_TYPES, Plan
from trimtab.planner.precision import PRECISIONS
from trimtab.profile import find_profile
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.target import Target


def model_path(model: str, profile: str = "", progress: Progress = SILENT) -> Path:
    """The file of a model, of a zoo network by its name, or of the zoo's first of a family.

    A profile is called after its family, as the networks are: `yolo` means `yolo_fastest`.
    """
    if not model:
        family = [name for name in zoo.names() if profile and name.startswith(profile)]
        if not family:
            raise UsageError(
                "which model?", hint="--model FILE, or --model NAME of a zoo network (./inv zoo)"
            )
        model = family[0]
    if model in zoo.names():
        return zoo.write(model, paths.cache() / "zoo", progress)
    return Path(model)


def load(
    model: str,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    outputs: Sequence[str] | None = None,
    progress: Progress = SILENT,
) -> Program:
    """The program of a model file, or of a zoo network by its name; see `trimtab.load`."""
    path = model_path(model, progress=progress)
    return trimtab.load(path, dict(shapes or {}), list(outputs) if outputs else None)


def target_of(toolchain: str, cpu: str, threads: int = 1, profile: str = "") -> Target:
    """The machine that a toolchain builds for: any with the core `cpu`, or any at all without one;
    with a binary of the profile, if one is named.

    `host` or "" without a core is this machine with all it can do.
    """
    if toolchain in ("", "host") and not cpu:
        target = Target.host(threads=threads)
    else:
        target = Target.of(find_toolchain(toolchain or "host").arch, cpu or None, threads)
    return target.with_profile(find_profile(profile)) if profile else target


def plan_of(
    path: str, prefer: str = "", weights: str = "", precision: str = "", threads: int | None = None
) -> Plan | None:
    """The plan in a TOML file, with another preference, type of weights, precision and number of
    threads where these are given; None where nothing is, which leaves all to the planner's rules.
    UsageError for a number of threads, or a word, that cannot be.
    """
    words = {
        "prefer": (prefer, PREFERENCES),
        "weights": (weights, WEIGHTS_TYPES),
        "precision": (precision, PRECISIONS),
    }
    for option, (word, known) in words.items():
        if word and word not in known:
            raise UsageError(f"{option} cannot be {word!r}", hint=f"use {', '.join(known)}")
    if threads is not None and not 1 <= threads <= MAX_THREADS:
        raise UsageError(f"threads is {threads}, it must be 1 to {MAX_THREADS}")
    if not (path or prefer or weights or precision or threads):
        return None
    plan = Plan.read(path) if path else Plan()
    return replace(
        plan,
        prefer=prefer or plan.prefer,
        weights_type=weights or plan.weights_type,
        precision=precision or plan.precision,
        threads=threads or plan.threads,
    )
