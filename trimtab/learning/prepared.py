"""Trainings as requested: by a model and settings, or by Caffe's solver.prototxt."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from trimtab import importers
from trimtab.errors import UsageError, whole_number
from trimtab.importers.caffe_ops.net import TEST, TRAIN
from trimtab.learning import caffe_solver, labeled_data
from trimtab.learning.caffe_network import CaffeNetwork, CaffeSource
from trimtab.learning.caffe_solver import CaffeSolver
from trimtab.learning.request import TrainingRequest
from trimtab.learning.settings import Loss, Solver
from trimtab.learning.training_program import TrainingProgram, evaluation, training
from trimtab.pipeline.resolve import load_program
from trimtab.program import Program
from trimtab.program.block import NUMPY_DTYPES
from trimtab.progress import SILENT, Progress
from trimtab.quantization.picture_samples import Pictures


@dataclass(frozen=True)
class Schedule:
    """When a training reports, tests, writes snapshots and ends, in iterations; 0: never.

    `tests`: batches per test; 0: all data of the tests once. UsageError for negative numbers.
    """

    iterations: int = 0
    display: int = 0
    test_interval: int = 0
    tests: int = 0
    test_first: bool = True
    snapshot: int = 0
    snapshot_at_end: bool = True
    prefix: str = ""

    def __post_init__(self) -> None:
        for name in ("iterations", "display", "test_interval", "tests", "snapshot"):
            whole_number(name, getattr(self, name), 0)


@dataclass(frozen=True)
class ShareOfLabels:
    """The share of labels `target` that are among the `top` largest of the output `output`."""

    name: str
    output: str
    target: str
    top: int = 1
    ignore_label: int | None = None


@dataclass(frozen=True)
class TestNetwork:
    """The network of a test, whose constants are replaced by the trained ones."""

    __test__ = False  # not a test of pytest

    network: Program
    losses: tuple[Loss, ...]
    accuracies: tuple[ShareOfLabels, ...]

    def program(self, trained: Program) -> Program:
        """The network with trained constants and its loss as first output."""
        network = self.network.copy()
        for name, var in network.vars.items():
            other = trained.vars.get(name)
            if var.data is not None and other is not None and other.data is not None:
                var.data = other.data
        return evaluation(network, self.losses)


@dataclass(frozen=True)
class PreparedTraining:
    """A training program with its tests, its schedule, and the preprocessing of its data.

    `path`: the network's file.
    """

    request: TrainingRequest
    path: Path
    training: TrainingProgram
    test: TestNetwork
    schedule: Schedule
    seed: int = 0
    pictures: Pictures | None = None
    mirror: bool = False

    @property
    def inputs(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Shape and numpy dtype of what each step reads from the data, by name."""
        own = {*self.training.next_values, *self.training.masks, "learning_rate", "is_update"}
        return _inputs(self.training.program, own)

    @property
    def test_inputs(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """The same for a batch of a test."""
        inputs = _inputs(evaluation(self.test.network, self.test.losses), set())
        for one in self.test.accuracies:
            shape = self.test.network.vars[one.output].shape
            inputs.setdefault(one.target, ((shape[0], *shape[2:]), "int32"))
        return inputs


def _inputs(program: Program, excluded: set[str]) -> dict[str, tuple[tuple[int, ...], str]]:
    shown = {name: program.vars[name] for name in program.inputs if name not in excluded}
    return {n: (var.shape, np.dtype(NUMPY_DTYPES[var.dtype]).name) for n, var in shown.items()}


def prepare(request: TrainingRequest, progress: Progress = SILENT) -> PreparedTraining:
    """Loads the network of a request and adds losses, gradients and updates.

    UsageError if the request names no network, or two; errors of importers and of
    `learning.training`.
    """
    if bool(request.model) == bool(request.solver):
        raise UsageError("what to train?", hint="--model FILE, or --solver solver.prototxt")
    if request.solver:
        return _of_solver(request)
    program = load_program(request.model, request.shapes, progress)
    result = training(
        program,
        loss=request.losses,
        trainable=request.trainable,
        optimizer=request.optimizer,
        batch_statistics=request.batch_statistics,
        dropout=request.dropout,
    )
    network = result.network
    accuracies = tuple(
        ShareOfLabels("accuracy", loss.output or network.outputs[0], loss.target)
        for loss in request.losses
        if loss.kind == "softmax"
    )
    test = TestNetwork(network, request.losses, accuracies)
    schedule = Schedule(iterations=request.optimizer.iterations, prefix=Path(request.model).stem)
    path = Path(request.model)
    return PreparedTraining(request, path, result, test, schedule, request.seed)


def training_files(request: TrainingRequest) -> list[Path]:
    """The files that `prepare` reads for a request, as far as they exist."""
    if not request.solver:
        model = Path(request.model)
        return importers.files(model) if model.exists() else []
    path = Path(request.solver)
    if not path.is_file():
        return []
    solver = caffe_solver.read(path)
    networks = [solver, *(replace(solver, network=name) for name in solver.test_networks[:1])]
    sources = [_source(request, one, one.network_path(path)) for one in networks]
    read = [path, *(source.path for source in sources), *sources[0].weights]
    return [file for file in dict.fromkeys(read) if file.is_file()]


def _of_solver(request: TrainingRequest) -> PreparedTraining:
    path, data = Path(request.solver), Path(request.data) if request.data else None
    solver = caffe_solver.read(path)
    train = _source(request, solver, solver.network_path(path))
    test = train
    if solver.test_networks:
        named = replace(solver, network=solver.test_networks[0]).network_path(path)
        test = _source(request, solver, named)

    def shape_in(part: str) -> CaffeShape:
        folder = labeled_data.part(data, part) if data else None
        return CaffeShape(folder or data)

    network = train.load(TRAIN, shape_in(labeled_data.TRAIN))
    losses = tuple(Loss(**values) for values in network.losses)
    if not losses:
        raise UsageError(
            "its network has no loss in the TRAIN phase",
            where=str(train.path),
            hint="name the network for training, whose last layer is a loss",
        )
    constants = {var.name for var in network.program.constants()}
    multipliers = caffe_solver.multipliers(train.path).items()
    momenta = {*network.phase.statistics.values()}
    if len(momenta) > 1:
        raise UsageError(
            "its batch normalizations differ in moving_average_fraction",
            where=str(train.path),
            hint="state the same for all",
        )
    program = training(
        network.program,
        loss=losses,
        trainable={name: m for name, m in multipliers if name == "*" or name in constants},
        optimizer=_optimizer(solver),
        batch_statistics=tuple(network.phase.statistics),
        batch_momentum=momenta.pop() if momenta else 0.0,
        statistics_from_zero=not (request.weights or solver.weights),
        dropout=network.phase.dropout,
        blocked=network.phase.blocked,
    )
    return PreparedTraining(
        request,
        train.path,
        program,
        _test_of(test, shape_in(labeled_data.TEST)),
        _schedule(solver, path),
        train.seed,
        Pictures(
            network.data.mean,
            (network.data.scale,),
            "bgr",
            "crop" if network.data.crop else "stretch",
        ),
        network.data.mirror,
    )


@dataclass(frozen=True)
class CaffeShape:
    """The shapes of examples in a folder."""

    folder: Path | None

    def __call__(self, name: str) -> tuple[int, ...] | None:
        """The shape of the examples of `name`."""
        return labeled_data.example_shape(self.folder, name) if self.folder else None


def _source(request: TrainingRequest, solver: CaffeSolver, path: Path) -> CaffeSource:
    stated = tuple(name for text in solver.weights for name in text.split(","))
    weights = tuple(Path(name) for name in request.weights or stated)
    seed = request.seed or max(0, solver.random_seed)
    return CaffeSource(path, weights, request.shapes, seed)


def _test_of(source: CaffeSource, shape: CaffeShape) -> TestNetwork:
    network: CaffeNetwork = source.load(TEST, shape)
    losses = tuple(Loss(**values) for values in network.losses)
    accuracies = tuple(ShareOfLabels(**values) for values in network.accuracies)
    return TestNetwork(network.program, losses, accuracies)


def _optimizer(solver: CaffeSolver) -> Solver:
    return Solver(**{one.name: getattr(solver, one.name) for one in fields(Solver)})


def _schedule(solver: CaffeSolver, path: Path) -> Schedule:
    return Schedule(
        iterations=solver.iterations,
        display=solver.display,
        test_interval=solver.test_interval,
        tests=solver.test_iter[0] if solver.test_iter else 0,
        test_first=solver.test_initialization,
        snapshot=solver.snapshot,
        snapshot_at_end=solver.snapshot_after_train,
        prefix=solver.snapshot_prefix or path.stem.removesuffix("_solver"),
    )
