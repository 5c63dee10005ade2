"""Measures trimtab and other engines on a device, interleaved.

Each round launches each engine once, in a seeded random order; a launch loads the network and runs
a few inferences.

The engines are wheels for the device's Python, or programs that the user names. On an emulator that
counts instructions, these stand in place of times.
"""

from __future__ import annotations

import json
import random
import shlex
import statistics
import tempfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from lab.peers import converted, wheels, worker
from lab.peers.engine_launches import EngineLaunches
from lab.peers.named_runner import NamedRunner
from lab.peers.wheels import DevicePython
from trimtab.bench import emulator_counts, golden, runner
from trimtab.bench.device_session import DeviceSession
from trimtab.bench.golden import Golden
from trimtab.devices import Device, DeviceDefinition, find_device
from trimtab.devices.control import sysfs
from trimtab.devices.protocol import CommandResult, InstructionCounter, Transcript
from trimtab.devices.qemu_user import QemuUserDevice
from trimtab.errors import DeviceError, MissingRequirementError, RunnerError, TrimtabError
from trimtab.pipeline.built import Built
from trimtab.pipeline.calibration import Calibration
from trimtab.pipeline.measured import archived, build_for, ready_device
from trimtab.pipeline.recipe import Recipe
from trimtab.progress import Progress
from trimtab.results.peer_figures import PeerFigure

RUNS = 5  # timed inferences of a launch, after the first two
COUNTED_RUNS = 1  # of a launch whose instructions are counted, which are the same each time
TIMEOUT_S = 900.0
ENGINES = ("onnxruntime", "openvino", "opencv", "ncnn", "mnn", "litert", "executorch")
_QUANTIZED = ("onnxruntime", "openvino", "litert")
_PRECISIONS = {"f32": ENGINES, "f16": ("ncnn", "mnn"), "int8": _QUANTIZED}
_MORE = {
    "litert": "; --onnx2tf names a converter",
    "executorch": ", which torch writes, and its wheel needs torch; --runner takes a program of it",
}
_US = "trimtab"


@dataclass(frozen=True)
class Scope:
    """A comparison on a device. `python`: the interpreter there, "" for python3; `engines`: those
    of wheels to compare with; `converters`: programs by engine, as of `converted.files_of`;
    `tolerant`: a network that trimtab fails on is left out, too.
    """

    device: str
    recipes: Sequence[Recipe]
    rounds: int
    precision: str
    python: str = ""
    runners: Sequence[NamedRunner] = ()
    engines: Collection[str] = ENGINES
    converters: Mapping[str, str] = field(default_factory=dict)
    tolerant: bool = False


def compare(scope: Scope, cache: Path, progress: Progress) -> tuple[list[PeerFigure], list[str]]:
    """The figures of all networks, and the reasons why engines are missing."""
    definition = find_device(scope.device)
    if scope.python:  # which the user names: before the first build
        with definition.open() as device:
            _facts(device, scope.python)
    figures: list[PeerFigure] = []
    left_out: list[str] = []
    with progress.step(f"measure on {scope.device}", "networks") as networks:
        for number, recipe in enumerate(scope.recipes):
            networks.update(number, len(scope.recipes))
            try:
                figures += _on_one(definition, recipe, scope, cache, left_out, progress)
            except TrimtabError as error:
                if not scope.tolerant:
                    raise
                left_out.append(f"{Path(recipe.model).stem}: {error.what}")
    return figures, list(dict.fromkeys(left_out))


def _on_one(
    definition: DeviceDefinition,
    recipe: Recipe,
    scope: Scope,
    cache: Path,
    left_out: list[str],
    progress: Progress,
) -> list[PeerFigure]:
    """The figures of one network; adds the reasons why engines are missing to `left_out`."""
    whole = recipe.on_device(definition)
    with tempfile.TemporaryDirectory() as folder:
        if scope.precision == "f16":  # tells the range of the inputs, which are standard normal
            samples = str(converted.normal_samples(Path(recipe.model), Path(folder)))
            whole = replace(whole, calibration=Calibration(samples))
        wait_s = whole.measurement.settings.control.wait_s if whole.measurement else 0.0
        room = ready_device(definition, whole.toolchain, wait_s=wait_s)
        built = build_for(room, whole, progress)
    with definition.open() as device, _DeviceRounds(device, built, scope, progress) as one:
        return one.run(cache, left_out)


