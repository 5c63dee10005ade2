"""A paced measurement over SSH, while another channel reads clock and temperature."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.fakes import make_golden, make_subject
from tests.devices.conftest import SshServer
from tests.devices.fake_sysfs import FakeSysfs
from trimtab.bench import protocol
from trimtab.bench.jobs import Settings
from trimtab.bench.pace import Pace
from trimtab.devices import find_device
from trimtab.results import records
from trimtab.results.summary import summarize

pytestmark = pytest.mark.device


@pytest.mark.parametrize("client", ["paramiko", "openssh"])
def test_a_paced_run_is_watched_over_ssh(
    client: str, sshd: SshServer, config: Path, tmp_path: Path
) -> None:
    sshd.define(config, "loopback", client=client)
    fake = FakeSysfs(tmp_path / "sys")
    board = replace(find_device("loopback"), sysfs=str(fake.folder))
    settings = Settings(pace=Pace(fps=20, seconds=2), warmup=1)
    with board.open(trust_new=True) as device:
        outcome = protocol.measure(
            device, make_subject(tmp_path), make_golden(), settings, tmp_path / "results"
        )
    assert outcome.error is None
    record = records.read(outcome.path)
    assert len(record.of("launch")) == 1
    run = summarize(record)
    assert run.paced is not None
    assert run.paced.p50_ns == 807  # the fake runner waits for 7 ns and computes for 800
    assert (run.paced.cpu_ns, run.paced.busy_cores) == (1600, 0.5)
    _, mhz, celsius = run.paced.samples[0]
    assert mhz is not None
    assert celsius is not None
