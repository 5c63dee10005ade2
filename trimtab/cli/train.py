"""Trains networks, on this machine or on a device."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.cli._command import command, group, option
from trimtab.cli._options import INPUT_HELP, TRUST_HELP, TrainingOptions, parse_inputs
from trimtab.paths import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from trimtab.learning.prepared import PreparedTraining
    from trimtab.learning.request import TrainingRequest
    from trimtab.learning.run import Event, Stepper
    from trimtab.program import Program
    from trimtab.progress import Progress

GROUP = "Build"


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """Options of `train`."""

    model: str = option("model file or zoo network to train")
    training: TrainingOptions = group(TrainingOptions)
    input: tuple[str, ...] = option(INPUT_HELP, ())
    data: str = option(
        "labeled data: a folder of class folders with pictures or of .npy files, or an .npz file; "
        "`train` and `test` in it separate the parts (docs/training.md)"
    )
    test_data: str = option("data for tests, if not in `test` of --data")
    iterations: int | None = option("updates; default: those of the solver", None)
    display: int | None = option("iterations between reports; default: the solver's, or 20", None)
    test_interval: int | None = option("iterations between tests; 0: none", None)
    snapshot: int | None = option("iterations between checkpoints; 0: only at the end", None)
    resume: str = option("checkpoint to continue from")
    output: str = option(
        "file of the learned network: .ttm, or another format of `convert`; checkpoints are beside "
        "it; default: NAME.ttm"
    )
    device: str = option(f"device to train on ({PROGRAM} device); default: this process")
    toolchain: str = option("with --device: machine to build for; default: the device's")
    cpu: str = option("with --device: core to build for; default: the device's")
    trust_new: bool = option(TRUST_HELP, False)
    threads: int = option("threads of each step", 1)
    json: bool = option("print one JSON object per report, test and checkpoint", False)

    def validate(self) -> None:
        """Errors of `resolve.check`; UsageError for a machine without a device."""
        from trimtab.errors import UsageError
        from trimtab.pipeline import resolve
        from trimtab.pipeline.recipe import MeasurementRequest, Recipe

        resolve.check(Recipe(model=self.model), needs_model=bool(self.request().model))
        if self.device:
            measured = MeasurementRequest(device=self.device)
            recipe = Recipe(toolchain=self.toolchain, cpu=self.cpu, measurement=measured)
            resolve.check(recipe, needs_model=False)
        elif self.toolchain or self.cpu:
            raise UsageError("--toolchain and --cpu are for --device", hint="name a device, too")
        if not self.data:
            raise UsageError("which data?", hint="--data FOLDER, or an .npz file")
        if self.output:
            _check_output(Path(self.output))

    def request(self) -> TrainingRequest:
        """The request of these options; UsageError for invalid values."""
        return self.training.read(self.model, parse_inputs(self.input), self.data)


@command(TrainOptions, engine=True, short_options=False)
def train(options: TrainOptions) -> None:
    """Train a network on labeled data, here or on a device: by a Caffe solver, or by options."""
    from trimtab.cli._progress import shown
    from trimtab.learning.prepared import prepare
    from trimtab.learning.run import TrainingRun, read_data, with_schedule

    request = options.request()
    data, tests = Path(options.data), Path(options.test_data) if options.test_data else None
    progress = shown(quiet=options.json)
    prepared = prepare(request, progress)
    output = Path(options.output or f"{prepared.schedule.prefix}.ttm")
    default = None if request.solver else 20
    prepared = with_schedule(
        prepared,
        iterations=options.iterations,
        display=default if options.display is None else options.display,
        test_interval=options.test_interval,
        snapshot=options.snapshot,
        prefix=str(output.with_suffix("")),
    )
    _check_output(output)
    run = TrainingRun(
        prepared, read_data(prepared, data, tests), _reporter(as_json=options.json), progress
    )
    with _stepper(options, prepared, progress) as stepper:
        run.run(stepper)
        _write(stepper.network(), output)
    if not options.json:
        print(f"written: {output}")


@contextmanager
def _stepper(
    options: TrainOptions, prepared: PreparedTraining, progress: Progress
) -> Iterator[Stepper]:
    """The maker of the steps: this process, or the device, for which a runner is built first."""
    if not options.device:
        from trimtab.learning.trainer import Trainer

        trainer = Trainer(prepared.training, options.threads, prepared.seed)
        if options.resume:
            trainer.restore(options.resume)
        yield trainer
        return
    from trimtab.devices import find_device
    from trimtab.learning.remote import remote_trainer, runner_for

    definition = find_device(options.device)
    built = runner_for(
        prepared,
        definition,
        toolchain=options.toolchain,
        cpu=options.cpu,
        threads=options.threads,
        trust_new=options.trust_new,
        progress=progress,
    )
    with remote_trainer(prepared, built, definition, trust_new=options.trust_new) as remote:
        remote.begin(options.resume)
        yield remote


def _reporter(*, as_json: bool) -> Callable[[Event], None]:
    """Prints events, each on a line of its own."""
    from trimtab.strict_json import dumps

    def report(event: Event) -> None:
        if as_json:
            print(dumps(dict(event)), flush=True)
            return
        kind, iteration = event["event"], event["iteration"]
        values = [(name, event[name]) for name in event if name not in ("event", "iteration")]
        texts = [f"{n} {v:.6g}" if isinstance(v, float) else str(v) for n, v in values]
        print(f"{kind:>8} {iteration:>6}: {', '.join(texts)}", flush=True)

    return report


def _check_output(output: Path) -> None:
    """UsageError for a format that cannot be written; FileAccessError for a folder that cannot."""
    from trimtab import exporters, files

    exporters.exporter_for(output)
    files.check_writable(output)


def _write(network: Program, output: Path) -> None:
    """Writes the network in the format of the file's suffix; if that cannot express it, into a .ttm
    file beside it, so that the training is not lost.
    """
    from trimtab import exporters
    from trimtab.errors import ExportModelError
    from trimtab.pipeline.export import export

    exporter = exporters.exporter_for(output)
    if not exporter:
        network.save(output)
        return
    try:
        export(network, output, exporter)
    except ExportModelError as error:
        fallback = output.with_suffix(".ttm")
        network.save(fallback)
        error.hint = f"the trained network is in {fallback}, to inspect or convert"
        raise
