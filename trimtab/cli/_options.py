"""Groups of options that several commands share, and how their values are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trimtab.cli._command import group, option
from trimtab.paths import PROGRAM

if TYPE_CHECKING:
    from trimtab.devices.control import Control
    from trimtab.heads import HeadRequest
    from trimtab.learning.request import TrainingRequest
    from trimtab.pipeline.budget import Budget
    from trimtab.pipeline.calibration import Calibration
    from trimtab.pipeline.recipe import Recipe, Shapes
    from trimtab.planner.plan_file import Plan

INPUT_HELP = (
    "shape of a graph input: NAME=1,3,224,224, or with bounds: NAME=1..8,3,64..640,64..640 "
    "(docs/free-dimensions.md), or a state whose next value is an output: NAME=@OUTPUT "
    "(docs/states.md; repeatable)"
)
CAMERA_HELP = (
    "shape of a graph input, or the camera in front of it: NAME=1,3,224,224, or "
    '"NAME=camera(nv12, 1920x1080) | yolo" (docs/camera.md; repeatable)'
)
_VIEW_HELP = (
    "; or the steps from pictures of --calibration to an input: auto takes what the model's file "
    "says, others are a family such as yolo, or the steps; NAME=yolo for one of several "
    "(docs/camera.md)"
)
VIEW_HELP, CAMERA_HELP = INPUT_HELP + _VIEW_HELP, CAMERA_HELP + _VIEW_HELP
HEAD_HELP = (
    "decode the outputs to boxes, classes or labels: yolov8, or yolov8:score=0.3,iou=0.5 "
    "(docs/boxes.md)"
)
PREFER_HELP = "balanced, size (small model and binary) or load (short load time)"
ACCURACY_HELP = "exactness of float32: balanced, strict or fast (docs/precision.md)"
PRECISION_HELP = (
    "type to compute in: f32, f16, int8, mixed, or auto, the fastest that keeps the accuracy "
    "(docs/precision.md)"
)
WEIGHTS_HELP = (
    "type of stored weights: f32, f16 (half the size), int8 (a quarter), bits6 to bits3 (entropy "
    "coded), or auto, the smallest that keeps the accuracy of --budget on samples (with --prefer "
    "size also coded)"
)
THREADS_HELP = "threads of the runner; default: those of --plan, or 1"
RESULTS_HELP = "folder of the run records (default: results/)"
WAIT_HELP = "wait for the device's lease, a day or this many seconds, instead of giving up"
TRUST_HELP = "pin the host key of a device on first contact"
_A_DAY_S = 86400.0


@dataclass(frozen=True, kw_only=True)
class PlanChoices:
    """Choices that the planner leaves to the user."""

    prefer: str = option(PREFER_HELP)
    weights: str = option(WEIGHTS_HELP)
    accuracy: str = option(ACCURACY_HELP)
    precision: str = option(PRECISION_HELP)
    threads: int | None = option(THREADS_HELP, None)

    def read(self, path: str = "") -> Plan:
        """The plan of the file `path`, or the default one, with these choices in place of its own;
        UsageError for an invalid choice.
        """
        from trimtab.pipeline.resolve import read_plan

        return read_plan(
            path,
            prefer=self.prefer,
            weights=self.weights,
            accuracy=self.accuracy,
            precision=self.precision,
            threads=self.threads,
        )


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """A plan file, and choices that replace its own."""

    plan: str = option(
        f"plan file with algorithms and kernels ({PROGRAM} inspect --plan writes one)"
    )
    choices: PlanChoices = group(PlanChoices)

    def read(self) -> Plan:
        """The plan; PlanError for a malformed file, UsageError for an invalid choice."""
        return self.choices.read(self.plan)


def _methods() -> list[str]:
    """The names of the calibration methods, which are found without loading them."""
    folder = Path(__file__).parents[1] / "quantization" / "methods"
    return ["best", *sorted(path.stem for path in folder.glob("[!_]*.py"))]


@dataclass(frozen=True, kw_only=True)
class CalibrationOptions:
    """The samples, method and ranges that a network is quantized with."""

    calibration: str = option(
        "samples of real data for int8: an .npz file with arrays by input, or a folder of "
        "pictures; the accuracy is measured on a held-out part"
    )
    method: str = option(
        f"calibration method: {', '.join(_methods())}; default: best, which tries several"
    )
    ranges: str = option("file of ranges: read if it exists, else written")
    cast: bool = option(
        "convert samples of another element type than the network's inputs, values unchanged", False
    )

    def read(self) -> Calibration:
        """The calibration that these options ask for."""
        from trimtab.pipeline.calibration import Calibration

        return Calibration(self.calibration, self.method, self.ranges, cast=self.cast)


@dataclass(frozen=True, kw_only=True)
class PrecisionOptions:
    """The calibration of a network, and the accuracy that mixed precision must keep."""

    samples: CalibrationOptions = group(CalibrationOptions)
    budget: str = option(
        "accuracy that --precision mixed or auto, or --weights auto, must keep: "
        '"top1 >= 99 %", "boxes >= 95 %" of --head, "error <= 0.02", "cosine >= 0.999" or '
        '"noise <= 0.01 %"'
    )

    def read(self) -> Calibration:
        """The calibration that these options ask for."""
        from dataclasses import replace

        return replace(self.samples.read(), budget=self.budget)


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Losses, optimizer and parameters of a training: of a Caffe solver, or as settings."""

    solver: str = option(
        "Caffe's solver.prototxt, in place of a model, losses, optimizer and parameters"
    )
    caffemodel: tuple[str, ...] = option(
        "weights that the solver's network begins with (repeatable)", ()
    )
    loss: tuple[str, ...] = option(
        "what to minimize: softmax, or euclidean:output=NAME,weight=0.5 (repeatable)", ()
    )
    optimizer: str = option("sgd, nesterov or adam: adam:rate=0.001,weight_decay=0.0005")
    trainable: tuple[str, ...] = option(
        "parameters to train, by name or operator: 'ip2*', or with multipliers of rate and decay, "
        "'*.bias=2,0' (repeatable); default: all",
        (),
    )
    batch_statistics: tuple[str, ...] = option(
        "batch normalizations that use the statistics of each batch (repeatable)", ()
    )
    dropout: tuple[str, ...] = option("operator and share of zeros: relu6=0.5 (repeatable)", ())
    seed: int = option("seed of the order of examples, of dropout and of fillers", 0)

    def read(self, model: str, shapes: Shapes, data: str = "") -> TrainingRequest:
        """The request to train a model, or the network of the solver; UsageError for invalid
        values.
        """
        from trimtab.errors import UsageError
        from trimtab.learning.request import parse_request
        from trimtab.pipeline import input_shapes

        if not model and not self.solver:
            raise UsageError("what to train?", hint="--model FILE, or --solver solver.prototxt")
        return parse_request(
            model=model,
            solver=self.solver,
            weights=self.caffemodel,
            shapes=input_shapes.without_bounds(shapes),
            losses=self.loss,
            optimizer=self.optimizer,
            trainable=self.trainable,
            batch_statistics=self.batch_statistics,
            dropout=self.dropout,
            seed=self.seed,
            data=data,
        )