class _DeviceRounds(AbstractContextManager["_DeviceRounds"]):
    """One network on a device that is held and under control meanwhile."""

    def __init__(self, device: Device, built: Built, scope: Scope, progress: Progress) -> None:
        self._device, self._built, self._scope = device, built, scope
        self._progress = progress
        self._threads = built.recipe.threads
        self._stack = ExitStack()

    def __enter__(self) -> _DeviceRounds:
        measurement = self._built.recipe.measurement
        assert measurement is not None
        self._session = self._stack.enter_context(
            DeviceSession(
                self._device,
                measurement.settings.control,
                threads=self._threads,
                lanes=1,
                note=self._progress.note,
            )
        )
        self._folder = self._stack.enter_context(self._device.scratch())
        self._local = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self, cache: Path, left_out: list[str]) -> list[PeerFigure]:
        """The figures of all engines that run the network; adds the others to `left_out`."""
        subject, self._expected = archived(self._built, self._progress)
        self._build = subject.build
        engines = [self._ours(subject.binary, subject.model)]
        engines += [self._named(one) for one in self._scope.runners]
        try:
            python = self._python()
            facts = _facts(self._device, python)
            engines += self._workers(python, facts, cache, left_out)
        except (DeviceError, MissingRequirementError) as error:
            left_out.append(error.what)
        order = random.Random(0)
        title = f"{self._built.planned.stem} on {self._device.name}"
        with self._progress.step(title, "rounds") as step:
            for number in range(self._scope.rounds):
                step.update(number, self._scope.rounds)
                order.shuffle(engines)
                for engine in list(engines):
                    try:
                        with self._session.control.launch():
                            self._launch(engine)
                    except (RunnerError, ValueError, KeyError) as error:
                        if engine.name == _US:
                            raise
                        left_out.append(f"{engine.name} on {self._built.planned.stem}: {error}")
                        engines.remove(engine)
        return self._figures(engines)

    def _ours(self, binary: Path, model: Path) -> EngineLaunches:
        command = runner.Command(
            runner=self._push(binary),
            model=None if self._built.recipe.embed_model else self._push(model),
            inputs=[self._push(path) for path in self._expected.write_inputs(self._local)],
            threads=self._threads,
            cores=self._session.control.cores,
            warmup=1,
            runs=self._runs,
            markers=self._counts,
        )
        return EngineLaunches(_US, command.argv())

    def _named(self, runner: NamedRunner) -> EngineLaunches:
        paths = [self._push(path) for path in runner.files]
        argv = [self._push(runner.program), str(self._threads), str(self._runs), *paths]
        return EngineLaunches(runner.name, argv)

    def _workers(
        self, python: str, facts: DevicePython, cache: Path, left_out: list[str]
    ) -> list[EngineLaunches]:
        """The engines of wheels, unpacked on the device, whose first inference is right."""
        model = self._built.planned.loaded.path
        archives = {}
        suffix = ".tflite" if model.suffix == ".tflite" else ".onnx"
        for name in ENGINES:
            if name not in _PRECISIONS[self._scope.precision] or name not in self._scope.engines:
                continue
            if refusal := self._refusal(name, suffix):
                left_out.append(refusal)
                continue
            try:
                archives[name] = wheels.download(worker.ENGINES[name].packages[0], facts, cache)
            except MissingRequirementError as error:
                left_out.append(error.what)
        if not archives:
            return []
        numpy = wheels.download("numpy", facts, cache)
        pushed = [self._push(path) for path in (numpy, *archives.values())]
        unpack = "import sys, zipfile\nfor w in sys.argv[2:]: zipfile.ZipFile(w).extractall("
        script = f"{unpack}sys.argv[1])"
        with self._progress.step(f"unpack {len(pushed)} wheels on {self._device.name}"):
            site = f"{self._folder}/site"
            done = self._device.run([python, "-c", script, site, *pushed], timeout_s=TIMEOUT_S)
            _check(done, "unpacking the wheels")
        names = self._built.planned.loaded.source.inputs
        arrays: dict[str, Any] = dict(zip(names, self._expected.inputs, strict=True))
        shapes = {name: array.shape for name, array in arrays.items()}
        files = {}
        for name in list(archives):
            try:
                program = self._scope.converters.get(name, "")
                files[name] = converted.files_of(name, model, shapes, self._local, program)
            except TrimtabError as error:  # the engine's format cannot express it
                left_out.append(f"{name} on {self._built.planned.stem}: {error.what}")
                del archives[name]
        worker_path = self._push(Path(worker.__file__))
        cores = self._session.control.cores
        inputs = self._local / "inputs.npz"
        np.savez(inputs, **arrays)
        engines = []
        for name, wheel in archives.items():
            folder = f"{self._folder}/{name}"
            job = {
                "engine": name,
                "model": f"{folder}/{self._placed(folder, files[name])}",
                "folder": folder,
                "threads": self._threads,
                "inputs": self._push(inputs),
                "names": list(self._expected.output_names),
                "prefer": "",
                "is_half": self._scope.precision == "f16",
                "cores": sorted(sysfs.cores_of(cores)) if cores else [],
            }
            argv = [python, worker_path, "once", json.dumps(job), str(self._runs)]
            version = wheel.name.split("-")[1]
            label = f"{worker.ENGINES[name].packages[0]} {version}"
            engines.append(EngineLaunches(label, argv, {"PYTHONPATH": site}, is_worker=True))
        return [engine for engine in engines if self._is_right(engine, left_out)]

    def _refusal(self, name: str, suffix: str) -> str:
        """Why an engine does not read the network's file; "" if it does, or a converter helps."""
        reads, is_float = worker.ENGINES[name].reads, self._scope.precision == "f32"
        if reads == suffix or (is_float and suffix == ".onnx" and self._scope.converters.get(name)):
            return ""
        return f"{name}: it reads {reads} files{_MORE.get(name, '') if is_float else ''}"

    def _placed(self, folder: str, paths: Sequence[Path]) -> str:
        """Pushes files into a folder of the device under their names; returns the model's name,
        which is ONNX's for a converted one.
        """
        copies = [(self._push(path), f"{folder}/{path.name}") for path in paths]
        commands = [["mkdir", "-p", folder], *(["cp", *pair] for pair in copies)]
        script = " && ".join(map(shlex.join, commands))
        self._device.shell(script, "place the network's files")
        return paths[0].name.replace(".ncnn.param", ".onnx")

    def _is_right(self, engine: EngineLaunches, left_out: list[str]) -> bool:
        """Whether an engine computes the expected outputs; else adds the reason."""
        name = f"{engine.name} on {self._built.planned.stem}"
        try:
            argv = [*engine.argv[:-1], "0"]  # no inference that is timed
            done = self._device.run(argv, timeout_s=TIMEOUT_S, env=engine.env)
            _check(done, name)
            path = self._local / "outputs.npz"
            folder = json.loads(engine.argv[3])["folder"]
            self._device.pull(f"{folder}/outputs.npz", path)
            with np.load(path) as archive:
                outputs = [archive[key] for key in archive.files]
            wrong = _wrong(self._expected, outputs)
        except TrimtabError as error:
            wrong = error.what
        if wrong:
            left_out.append(f"{name}: {wrong}")
        return not wrong

    def _launch(self, engine: EngineLaunches) -> None:
        """One launch; adds the median of its inferences. RunnerError if it fails."""
        printed = Transcript()
        if self._counts:
            assert isinstance(self._device, InstructionCounter)
            result, _ = self._device.count_instructions(
                engine.argv, timeout_s=TIMEOUT_S, env=engine.env, transcript=printed
            )
        else:
            result = self._device.run(
                engine.argv, timeout_s=TIMEOUT_S, env=engine.env, transcript=printed
            )
        if engine.name == _US:
            launch = runner.interpret(result)
            if launch.error:
                raise launch.error
            events = emulator_counts.merge(launch.events, printed.marks)
            runs = [event for event in events if event["event"] == "run"]
            times = [event["ns"] for event in runs]
            counts = [event["instructions"] for event in runs if event["instructions"]]
            engine.cpu_ns += [event["ns"] for event in events if event["event"] == "cpu"]
        else:
            _check(result, engine.name)
            lines = result.stdout.decode(errors="replace").splitlines()
            answer: dict[str, Any] = {"ns": lines}
            if engine.is_worker:
                answer = json.loads(lines[-1])
                engine.cpu_ns.append(answer["cpu_ns"])
                engine.waiting_cores.append(answer["waiting_cores"])
            times = [*map(int, answer["ns"])]
            counts = emulator_counts.runs(printed.marks)[-self._runs :] if engine.is_worker else []
        engine.times.append(statistics.median(times))
        if counts:
            engine.counts.append(statistics.median(counts))

    def _figures(self, engines: Sequence[EngineLaunches]) -> list[PeerFigure]:
        ours = next(engine for engine in engines if engine.name == _US)
        is_emulated = self._device.describe().is_emulated
        rows = []
        for engine in sorted((e for e in engines if e is not ours), key=lambda one: one.name):
            theirs, own = (one.figures(is_emulated=is_emulated) for one in (engine, ours))
            row = PeerFigure(
                self._device.name,
                Path(self._built.recipe.model).stem,
                engine.name,
                self._scope.precision,
                self._threads,
                *(theirs[0], own[0], theirs[1], own[1], theirs[2], own[2], theirs[3], self._build),
            )
            rows.append(row)
        return rows

    @property
    def _runs(self) -> int:
        return COUNTED_RUNS if self._counts else RUNS

    @property
    def _counts(self) -> bool:
        """Whether instructions are counted in place of times."""
        device = self._device
        return isinstance(device, InstructionCounter) and device.can_count_instructions()

    def _python(self) -> str:
        """The Python of the device; DeviceError without one."""
        if self._scope.python:
            return self._scope.python
        if isinstance(self._device, QemuUserDevice):
            path = Path(self._device.emulator.sysroot) / "usr/bin/python3"
            if path.is_file():
                return str(path)
        elif path_there := self._device.shell("command -v python3; true", "find Python").strip():
            return path_there
        raise DeviceError(
            f"{self._device.name} has no python3",
            hint="--python names it, or --runner NAME=PROGRAM a program of the engine",
        )

    def _push(self, path: Path) -> str:
        return self._device.push(path, self._progress).path


