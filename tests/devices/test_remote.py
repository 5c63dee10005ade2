"""Commands whose outputs a client carries in an order of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.devices.process import ChildProcess, Sink, Source
from trimtab.devices.protocol import Transcript
from trimtab.devices.remote import RemoteDevice
from trimtab.errors import DeviceError, DeviceOutputError, DeviceUnreachableError


class LateErrors(RemoteDevice):
    """This machine through a client that carries stderr after what stdout has had before it."""

    def _connect(self) -> None: ...

    def _disconnect(self) -> None: ...

    def _start(self, script: str, stdout: Sink, stderr: Sink, stdin: Source | None) -> ChildProcess:
        late = list[bytes]()
        has_failed = False

        def feed(data: bytes) -> None:
            nonlocal has_failed
            while has_failed and late:
                stderr(late.pop(0))
            try:
                stdout(data)
            except DeviceError:
                has_failed = True
                raise

        def feed_errors(data: bytes) -> None:
            if b"flood" in script.encode() and not has_failed:
                late.append(data)
            else:
                stderr(data)

        return ChildProcess(["sh", "-c", script], feed, feed_errors, stdin=stdin)

    def _cut_off(self, output: str) -> DeviceError:
        return DeviceUnreachableError(f"cut off: {output}", where=self.name)


def test_a_command_that_prints_too_much_before_its_group_is_known_is_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    flood = f"echo $$ >{pid}; trap '' PIPE; : flood; while :; do echo 0123456789 || sleep 1; done"
    with LateErrors("here", str(tmp_path / "files"), packs=False) as device:
        with pytest.raises(DeviceOutputError, match="more than 10,000 bytes"):
            device.run(["sh", "-c", flood], timeout_s=30, transcript=Transcript(limit_bytes=10_000))
        stat = Path("/proc") / pid.read_text().strip() / "stat"
        # A zombie has ended: who should reap it is not this test's matter.
        assert not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] == "Z"