@dataclass(frozen=True, kw_only=True)
class BudgetOptions:
    """Upper limits of what is deployed."""

    max_model_bytes: str = option("limit for the model file, such as 4M or 512K")
    max_binary_bytes: str = option("limit for the binary")
    max_memory: str = option("limit for activations, prepared weights and the model file together")

    def read(self, prefer: str = "") -> Budget:
        """The limits; UsageError for a malformed size, and for limits beside a preference."""
        from trimtab.errors import UsageError
        from trimtab.pipeline.budget import Budget

        budget = Budget(
            parse_bytes("max-model-bytes", self.max_model_bytes),
            parse_bytes("max-binary-bytes", self.max_binary_bytes),
            parse_bytes("max-memory", self.max_memory),
        )
        if budget and prefer:
            raise UsageError(
                "limits choose the preference, so it cannot be given",
                hint="leave out --prefer, or the limits",
            )
        return budget


@dataclass(frozen=True, kw_only=True)
class ControlOptions:
    """How the device is controlled during a measurement."""

    cores: str = option(
        "where to run: big, little, a core's name, 0-3, or all; default: the fastest cluster"
    )
    governor: str = option(
        "frequency governor of these cores: performance (default), another, or keep", "performance"
    )
    max_celsius: float = option(
        "wait until the device is cooler; default: 10 below its throttling temperature", 0.0
    )
    wait: str | bool = option(WAIT_HELP, bare=True)

    def read(self) -> Control:
        """The control that these options ask for; UsageError for invalid values."""
        from trimtab.devices.control import Control

        return Control(self.cores, self.governor, self.max_celsius or None, parse_wait(self.wait))


