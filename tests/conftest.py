"""Options and fixtures that every test may use."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import small_programs
from trimtab import doctor
from trimtab.devices import Device, find_device
from trimtab.devices.shell import ShellDevice

# The same examples each time: what fails, fails again. `./inv fuzz` searches for others.
settings.register_profile("steady", derandomize=True)
settings.register_profile("search", max_examples=300, database=None)
settings.load_profile("steady")

# Tests of plans see the planner's, not those of an earlier run.
os.environ["TRIMTAB_PLAN_CACHE_MB"] = "0"

ROOT = Path(__file__).resolve().parent.parent
WAITING = {"devices", "sweep", "bench"}
"""Rooms whose tests wait for shells, links and clocks."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("trimtab")
    group.addoption("--full", action="store_true", help="also the tests marked slow")
    group.addoption("--engine", default="", help="folder of another build of the engine")
    group.addoption("--every", type=int, default=1, help="every Nth test, and those of bounds")
    group.addoption("--found", default="", help="folder for damaged files that break a reader")
    group.addoption("--device", default="", help="run the operator vectors on this device")


def pytest_configure(config: pytest.Config) -> None:
    """With --engine, `trimtab._engine` is the extension in that folder, not the one in trimtab/."""
    folder = config.getoption("--engine")
    if not folder:
        return
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        return  # the processes that this one starts run the tests
    # A sanitizer that was preloaded for that extension is in this process already. What tests
    # start, such as emulators, is not built for it.
    os.environ.pop("LD_PRELOAD", None)
    (library,) = Path(folder).glob("_engine*.so")
    spec = importlib.util.spec_from_file_location("trimtab._engine", library)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["trimtab._engine"] = module
    spec.loader.exec_module(module)
    # `from trimtab import _engine` looks at the package before it looks at sys.modules.
    setattr(importlib.import_module("trimtab"), "_engine", module)  # noqa: B010


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items[:] = _in_order(items)
    every = config.getoption("--every")
    chosen: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for i, item in enumerate(items):
        (others if i % every and not item.get_closest_marker("bounds") else chosen).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = chosen
    if config.getoption("--full"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow; ./inv test --full runs it"))


def _in_order(items: list[pytest.Item]) -> list[pytest.Item]:
    """Tests in the order in which workers take their files. What compiles takes longest: begun
    last, it would leave all cores but one without work. What waits for devices and clocks is
    spread among what compiles, so that the cores have work meanwhile; what computes comes last.
    """
    by_file: dict[Path, list[pytest.Item]] = {}
    for item in items:
        by_file.setdefault(item.path, []).append(item)
    waiting = [path for path in by_file if WAITING & {*path.parts[len(ROOT.parts) :]}]
    compiles = {i.path for i in items if i.get_closest_marker("build")}.difference(waiting)
    places = dict.fromkeys(by_file, 1.0)
    for paths in (waiting, [path for path in by_file if path in compiles]):
        places |= {path: place / len(paths) for place, path in enumerate(paths)}
    return [item for path in sorted(places, key=lambda p: places[p]) for item in by_file[path]]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skips a test for want of a program that `./inv setup` installs, and says so; on CI, where all
    are installed, the test fails.
    """
    report = yield
    if report.failed and call.excinfo and os.environ.get("CI") != "true":
        reason = next(filter(None, map(_missing_program, _chain(call.excinfo.value))), "")
        if reason:
            report.outcome = "skipped"
            report.longrepr = (str(item.path), item.reportinfo()[1] or 0, f"Skipped: {reason}")
    return report


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and those that led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _missing_program(error: BaseException) -> str:
    """The sentence that names the missing program, "" for any other error.

    It is the product's own, from an exception or from what a command printed, or is made for a
    program that the test itself starts.
    """
    sentence = re.search(r"([^\n]* is not installed)\n\s*next: .*apt-get install", str(error))
    if sentence:
        return sentence[1].strip()
    if isinstance(error, FileNotFoundError):
        name = Path(str(error.filename)).name
        for requirement in doctor.examine():
            if requirement.name == name and not requirement.location:
                return f"{name} is not installed (apt-get install {requirement.package})"
    return ""


@pytest.fixture(scope="session", autouse=True)
def own_lease(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests that run side by side on this machine do not wait for each other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ShellDevice, "lease_folder", str(tmp_path_factory.mktemp("lease") / "lease"))
        yield


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared_models() -> Path:
    """Real, public models that are not part of the repository; the test is skipped without them."""
    folder = ROOT.parent / "shared" / "models"
    if not folder.is_dir():
        pytest.skip("no folder of real models beside the checkout (../shared/models)")
    return folder


@pytest.fixture(autouse=True)
def _same_numbers_in_any_order(request: pytest.FixtureRequest) -> None:
    """A test draws the same numbers from generators called `RNG` in any order and on any worker."""
    for module in (small_programs, request.module):
        if rng := getattr(module, "RNG", None):
            generator = rng.bit_generator
            generator.state = type(generator)(generator.seed_seq).state


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    """This machine as a device, with a cache of its own."""
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(tmp_path / "cache"))
    with find_device("local").open() as opened:
        yield opened
