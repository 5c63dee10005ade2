"""The main job as functions: from a model to a measured, recorded and reported run.

Here the parts meet that may not know each other: builder, devices, bench, reports. The command line
and the demo call this and add nothing but words.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tabulate import tabulate

import trimtab
from trimtab import builder, passes, paths, planner, reports, size, zoo
from trimtab.bench import index, oracle, protocol, summary
from trimtab.bench import results as records
from trimtab.bench.golden import Golden
from trimtab.bench.protocol import Outcome, Progress, Settings, Subject
from trimtab.builder import BuildRequest
from trimtab.devices import find_device, list_devices
from trimtab.errors import EmulatorError, ProfileError, ResultError, UsageError
from trimtab.kernels import Kernel
from trimtab.plan import Plan
from trimtab.profile import Profile, find_profile
from trimtab.program import Program
from trimtab.program.program import NUMPY_DTYPES
from trimtab.roofline import layers as roofline_layers
from trimtab.roofline import timing
from trimtab.roofline.machine import Machine
from trimtab.roofline.timing import Timed, TimedOperator
from trimtab.target import Target
from trimtab.toolchain import find_toolchain

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class BenchRequest:
    """What to measure, where and how; "" takes the default (see `./inv --help bench`)."""

    model: str = ""
    profile: str = ""
    device: str = "local"
    toolchain: str = ""
    cpu: str = ""
    shapes: Shapes = field(default_factory=dict)
    plan: Plan | None = None
    embed_model: bool = False
    trust_new: bool = False
    settings: Settings = field(default_factory=Settings)


def say(text: str) -> None:
    """One line of progress; standard output belongs to the result."""
    print(text, file=sys.stderr, flush=True)


def bench(request: BenchRequest, folder: Path, progress: Progress) -> Outcome:
    """Build, push, measure, record into `folder`.

    A run that fails on the device is recorded and its error is in the outcome; whatever fails
    before is raised as a TrimtabError.
    """
    definition = find_device(request.device)
    toolchain = request.toolchain or definition.toolchain
    cpu = request.cpu or definition.cpu or ""
    path = model_path(request.model, request.profile)
    progress(f"plan {path.stem} for {toolchain} {cpu}".rstrip())
    source = trimtab.load(path, inputs=dict(request.shapes))
    target = target_of(toolchain, cpu, request.settings.threads)
    program = trimtab.optimize(source, target, request.plan)
    progress("compute the expected output")
    expected = expected_output(path, source, request.shapes)
    with definition.open(trust_new=request.trust_new) as device:
        subject = build_subject(program, request.profile, toolchain, cpu, request.embed_model)
        return protocol.measure(device, subject, expected, request.settings, folder, progress)


def expected_output(path: Path, source: Program, shapes: Shapes) -> Golden:
    """What the device must compute, by an independent engine where one reads the format.

    ONNX models go through onnxruntime. Other formats have no engine that can be asked for: their
    inputs are run on this machine with the portable kernels, which proves the device against the
    host, not the importer; the record says so.
    """
    if path.suffix == ".onnx":
        return oracle.onnx_golden(path, shapes)
    given = [source.vars[name] for name in source.inputs]
    inputs = oracle.samples((var.shape, NUMPY_DTYPES[var.dtype]) for var in given)
    session = trimtab.Session(trimtab.optimize(source, Target.portable(Target.host().arch)))
    outputs = session.run(dict(zip(source.inputs, inputs, strict=True)))
    return Golden(
        inputs,
        [outputs[name] for name in source.outputs],
        list(source.outputs),
        "trimtab's portable kernels on the host (not independent)",
    )


@dataclass(frozen=True)
class Counts:
    """Executed instructions of a model's binary for one core, one thread."""

    model: str
    cpu: str
    device: str
    instructions_per_inference: int
    load_instructions: int
    first_instructions: int
    operators: tuple[tuple[str, int], ...]  # in the order of the network

    def to_json(self) -> str:
        """An object of the fields; the operators are objects with `label` and `instructions`."""
        operators = [{"label": label, "instructions": n} for label, n in self.operators]
        return json.dumps({**asdict(self), "operators": operators}, indent=1)

    def as_table(self) -> str:
        """The figures and the operators as text."""
        rows = [
            ("inference", self.instructions_per_inference),
            ("load", self.load_instructions),
            ("first inference", self.first_instructions),
            *((f"  {label}", n) for label, n in self.operators),
        ]
        headers = (f"{self.model}, {self.cpu}", "instructions")
        return tabulate([(label, f"{n:,}") for label, n in rows], headers, stralign="right")


