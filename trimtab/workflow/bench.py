"""The main job: from a model to a measured, recorded run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import trimtab
from trimtab.bench import oracle, protocol
from trimtab.bench.golden import Golden
from trimtab.bench.protocol import Outcome, Progress, Settings
from trimtab.devices import find_device
from trimtab.planner.choices import Plan
from trimtab.program import Program
from trimtab.program.program import NUMPY_DTYPES
from trimtab.target import Target
from trimtab.workflow.build import build_subject
from trimtab.workflow.models import model_path, target_of

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


def bench(request: BenchRequest, folder: Path, progress: Progress) -> Outcome:
    """Build, push, measure, record into `folder`.

    A run that fails on the device is recorded and its error is in the outcome; whatever fails
    before is raised as a TrimtabError.
    """
    definition = find_device(request.device)
    toolchain = request.toolchain or definition.toolchain
    cpu = request.cpu or definition.cpu or ""
    path = model_path(request.model, request.profile)
    target = target_of(toolchain, cpu, request.settings.threads)
    progress(f"plan {path.stem} for {toolchain}, {target.core.name}")
    source = trimtab.load(path, inputs=dict(request.shapes))
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
