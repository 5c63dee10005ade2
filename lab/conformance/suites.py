"""Runs ONNX's own test suites: a test passes, is unsupported, or is wrong.

The `onnx` package has them: tests of operators (`node`), models exported by PyTorch
(`pytorch-converted`, `pytorch-operator`), and classifiers with constant weights (`light`). A test
has inputs and expected outputs.
"""

from __future__ import annotations

import contextlib
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper
from onnx.backend.test import loader

from lab.experiment import Experiment, FigureRow, computed, figure, figure_row, text
from trimtab import files
from trimtab.errors import (
    ImportModelError,
    PlanError,
    ProfileError,
    UnsupportedOperatorError,
    UsageError,
)
from trimtab.importers import onnx as importer
from trimtab.planner import algorithms
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.session import Session
from trimtab.tables import Column, Page, Table, number

Array = NDArray[Any]
Run = Callable[[Program, Mapping[str, Array]], Mapping[str, Array]]

SUITES = ("node", "pytorch-converted", "pytorch-operator", "light")

PASSED, WRONG, UNSUPPORTED = STATUSES = ("passed", "wrong", "unsupported")

# Tolerance for another order of summation than the reference's, relative to the largest value.
ROUNDING = 2e-6

# Operators whose results have as many rows as there can be: the unused ones, at the end, are -1.
BOUNDED = ("NonMaxSuppression",)

EXPANDED = "_expanded"  # suffix of tests with the operator expanded into simpler ones


@dataclass(frozen=True)
class DataSet:
    """Inputs by name, and the expected outputs in the model's order."""

    inputs: Mapping[str, Any]
    outputs: Sequence[Any]


@dataclass(frozen=True)
class SuiteTest:
    """One test of a suite. `operator`: the tested operator, or the name of a network."""

    suite: str
    name: str
    operator: str
    model: onnx.ModelProto
    data_sets: tuple[DataSet, ...]
    rtol: float
    atol: float


@dataclass(frozen=True)
class Outcome:
    """The status of a test, with the reason when it did not pass.

    `constants`: inputs passed to the importer as constants, because it requires their values:
    weights, axes, shapes.
    """

    suite: str
    name: str
    operator: str
    status: str
    reason: str = ""
    constants: tuple[str, ...] = ()


def run(case: SuiteTest, compute: Run | None = None) -> Outcome:
    """Runs a test. `compute`: runs a program; the default is a session on this machine.

    Errors of the importer and the planner mean unsupported; any other exception is wrong.
    """

    def outcome(status: str, reason: object = "") -> Outcome:
        words = " ".join(str(reason).split())
        return Outcome(case.suite, case.name, case.operator, status, words, constants)

    constants: tuple[str, ...] = ()
    try:
        for data in case.data_sets:
            if _exceeds_float32(data):
                return outcome(UNSUPPORTED, "its float64 values are beyond the range of float32")
            program, constants = load(case.model, data)
            feeds = {name: data.inputs[name] for name in program.inputs}
            actual = (compute or _session)(program, feeds)
            _assert_equal(case, actual, data.outputs)
    except (ImportModelError, PlanError, ProfileError) as error:
        return outcome(UNSUPPORTED, error.what)
    except AssertionError as error:
        return outcome(WRONG, error)
    except Exception as error:
        return outcome(WRONG, f"{type(error).__name__}: {error}")
    return outcome(PASSED)


# The networks of the suite "light" have equal weights and end in a softmax of equal sums of 1e10,
# which amplifies differences in the last place. All channels must be computed alike.
_PLAN = Plan(tuple(name for name, a in algorithms.registry().items() if a.channel_invariant))


