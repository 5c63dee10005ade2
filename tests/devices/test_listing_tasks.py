"""The tasks `device` and `device.unlock`, and the lease of this machine, as a user sees them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from invoke.context import Context
from invoke.exceptions import Exit

from lab.exclusive import exclusive
from tasks import namespace
from tests.devices.conftest import SshServer
from tests.devices.fake_sysfs import NEEDS_BOTH, FakeSysfs
from trimtab.build import host_build
from trimtab.devices import Device, find_device
from trimtab.devices.control import Control, controlled, lease
from trimtab.errors import DeviceBusyError

pytestmark = pytest.mark.device


@pytest.fixture
def device(sshd: SshServer, config: Path, tmp_path: Path) -> Iterator[Device]:
    fake = FakeSysfs(tmp_path / "sys")
    sshd.define(config, "board1", sysfs=fake.folder, lease=tmp_path / "lease")
    with find_device("board1").open(trust_new=True) as opened:
        yield opened


@NEEDS_BOTH
def test_watching_in_a_pipe_shows_clocks_temperatures_load_and_the_holder_once(
    device: Device, capsys: pytest.CaptureFixture[str]
) -> None:
    with controlled(device, Control(cores="big"), purpose="calibrate"):
        namespace["device.show"].body(Context(), ["board1"], watch=True)
        shown = capsys.readouterr().out
        namespace["device.show"].body(Context(), ["board1"], watch=True, json=True)
        state = json.loads(capsys.readouterr().out)
    cores = [line.split() for line in shown.splitlines() if line.split()[:1] in (["0"], ["1"])]
    assert cores == [
        ["0", "little", "schedutil", "1800", "1800"],
        ["1", "big", "performance", "2400", "2400"],
    ]
    assert "40.0 °C" in shown
    assert "(calibrate, process" in shown
    assert state["cores"][1] == {
        "core": 1, "cluster": "big", "governor": "performance", "mhz": 2400.0, "limit_mhz": 2400.0,
    }  # fmt: skip
    assert state["load"] >= 0
    assert state["zones"] == {"cpu-thermal 0": 40.0}


def test_unlocking_a_live_lease_fails_with_code_38_and_succeeds_with_force(
    device: Device, capsys: pytest.CaptureFixture[str]
) -> None:
    unlock = namespace["device.unlock"].body
    with controlled(device, Control()) as session:
        with pytest.raises(Exit) as caught:
            unlock(Context(), "board1")
        assert caught.value.code == DeviceBusyError.exit_code == 38
        assert "--force" in str(caught.value)
        unlock(Context(), "board1", force=True)
        assert "removed the lease of" in capsys.readouterr().out
        with pytest.raises(DeviceBusyError, match="taken away"):
            session.confirm()
        assert lease.look(device) is None


@pytest.mark.usefixtures("config")
def test_two_measurements_of_this_machine_exclude_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(host_build, "build_engine", lambda _: None)
    with exclusive("bench.peers"):
        with pytest.raises(Exit, match=r"bench\.peers") as caught:
            namespace["bench.kernels"].body(Context(), [], [], ["squeezenet"], wait="0.1")
        assert caught.value.code == 38
    with exclusive("bench.kernels"):
        pass


@pytest.mark.usefixtures("config")
def test_a_lost_lease_of_this_machine_gives_no_result() -> None:
    with (
        find_device("local").open() as other,
        pytest.raises(DeviceBusyError, match="taken away"),
        exclusive("bench.peers"),
    ):
        lease.unlock(other, force=True)
