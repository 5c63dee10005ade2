"""The diagnosis of a network on a device: the first operator whose result leaves its bound, and
which of four causes it has.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import kernels
from trimtab.bench import golden, oracle
from trimtab.bench.runner import Command
from trimtab.debug import findings, regions, slowness, tensors
from trimtab.debug.case import SavedCase
from trimtab.debug.findings import OperatorFinding
from trimtab.debug.regions import Region
from trimtab.debug.slowness import OperatorTime
from trimtab.debug.tensors import Dump
from trimtab.devices import find_device
from trimtab.devices.control import controlled
from trimtab.errors import DeviceError, ImportModelError, TrimtabError
from trimtab.pipeline.built import Built
from trimtab.pipeline.measured import build_for, ready_device
from trimtab.pipeline.planned import Planned
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.planner import precision
from trimtab.planner.plan_file import plan_of
from trimtab.program import Op, Program, lineage
from trimtab.progress import SILENT, Progress
from trimtab.quantization.accuracy import noise
from trimtab.quantization.calibration import run_on_samples
from trimtab.quantization.calibration import tensors as floats
from trimtab.quantization.samples import Samples
from trimtab.target import Target

Array = NDArray[Any]
_IMPORTED = 1e-3  # the error of a wrong import, as a share of a tensor; float32 has 1e-6


@dataclass(frozen=True)
class Diagnosis:
    """`cause`: "" if the network is right on the device, else `kernel`, `operator`, `neighbors`,
    `plan`, `rounding` or `import`; `verdict`: it in words. `first`: the operator that it is of;
    `findings`: all operators in order. `output`: why an output is beyond its bound, "" if none is.
    `times`: the cost of the operators there; empty if an emulator cannot count.
    """

    network: str
    device: str
    precision: str
    cause: str
    verdict: str
    first: OperatorFinding | None
    findings: Sequence[OperatorFinding]
    output: str
    oracle: str
    times: Sequence[OperatorTime] = ()


def diagnose(
    recipe: Recipe,
    case_folder: Path | None = None,
    progress: Progress = SILENT,
    *,
    repeat: bool = True,
) -> Diagnosis:
    """Builds a network with a runner that writes tensors, runs it on its device, and compares.

    `case_folder`: receives the first operator beyond its bound (`SavedCase`); `repeat`: it is
    repeated alone there, which tells whether its kernel is the cause. UsageError for a network
    whose sizes depend on data; errors of building and of the device.
    """
    measurement = recipe.measurement or MeasurementRequest()
    definition = find_device(measurement.device)
    recipe = replace(recipe, tensors=True, measurement=measurement).on_device(definition)
    room = ready_device(
        definition,
        recipe.toolchain,
        trust_new=measurement.trust_new,
        wait_s=measurement.settings.control.wait_s,
    )
    built = build_for(room, recipe, progress)
    built.planned.loaded.source.require_fixed_sizes("debug")
    dump = run_on_device(built, progress)
    comparison = _DeviceComparison(built.planned, dump)
    compared = [*comparison.findings(progress)]
    output = comparison.output()
    wrong = next((one for one in compared if one.wrong), None)
    if wrong:
        case = comparison.case(wrong, recipe)
        if case_folder:
            case.write(case_folder)
        cause, verdict = "kernel", f"{wrong}: {wrong.wrong}"
        if repeat:
            cause, verdict = _of_operator(wrong, case, progress)
    elif missing := comparison.not_run_as_planned():
        cause, verdict = "plan", missing
    elif output:
        cause, verdict, wrong = comparison.without_wrong_operator(compared, output)
    else:
        cause, verdict = "", "every operator and every output is within its bound"
    if wrong and (missing := comparison.not_run_as_planned()):
        cause, verdict = "plan", f"{missing}; {verdict}"
    return Diagnosis(
        built.planned.loaded.stem,
        measurement.device,
        built.planned.plan.precision,
        cause,
        verdict,
        wrong,
        compared,
        output,
        comparison.expected.oracle,
        slowness.judge(
            built.planned.program,
            built.planned.loaded.target,
            dump.unit,
            dump.timed,
            dump.throttled,
        ),
    )


def run_on_device(built: Built, progress: Progress) -> Dump:
    """Everything that the operators of a built network compute on its device, and their cost."""
    planned = built.planned
    measurement, expected = built.recipe.measurement, planned.expected
    assert measurement, "the recipe of `diagnose` has one"
    assert expected, "the recipe asks for a measurement"
    assert built.model, "a measured build keeps its model"
    definition, control = find_device(measurement.device), measurement.settings.control
    with (
        tempfile.TemporaryDirectory(prefix="trimtab-") as name,
        progress.step(f"run it on {definition.name}"),
        definition.open(trust_new=measurement.trust_new) as device,
        controlled(
            device,
            replace(control, governor="keep"),
            threads=built.recipe.threads,
            purpose="debug",
            note=progress.note,
        ) as session,
    ):
        folder = Path(name)
        inputs = [device.push(path).path for path in expected.write_inputs(folder)]
        model = None if built.recipe.embed_model else device.push(built.model).path
        runner = device.push(built.delivered.runner).path
        command = Command(runner, model, inputs, threads=built.recipe.threads, cores=session.cores)
        dump = tensors.fetch(device, command, planned.program, folder)
        with session.launch() as launch:
            dump.unit, dump.timed = slowness.measure(device, command)
        dump.throttled = launch.throttled
        return dump


def _of_operator(wrong: OperatorFinding, case: SavedCase, progress: Progress) -> tuple[str, str]:
    """Cause and verdict of an operator beyond its bound: it is repeated alone on the device."""
    definition = find_device(case.device)
    try:
        with progress.step("repeat the operator alone"):
            alone = case.repeat(definition, progress)
        if not alone:
            return "neighbors", (
                f"{wrong}: {wrong.wrong}; alone it is right there, so another operator or thread "
                "writes into its memory, or reads it too early"
            )
        with progress.step("repeat it with the portable kernel"):
            portable = case.repeat(definition, progress, portable=True)
    except TrimtabError as error:
        return "kernel", f"{wrong}: {wrong.wrong}; it could not be repeated alone ({error.what})"
    if portable:
        return "operator", (
            f"{wrong}: {wrong.wrong}; with the portable kernel it is wrong there, too, so its code "
            "for all cores, its weights or the compiler is the cause"
        )
    return "kernel", (
        f"{wrong}: {wrong.wrong}; with the portable kernel it is right on the same device"
    )


class _DeviceComparison:
    """A planned network beside what its operators computed on a device."""

    def __init__(self, planned: Planned, dump: Dump) -> None:
        assert planned.expected, "the recipe asks for a measurement"
        self._planned, self._dump, self.expected = planned, dump, planned.expected
        self.program, self._plan = planned.program, plan_of(planned.program)
        plan = planned.plan
        self._semantic = precision.assign(
            planned.optimized, planned.loaded.target, plan.precision, plan.precisions
        )
        self._made = {name for op in self._semantic.ops for name in op.outputs}
        values = zip(self.program.inputs, self.expected.inputs, strict=True)
        self._values: dict[str, Array] = dict(values)
        for op, index in self._steps():
            for i, name in enumerate(op.outputs):
                if result := dump.results.get((index, i)):
                    _check_fits(op, self.program, name, result)
                    self._values[name] = result.values
        portable = Target.portable(Target.host().arch)
        is_own = portable.arch == planned.loaded.target.arch
        # The kernels of another architecture share no code with the device's, and take less time.
        self._targets = (portable,) if is_own else (replace(Target.host(), threads=1), portable)

    def _steps(self) -> Iterator[tuple[Op, int]]:
        for index, op in enumerate(self.program.ops):
            if not op.schema.prepares and op.outputs:
                yield op, index

    def findings(self, progress: Progress) -> Iterator[OperatorFinding]:
        """The finding of each operator, in order."""
        steps = [*self._steps()]
        layers, tensor_of = self._layers()
        reference = self._reference({*tensor_of.values()}, progress)
        with progress.step("compare", "operators") as step:
            for number, (op, index) in enumerate(steps):
                finding = findings.describe(self.program, index, layers.get(index, ()))
                if any(name not in self._values for name in op.outputs):
                    finding = replace(finding, unknown="it did not run: it is of another branch")
                else:
                    finding = self._compare(finding, op)
                    own = self._accumulated(op, reference.get(tensor_of.get(index, "")))
                    finding = replace(finding, accumulated=own)
                yield finding
                step.update(number + 1, len(steps))

    def _compare(self, finding: OperatorFinding, op: Op) -> OperatorFinding:
        part = self._region(op)
        for target in self._targets:
            compared = findings.compare(finding, part, self._values, target, self._plan)
            if not (compared.wrong or compared.unknown):
                break
        return compared

    def _region(self, op: Op) -> Region:
        if self._made.issuperset(op.outputs):
            computed = {*self._values} & self._made - {*op.outputs}
            return regions.region(self._semantic, computed, op.outputs)
        return regions.alone(self.program, op)

    def case(self, wrong: OperatorFinding, recipe: Recipe) -> SavedCase:
        """The case of an operator that is beyond its bound."""
        part = self._region(self.program.ops[wrong.index])
        expected = part.compute(self._values, self._targets[-1])
        return SavedCase.of(part, self._values, expected, self._plan, recipe, str(wrong))

    def output(self) -> str:
        """Why an output of the network is beyond its bound; "" if none is."""
        for i, raw in enumerate(self._dump.outputs):
            if wrong := golden.compare(self.expected, i, raw).wrong:
                return f"output {self.expected.output_names[i]}: {wrong}"
        return ""

    def not_run_as_planned(self) -> str:
        """The kernels of the plan that the device's CPU cannot run, in words; "" if there are
        none: the engine takes others then.
        """
        start = self._dump.events[0] if self._dump.events else {}
        has, isas = {*start.get("cpu_features", ())}, kernels.isas()
        for op, index in self._steps():
            for name in findings.describe(self.program, index, ()).kernels:
                isa = isas[kernels.kernel(name).isa]
                if lacks := [feature for feature in isa.features if feature not in has]:
                    return (
                        f"the plan differs: {op.type} {op.name} is planned with {name}, and the "
                        f"device has no {', '.join(lacks)}, so the engine takes another kernel"
                    )
        return ""

    def without_wrong_operator(
        self, compared: Sequence[OperatorFinding], output: str
    ) -> tuple[str, str, OperatorFinding | None]:
        """Cause and verdict of a wrong output behind operators that are all within their bounds."""
        if wrong := self._wrong_import():
            layer = next((one for one in compared if wrong in one.layers), None)
            return (
                "import",
                (
                    f"{output}; every operator is within its bound, but the float32 network "
                    f"differs from {self.expected.oracle} from tensor {wrong} on: the import is "
                    "the cause"
                ),
                layer,
            )
        traced = [one for one in compared if one.accumulated is not None]
        most = max(traced, key=lambda one: one.accumulated or 0.0, default=None)
        at = f"; the error is largest, {most.accumulated:.2g}, behind {most}" if most else ""
        verdict = f"{output}; every operator is within its bound: rounding adds up over the depth"
        return "rounding", verdict + at, most

    def _layers(self) -> tuple[dict[int, list[str]], dict[int, str]]:
        """The layers of the file that each operator computes, and the float32 tensor that its
        result stands for.
        """
        loaded = self._planned.loaded
        before = loaded.network.program
        source = {op.name for op in loaded.source.ops}
        layers: dict[int, list[str]] = {}
        tensor_of: dict[int, str] = {}
        for op, index in zip(before.ops, lineage.successors(before, self.program), strict=True):
            if index is None:
                continue
            if op.name in source:
                layers.setdefault(index, []).append(op.name)
            var = loaded.source.vars.get(op.outputs[0]) if op.outputs else None
            if var and var.dtype == "f32":
                tensor_of[index] = var.name
        return layers, tensor_of

    def _reference(self, names: set[str], progress: Progress = SILENT) -> Mapping[str, Array]:
        """The tensors of these names of the float32 network, and its inputs, on this machine."""
        source = self._planned.loaded.source
        references: dict[str, Array] = {}
        if source.planned:
            return references
        feed = dict(zip(source.inputs, self.expected.inputs, strict=True))
        float_tensors = [name for name in floats(source) if name in names]
        one = Samples(1, lambda _: feed)
        title = "compute the float32 network"
        try:
            run_on_samples(
                source,
                float_tensors,
                one,
                title,
                lambda _, values: references.update(values),
                progress,
            )
        except TrimtabError as error:
            progress.note(f"the error over depth is unknown: {error.what}")
        return references

    def _accumulated(self, op: Op, reference: Array | None) -> float | None:
        """The error of an operator's first result beside the float32 network, as a share."""
        var, actual = self.program.vars[op.outputs[0]], self._values[op.outputs[0]]
        if reference is None or reference.shape != actual.shape or actual.dtype.kind not in "fi":
            return None
        values = actual.astype(np.float32)
        if actual.dtype.kind == "i":
            q = var.quantization
            if q is None or q.axis is not None:
                return None
            values = (values - q.zero_point[0]) * np.float32(q.scale[0])
        ratio = noise([{"": reference}], [{"": values}]).get("")
        return None if ratio is None else float(np.sqrt(ratio))

    def _wrong_import(self) -> str:
        """The first tensor of the float32 network that differs from the oracle of the file's own
        framework; "" if none does, or there is no such oracle.
        """
        loaded = self._planned.loaded
        if loaded.path.suffix != ".onnx" or loaded.recipe.cameras:
            return ""
        feed = dict(zip(loaded.source.inputs, self.expected.inputs, strict=True))
        own = self._reference({*loaded.source.vars})
        try:
            right = oracle.tensors(loaded.path, feed, own)
        except ImportModelError:
            return ""
        for op in loaded.source.ops:
            for name in op.outputs:
                if name not in right or right[name].shape != own[name].shape:
                    continue
                ratio = noise([{"": right[name]}], [{"": own[name]}]).get("", 0.0)
                if not np.sqrt(ratio) <= _IMPORTED:
                    return name
        return ""


def _check_fits(op: Op, program: Program, name: str, result: tensors.Result) -> None:
    """DeviceError if a result is not that of the planned operator."""
    var = program.vars[name]
    if result.type != op.schema.id or result.values.shape != var.shape:
        raise DeviceError(
            f"the plan differs: operator {result.op} there computes {list(result.values.shape)}, "
            f"and {op.type} {op.name} here {list(var.shape)}",
            hint="the binary has another model: build it again",
        )
