"""The labgrid transport: a real coordinator and exporter, a real OpenSSH server as the board."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.devices.servers import Farm
from trimtab.devices import find_device
from trimtab.errors import (
    DeviceBusyError,
    DeviceError,
    DeviceUnreachableError,
    HostKeyError,
    MissingRequirementError,
)

pytestmark = pytest.mark.device


def test_a_place_is_ours_while_it_is_used(farm: Farm, config: Path) -> None:
    farm.define(config, "board1")
    assert farm.owner() == ""
    with find_device("board1").open(trust_new=True) as device:
        assert farm.owner() != ""
        assert device.run(["echo", "there"], timeout_s=30).stdout == b"there\n"
    assert farm.owner() == ""


@pytest.mark.slow
def test_a_place_is_released_after_a_failure(farm: Farm, config: Path) -> None:
    farm.define(config, "board1")
    with pytest.raises(HostKeyError):
        find_device("board1").open().__enter__()
    assert farm.owner() == ""

    def fail() -> None:
        with find_device("board1").open(trust_new=True):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert farm.owner() == ""


def test_a_place_that_the_user_has_acquired_stays_so(farm: Farm, config: Path) -> None:
    farm.define(config, "board1")
    farm.client("acquire")
    owner = farm.owner()
    with find_device("board1").open(trust_new=True) as device:
        assert device.run(["true"], timeout_s=30).ok
    assert farm.owner() == owner != ""
    farm.client("release")


def test_a_place_of_somebody_else_is_busy_and_its_owner_is_named(farm: Farm, config: Path) -> None:
    farm.define(config, "board1")
    farm.client("acquire", LG_USERNAME="somebody", LG_HOSTNAME="elsewhere")
    with pytest.raises(DeviceBusyError, match="elsewhere/somebody"):
        find_device("board1").open(trust_new=True).__enter__()
    farm.client("release", LG_USERNAME="somebody", LG_HOSTNAME="elsewhere")


@pytest.mark.slow
def test_an_unknown_place_or_resource_is_named(farm: Farm, config: Path) -> None:
    farm.define(config, "board1", place="nowhere")
    with pytest.raises(DeviceError, match="nowhere"):
        find_device("board1").open(trust_new=True).__enter__()
    farm.define(config, "board1", resource="other")
    with pytest.raises(DeviceError, match="there are: NetworkService"):
        find_device("board1").open(trust_new=True).__enter__()
    assert farm.owner() == ""


def test_a_coordinator_that_does_not_answer_is_unreachable(farm: Farm, config: Path) -> None:
    farm.define(config, "board1", coordinator="127.0.0.1:9")
    with pytest.raises(DeviceUnreachableError, match="coordinator"):
        find_device("board1").open().__enter__()


def test_without_labgrid_the_extra_is_named(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Farm(tmp_path, "127.0.0.1:9", tmp_path / "key").define(config, "board1")
    monkeypatch.setitem(sys.modules, "labgrid", None)
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    with pytest.raises(MissingRequirementError, match="labgrid-client") as caught:
        find_device("board1").open().__enter__()
    assert "trimtab[labgrid]" in caught.value.hint