def _facts(device: Device, python: str) -> DevicePython:
    """The Python of a device; DeviceError if it does not run."""
    done = device.run([python, "-c", wheels.FACTS], timeout_s=TIMEOUT_S)
    try:
        return DevicePython.parse(done.stdout)
    except (ValueError, IndexError) as error:
        raise DeviceError(
            f"{python} does not run: {done.stderr.decode(errors='replace').strip()[-300:]}",
            where=device.name,
            hint="--python names an interpreter on the device",
        ) from error


def _check(result: CommandResult, what: str) -> None:
    """RunnerError if a command failed, with the end of what it printed."""
    if result.ok:
        return
    last = result.stderr.decode(errors="replace").strip().rpartition("\n")[2][-300:]
    cause = f"signal {result.signal}" if result.signal else f"exit code {result.exit_code}"
    raise RunnerError(f"{what} failed: {cause}; {last or 'no message'}")


def _wrong(expected: Golden, outputs: Sequence[Any]) -> str:
    """Why outputs are not the expected ones; "" if they are."""
    if [output.size for output in outputs] != [one.size for one in expected.outputs]:
        return "its outputs have other sizes"
    for index, output in enumerate(outputs):
        values = np.ascontiguousarray(output, expected.outputs[index].dtype)
        if wrong := golden.compare(expected, index, values.tobytes()).wrong:
            return f"output {expected.output_names[index]}: {wrong}"
    return ""