def _session(program: Program, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
    return Session(program, plan=_PLAN).run(inputs)


def load(model: onnx.ModelProto, data: DataSet) -> tuple[Program, tuple[str, ...]]:
    """The program of a test's model, and the names of inputs imported as constants.

    The first attempt makes only empty inputs constants; the second also integer inputs, except the
    first input; the third all inputs but the first, which are constants in networks. Raises the
    importer's error of the last attempt.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        files.write_bytes(path, model.SerializeToString())
        tensors = {n: v for n, v in data.inputs.items() if isinstance(v, np.ndarray)}
        later = dict(list(tensors.items())[1:])
        empty = {name: value for name, value in later.items() if not value.size}
        integers = {name: value for name, value in later.items() if value.dtype.kind in "iub"}
        refusal: UnsupportedOperatorError | None = None
        for values in (empty, empty | integers, later):
            shapes = {name: v.shape for name, v in tensors.items() if name not in values}
            try:
                return importer.load(path, shapes, values), tuple(values)
            except UnsupportedOperatorError as error:
                refusal = error
        assert refusal is not None
        raise refusal


def _exceeds_float32(data: DataSet) -> bool:
    """Whether a test has values of float64 that float32, in which they are computed, lacks."""
    arrays = [v for v in (*data.inputs.values(), *data.outputs) if isinstance(v, np.ndarray)]
    doubles = [v[np.isfinite(v)] for v in arrays if v.dtype == np.float64]
    return any(np.abs(v).max(initial=0) > np.finfo(np.float32).max for v in doubles)


def _assert_equal(case: SuiteTest, actual: Mapping[str, Array], expected: Sequence[Any]) -> None:
    assert len(actual) == len(expected), f"{len(actual)} outputs, not {len(expected)}"
    for (name, result), want in zip(actual.items(), expected, strict=True):
        output = result
        if case.operator in BOUNDED:
            output = result[: len(want)]
            assert (result[len(want) :] == -1).all(), f"{name} has more rows than {len(want)}"
        assert output.shape == want.shape, f"{name} has shape {output.shape}, not {want.shape}"
        assert output.dtype == want.dtype, f"{name} is of {output.dtype}, not {want.dtype}"
        finite = np.abs(want[np.isfinite(want)].astype(np.float64))
        atol = max(case.atol, ROUNDING * finite.max(initial=0.0))
        np.testing.assert_allclose(output, want, case.rtol, atol, err_msg=name)


def cases(suites: Iterable[str] = SUITES) -> Iterator[SuiteTest]:
    """The tests of the suites, sorted by name within each; UsageError for an unknown suite."""
    for suite in suites:
        if suite not in SUITES:
            raise UsageError(f"unknown suite '{suite}'", hint=f"use {', '.join(SUITES)}")
        yield from _READERS.get(suite, _stored)(suite)


def _node(suite: str) -> Iterator[SuiteTest]:
    tests = {test.name: test for test in _node_tests()}
    for name, test in sorted(tests.items()):
        # The operator of an expanded test is known from the test that is not expanded.
        plain = tests.get(name.partition(EXPANDED)[0], test).model.graph.node
        names = [info.name for info in test.model.graph.input]
        yield SuiteTest(
            suite,
            name,
            plain[0].op_type if len(plain) == 1 else _rarest(plain, _frequencies()),
            test.model,
            tuple(
                DataSet(
                    dict(zip(names, map(_array, inputs), strict=False)), [*map(_array, outputs)]
                )
                for inputs, outputs in test.data_sets
            ),
            test.rtol,
            test.atol,
        )


@cache
def _node_tests() -> list[Any]:
    with warnings.catch_warnings(), contextlib.redirect_stderr(None):
        warnings.simplefilter("ignore")  # the suite divides by zero on purpose
        return list(loader.load_model_tests(kind="node"))


@cache
def _frequencies() -> Counter[str]:
    return Counter(op for test in _node_tests() for op in _types(test.model.graph.node))


def _types(nodes: Iterable[onnx.NodeProto]) -> set[str]:
    return {node.op_type for node in nodes}


def _rarest(nodes: Iterable[onnx.NodeProto], frequencies: Counter[str]) -> str:
    """The rarest operator of a model, which is most likely the tested one."""
    return min(sorted(_types(nodes)), key=lambda op: frequencies[op])


def _stored(suite: str) -> Iterator[SuiteTest]:
    tests = sorted(loader.load_model_tests(kind=suite), key=lambda test: str(test.name))
    folders = {test.name: Path(test.model_dir or "") for test in tests}
    models = {name: onnx.load(folder / "model.onnx") for name, folder in folders.items()}
    frequencies = Counter(op for model in models.values() for op in _types(model.graph.node))
    for test in tests:
        model = models[test.name]
        names = [info.name for info in model.graph.input]
        data_sets = []
        for folder in sorted(folders[test.name].glob("test_data_set_*")):
            inputs = dict(zip(names, _tensors(folder, "input"), strict=False))
            data_sets.append(DataSet(inputs, _tensors(folder, "output")))
        operator = _rarest(model.graph.node, frequencies)
        yield SuiteTest(suite, test.name, operator, model, tuple(data_sets), test.rtol, test.atol)


def _tensors(folder: Path, kind: str) -> list[Array]:
    files = sorted(folder.glob(f"{kind}_*.pb"), key=lambda file: int(file.stem.split("_")[1]))
    return [_tensor(file) for file in files]


def _tensor(file: Path) -> Array:
    return numpy_helper.to_array(onnx.TensorProto.FromString(file.read_bytes()))


def _array(value: Any) -> Any:
    """Converts tensors and numbers to arrays; sequences and absent optional values, which the
    importer refuses, are returned unchanged.
    """
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.generic) else value


def _light(suite: str) -> Iterator[SuiteTest]:
    """Networks, with the same ramp of inputs as in ONNX's own runner."""
    for test in sorted(loader.load_model_tests(kind="real"), key=lambda test: str(test.name)):
        path = Path(loader.DATA_DIR) / suite / Path(test.url or "").name
        model = onnx.load(path)
        initializers = {tensor.name for tensor in model.graph.initializer}
        inputs = {}
        for info in model.graph.input:
            if info.name not in initializers:
                shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
                count = int(np.prod(shape))
                ramp = np.arange(count).reshape(shape) / count
                inputs[info.name] = ramp.astype(np.float32)
        outputs = [
            _tensor(path.with_name(f"{path.stem}_output_{i}.pb"))
            for i in range(len(model.graph.output))
        ]
        data = DataSet(inputs, outputs)
        yield SuiteTest(suite, test.name, test.model_name, model, (data,), test.rtol, test.atol)


_READERS: dict[str, Callable[[str], Iterator[SuiteTest]]] = {"node": _node, "light": _light}


@figure_row
class ConformanceRow(FigureRow):
    """Numbers of tests of an operator in a suite, by status, and why some are unsupported."""

    suite: str = text("suite")
    operator: str = text("operator")
    passed: int = figure(PASSED)
    wrong: int = figure(WRONG)
    unsupported: int = figure(UNSUPPORTED)
    reasons: list[str] = figure()
    refused: str = computed("what is refused", is_text=True, of=lambda row: "; ".join(row.reasons))


CONFORMANCE = Experiment(
    "conformance",
    "conformance",
    ConformanceRow,
    packages=("onnx",),
    selection=("suite", "keyword"),
)


def rows(outcomes: Sequence[Outcome]) -> list[ConformanceRow]:
    """One row per operator of each suite."""
    by_operator: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        by_operator.setdefault((outcome.suite, outcome.operator), []).append(outcome)
    measured = []
    for key, group in sorted(by_operator.items()):
        counts = Counter(outcome.status for outcome in group)
        reasons = sorted({_reason(one.reason) for one in group if one.status == UNSUPPORTED})
        figures = counts[PASSED], counts[WRONG], counts[UNSUPPORTED]
        measured.append(ConformanceRow(*key, *figures, reasons))
    return measured


def _reason(reason: str) -> str:
    """A reason without the node's location, which differs between tests, and without the
    importer's remark on later layers.
    """
    return reason.rpartition("): ")[2].partition(" not checked, ")[0]


def tables(rows: Sequence[ConformanceRow]) -> Page:
    """Numbers of tests by operator and status, and by suite and status."""
    suites = [
        (suite, *(sum(getattr(row, s) for row in rows if row.suite == suite) for s in STATUSES))
        for suite in dict.fromkeys(row.suite for row in rows)
    ]
    return [
        ConformanceRow.table(rows, "suite", "operator", *STATUSES),
        Table([Column("suite"), *map(number, STATUSES)], suites),
    ]
