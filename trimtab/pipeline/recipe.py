"""The first stage of the pipeline: what to build, for which machine, and how to measure it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from trimtab.bench.jobs import Settings
from trimtab.build.toolchain import find_toolchain
from trimtab.camera import Camera
from trimtab.devices import DeviceDefinition
from trimtab.heads import HeadRequest
from trimtab.importers.free_dimensions.bounds import Size
from trimtab.pipeline.budget import Budget
from trimtab.pipeline.calibration import Calibration
from trimtab.planner.plan_file import Plan

Shapes = Mapping[str, tuple[Size, ...]]


@dataclass(frozen=True)
class MeasurementRequest:
    """How to measure a binary. `results`: the folder for the run's record; `settings`: their number
    of threads is the recipe's. `trust_new`: pin the host key of a device on first contact.
    """

    device: str = "local"
    settings: Settings = field(default_factory=Settings)
    results: Path = Path("results")
    trust_new: bool = False


@dataclass(frozen=True)
class Recipe:
    """A request to build, and optionally to measure, one binary; "" takes a default.

    `model`: a model file or a zoo network; `outputs`: tensors that replace the model's outputs;
    `cameras`: those in front of its inputs, by name; `head`: what is attached to its outputs.
    `profile`: the name or file of a profile; default: exactly what the model needs. `pictures`: the
    runner decodes JPEG and PNG files; `tensors`: it can write the results of operators. `trains`:
    runner and library make steps of a training. `output`: the folder to deliver into; default:
    dist/NAME-TOOLCHAIN, or the cache if the binary is measured. `measurement`: None if it is
    only built.
    """

    model: str = ""
    profile: str = ""
    toolchain: str = ""
    cpu: str = ""
    shapes: Shapes = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    cameras: Mapping[str, Camera] = field(default_factory=dict)
    head: HeadRequest | None = None
    plan: Plan = field(default_factory=Plan)
    calibration: Calibration = field(default_factory=Calibration)
    budget: Budget = field(default_factory=Budget)
    embed_model: bool = False
    example: bool = False
    strings: bool = True
    build_type: str = "Release"
    shared: bool = False
    pictures: bool = False
    tensors: bool = False
    trains: bool = False
    output: Path | None = None
    measurement: MeasurementRequest | None = None

    @property
    def threads(self) -> int:
        """The number of threads that the binary will run with."""
        return self.plan.threads or 1

    @property
    def calibrating(self) -> Calibration:
        """The calibration with what the rest of the recipe says about it."""
        own = self.calibration.for_model(self.model)
        return replace(own, head=self.head, views={**own.views, **self.cameras})

    @property
    def is_paced(self) -> bool:
        """Whether the binary is measured with frames that arrive at a fixed rate."""
        return self.measurement is not None and self.measurement.settings.pace is not None

    @property
    def machine(self) -> str:
        """The target machine in words: toolchain, core and threads."""
        toolchain = find_toolchain(self.toolchain or "host")
        threads = f", {self.threads} threads" if self.threads > 1 else ""
        return f"{toolchain.name}, {toolchain.core(self.cpu).name}{threads}"

    def on_threads(self, threads: int) -> Recipe:
        """The same recipe for this number of threads."""
        return replace(self, plan=replace(self.plan, threads=threads))

    def on_device(self, definition: DeviceDefinition) -> Recipe:
        """The same recipe with the device's toolchain and core where it names none."""
        toolchain = self.toolchain or definition.toolchain
        return replace(self, toolchain=toolchain, cpu=self.cpu or definition.cpu or "")