@dataclass(frozen=True, kw_only=True)
class RecipeOptions:
    """The network, what the binary is to contain, and the machine that it is for."""

    model: str = option(
        "model file or zoo network, also without --model; default of a measurement: the network of "
        "the profile's family"
    )
    input: tuple[str, ...] = option(CAMERA_HELP, ())
    head: str = option(HEAD_HELP)
    profile: str = option(
        "contents of the binary: a profile's name or file; default: exactly what the model needs"
    )
    toolchain: str = option(
        "machine to build for (docs/toolchains.md); default: the device's, or this one"
    )
    cpu: str = option(
        "core to build for, e.g. cortex-a53; default: the device's, or any of the architecture"
    )

    @classmethod
    def of(cls, options: Any, **others: Any) -> RecipeOptions:
        """The fields that a command's own options share with these by name, and `others`."""
        names = {field.name for field in fields(cls)} - others.keys()
        shared = {name: getattr(options, name) for name in names if hasattr(options, name)}
        return cls(**shared, **others)

    def read(
        self,
        plan: Plan,
        calibration: Calibration | None = None,
        *,
        cameras: bool = True,
        views: bool = True,
    ) -> Recipe:
        """The recipe of these options; UsageError for invalid values. `cameras`, `views`: inputs
        may also name cameras, and the steps from the pictures of a calibration.
        """
        from trimtab.pipeline import input_shapes
        from trimtab.pipeline.calibration import Calibration
        from trimtab.pipeline.recipe import Recipe

        inputs = input_shapes.parse_all(self.input, cameras=cameras, views=views)
        return Recipe(
            model=self.model,
            profile=self.profile,
            toolchain=self.toolchain,
            cpu=self.cpu,
            shapes=inputs.shapes,
            cameras=inputs.cameras,
            head=parse_head(self.head),
            plan=plan,
            calibration=(calibration or Calibration()).with_views(inputs.views),
        )


def format_of(format: str, output: str, suffixes: Mapping[str, str], default: str) -> str:
    """The format that the user names, or else the one of the suffix of the file `output`, or the
    default where there is no suffix; UsageError for a suffix of no format.
    """
    from trimtab.errors import UsageError

    suffix = Path(output).suffix.lower()
    if format or not suffix:
        return format or default
    if suffix not in suffixes:
        raise UsageError(
            f"no format has the suffix {suffix}",
            where=output,
            hint=f"name a file that ends in {', '.join(sorted(suffixes))}, or choose with --format",
        )
    return suffixes[suffix]


def parse_inputs(inputs: Iterable[str]) -> Shapes:
    """["data=1..8,3,224,224"] -> {"data": ("1..8", 3, 224, 224)}; UsageError for anything else."""
    from trimtab.pipeline import input_shapes

    return input_shapes.parse(inputs)


def parse_head(head: str) -> HeadRequest | None:
    """The head that an option asks for, None for ""; UsageError for anything else."""
    from trimtab import heads

    if not head:
        return None
    if head.endswith(".toml") and ":" not in head:
        from trimtab.pipeline import input_shapes

        head = input_shapes.read_use(head).head
    request = heads.HeadRequest.parse(head)
    heads.find(request.name)
    return request


def parse_wait(wait: str | bool) -> float:
    """The seconds to wait for a lease; UsageError if it is not a number."""
    from trimtab.errors import UsageError

    try:
        return _A_DAY_S if wait is True else float(wait or 0)
    except ValueError:
        raise UsageError(f"--wait {wait!r} is not a number of seconds") from None


def parse_bytes(option: str, text: str) -> int | None:
    """ "512K" -> 524288; powers of 1024. None for "", UsageError for a malformed size."""
    import re

    from trimtab.errors import UsageError

    if not text:
        return None
    match = re.fullmatch(r"(\d+)([KMG]?)", text, re.ASCII)
    count = int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]] if match else 0
    if not count:
        raise UsageError(f"--{option} {text!r} is not a size", hint="write it as 80000, 512K or 4M")
    return count