def count_instructions(
    model: str,
    cpu: str,
    shapes: Shapes,
    folder: Path,
    progress: Progress,
    plan: Plan | None = None,
) -> Counts:
    """Build `model` for the core `cpu` and count what it executes, under QEMU.

    UsageError when no emulated device has that core; raises whatever ends the run, too.
    """
    emulated = {d.cpu: d.name for d in list_devices() if d.transport == "qemu_user" and d.cpu}
    if cpu not in emulated:
        raise UsageError(
            f"no emulated device is for the core {cpu!r}", hint=f"known: {', '.join(emulated)}"
        )
    request = BenchRequest(
        model=model,
        device=emulated[cpu],
        shapes=shapes,
        plan=plan,
        settings=Settings(per_op=True),
    )
    outcome = bench(request, folder, progress)
    if outcome.error is not None:
        raise outcome.error
    run = summary.summarize(records.read(outcome.path))
    counted = {f.key: int(f.value) for f in run.figures if f.unit is summary.Unit.INSTRUCTIONS}
    if "latency_instructions" not in counted:
        raise EmulatorError(
            "this QEMU was built without TCG plug-ins, which count instructions",
            where=emulated[cpu],
            hint="use Debian's qemu-user, or bench with --device board, which counts itself",
        )
    return Counts(
        model=Path(model).stem,
        cpu=cpu,
        device=emulated[cpu],
        instructions_per_inference=counted["latency_instructions"],
        load_instructions=counted["load_instructions"],
        first_instructions=counted["first_instructions"],
        operators=tuple((op.label, int(op.instructions or 0)) for op in run.ops),
    )


def time_kernels(
    chosen: Sequence[Kernel], networks: Sequence[str], layers: int, rounds: int, progress: Progress
) -> tuple[Machine, list[Timed]]:
    """Time kernels of this machine on the layers that zoo networks call them for (default: all),
    planned for each of its instruction sets.
    """
    host = Target.host()
    targets = [
        Target(f"{host.arch} {isa}", host.arch, host.isas[: i + 1])
        for i, isa in enumerate(host.isas)
        if isa in {kernel.isa for kernel in chosen}
    ]
    programs = []
    for name in networks or zoo.names():
        progress(f"plan {name}")
        source = passes.optimize(trimtab.load(model_path(name)))
        programs += [planner.decide(source, target, Plan()) for target in targets]
    progress("time")
    found = roofline_layers.assign(chosen, roofline_layers.collect(programs), layers)
    return timing.time_kernels(found, rounds)


def time_operators(model: str, rounds: int) -> tuple[Machine, list[TimedOperator]]:
    """Time the operators of a model on this machine, in inferences."""
    return timing.time_operators(trimtab.optimize(trimtab.load(model_path(model))), rounds)


def build_subject(
    program: Program, profile: str, toolchain: str, cpu: str, embed_model: bool
) -> Subject:
    """Build the runner of a planned program and take stock of it.

    The profile is the named one, or holds just what the program needs.
    """
    needed = trimtab.profile_of(program)
    chosen = find_profile(profile) if profile else needed
    check_profile(chosen, needed, find_toolchain(toolchain).arch)
    stem = re.sub(r"[^\w.-]", "_", program.name) or "model"
    parts = (stem, chosen.name if profile else "trimmed", toolchain, cpu)
    folder = paths.cache() / "bench" / "-".join(part for part in parts if part)
    model = folder / f"{stem}.ttm"
    folder.mkdir(parents=True, exist_ok=True)
    program.save(model, names=chosen.strings)
    build = builder.build(
        BuildRequest(
            profile=chosen,
            output_dir=folder / "build",
            toolchain=toolchain,
            cpu=cpu or None,
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
        cpu=cpu or "generic",
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


def model_path(model: str, profile: str = "") -> Path:
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
    return zoo.write(model, paths.cache() / "zoo") if model in zoo.names() else Path(model)


def target_of(toolchain: str, cpu: str, threads: int = 1) -> Target:
    """The machine that a toolchain builds for; `host` is this one with all it can do."""
    if toolchain == "host":
        return Target.host(threads=threads)
    return Target.of(find_toolchain(toolchain).arch, cpu or None, threads)


def results_folder(chosen: str = "") -> Path:
    """Where records are kept: the folder that was asked for, or `results/` of the checkout."""
    base = paths.root() if paths.is_checkout() else Path.cwd()
    return Path(chosen).expanduser() if chosen else base / "results"


def report(references: Sequence[str], *, format: str, output: str, results: str) -> None:
    """Print or write the report of one run, the comparison of several, or the list of all."""
    folder = results_folder(results)
    if not references:
        print(list_runs(folder))
        return
    runs = [records.read(index.find(reference, folder)) for reference in references]
    form = reports.find(format)
    if len(runs) == 1:
        text = form.run(summary.summarize(runs[0]))
    else:
        text = form.comparison(summary.compare(runs))
    if output:
        write_text(Path(output), text)
        print(f"written: {output}")
    else:
        print(text, end="")


def list_runs(folder: Path) -> str:
    """All runs of a folder as a table, oldest first."""
    runs = index.entries(folder)
    if not runs:
        return f"no runs in {folder} yet; ./inv bench makes one"
    rows = []
    for run in runs:
        median = f"{run.headline:,.0f} {run.unit}" if run.headline else ""
        row = [run.run_id or run.file_name, run.time[:19], run.status, run.model, run.profile]
        rows.append([*row, run.device, median, f"{run.binary_bytes:,}"])
    headers = [
        "run",
        "time (UTC)",
        "status",
        "model",
        "profile",
        "device",
        "median",
        "binary bytes",
    ]
    align = ["left"] * 6 + ["right"] * 2
    return tabulate(rows, headers, "simple", colalign=align, disable_numparse=True)


def write_text(path: Path, text: str) -> None:
    """Write a report; it is there complete or not at all. Raises ResultError."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise ResultError(
            f"the report cannot be written: {error.strerror}",
            where=str(path),
            hint="name another file with --output",
        ) from error
