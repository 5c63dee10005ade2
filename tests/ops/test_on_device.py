"""The operator vectors and whole networks on a device, through the runner.

`./inv test --device NAME` tests the engine on that device. Without it, ARM cores in QEMU user mode
replace boards, with every 13th vector and a generic binary that other tests also use; `--full`
runs all vectors, with a binary for that core, as it is shipped. Vectors rotate through 1 to 4
threads.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest

import trimtab
from lab.conformance import suites as conformance
from tests.heads import coral
from tests.importers import models
from tests.ops import oracle
from tests.ops.cases import by_family
from tests.ops.test_dispatch import runner_of
from tests.some import some
from trimtab import paths, zoo
from trimtab.build import builder
from trimtab.devices import find_device
from trimtab.errors import EmulatorError, MissingRequirementError
from trimtab.pipeline.remote import RemoteRunner, remote_runner
from trimtab.profile import find_profile

EMULATED = ("qemu-a53", "qemu-armv7")
_EVERY = 13  # the stride through vectors; prime, so that all families' cases are met
SMALL_NETWORKS = ("mobilenet_v3_small", "shufflenet_v2", "yolo_fastest")

ONE_LAYOUT = {model.folder.split("_")[0]: model for model in models.PUBLISHED}.values()

pytestmark = [pytest.mark.build, pytest.mark.device]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "subject" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--device")
        names = (chosen,) if chosen else EMULATED
        metafunc.parametrize("subject", names, indirect=True, scope="session")


@pytest.fixture(scope="session")
def subject(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RemoteRunner]:
    """The named device, with a runner that has every operator and every kernel of its core."""
    definition, config = find_device(request.param), request.config
    full, profile = find_profile("full"), None
    if config.getoption("--full") or config.getoption("--device"):
        profile = full if definition.cpu else None
        expected = builder.BuildRequest(
            profile=full,
            output_dir=tmp_path_factory.mktemp("runner") / "build",
            toolchain=definition.toolchain,
            cpu=definition.cpu,
        )
        runner = builder.build(expected).runner
    else:
        runner = runner_of(definition.toolchain)
    with ExitStack() as stack:
        try:
            yielded = stack.enter_context(remote_runner(definition, runner, "test", profile))
        except (EmulatorError, MissingRequirementError) as error:
            if config.getoption("--device") or os.environ.get("CI") == "true":
                raise
            pytest.skip(str(error))
        yield yielded


@pytest.mark.parametrize("family", by_family())
def test_a_family_of_operators_computes_the_same_on_the_device(
    subject: RemoteRunner, family: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    every = pytestconfig.getoption("--full") or pytestconfig.getoption("--device")
    wrong = {}
    for i, case in enumerate(by_family()[family][:: 1 if every else _EVERY]):
        path = tmp_path / "case.onnx"
        path.write_bytes(case.model.SerializeToString())
        try:
            outputs = subject.compute(trimtab.load(path), case.inputs, tmp_path, threads=1 + i % 4)
            oracle.assert_agree(case, outputs, oracle.expected(case))
        except AssertionError as error:
            wrong[case.id] = str(error)
    assert wrong == {}


@pytest.mark.parametrize("name", coral.NAMES)
def test_persons_are_those_of_corals_decoder_on_the_device(
    subject: RemoteRunner, name: str, tmp_path: Path
) -> None:
    model = coral.model(name)
    program = trimtab.load(model.bytes())
    feeds = dict(zip(program.inputs, model.feeds, strict=True))
    coral.check(name, subject.compute(program, feeds, tmp_path))


@pytest.mark.parametrize("suite", ["node", "pytorch-converted"])
def test_onnx_s_own_tests_are_right_or_refused_on_the_device(
    subject: RemoteRunner, suite: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    every = pytestconfig.getoption("--full") or pytestconfig.getoption("--device")
    cases = [*conformance.cases([suite])][:: 1 if every else 2 * _EVERY]
    compute = partial(subject.compute, folder=tmp_path)
    outcomes = [conformance.run(case, compute) for case in cases]
    assert {o.name: o.reason for o in outcomes if o.status == conformance.WRONG} == {}
    assert conformance.PASSED in {o.status for o in outcomes}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in SMALL_NETWORKS else [pytest.mark.slow])
        for name in zoo.names()
    ],
)
def test_a_network_computes_the_same_on_the_device(
    subject: RemoteRunner, name: str, tmp_path: Path
) -> None:
    path = zoo.write(name, paths.cache() / "zoo")
    outputs = subject.compute(trimtab.load(path), zoo.sample_input(name), tmp_path)
    expected = oracle.run(onnx.load(path), dict(zoo.sample_input(name)))
    assert list(outputs) == list(expected)
    for key, want in expected.items():
        scale = max(1.0, float(np.abs(want).max()))
        np.testing.assert_allclose(outputs[key], want, rtol=0, atol=1e-4 * scale)


@pytest.mark.parametrize(
    "model",
    # All formats of a network give the same program, so one of them is enough for each device.
    [
        pytest.param(
            model, id=model.folder, marks=[] if model in ONE_LAYOUT else [pytest.mark.slow]
        )
        for model in models.PUBLISHED
    ],
)
def test_a_published_model_computes_its_golden_output_on_the_device(
    subject: RemoteRunner, model: models.Published, tmp_path: Path
) -> None:
    path = models.model(model.folder, model.file)
    inputs, expected = models.golden(path)
    program = model.load(path, inputs)
    named = dict(zip(program.inputs, inputs, strict=True))
    outputs = subject.compute(program, named, tmp_path)
    for want in some(model.outputs(expected).values()):
        # Names and the batch dimension differ between engines; output sizes are unique.
        (actual,) = [out for out in outputs.values() if out.size == want.size]
        models.assert_close(actual.reshape(want.shape), want, model.tolerance)
