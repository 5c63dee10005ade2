"""The QEMU system board: it boots, is recognized again, and counts instructions exactly."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.devices.conftest import compile_c, require
from trimtab.devices import board, find_device
from trimtab.devices.board.cpio import CpioWriter
from trimtab.errors import DeviceError, DeviceFullError, DeviceUnreachableError, EmulatorError

pytestmark = pytest.mark.device

PERF = r"""
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
  struct perf_event_attr attributes = {.type = PERF_TYPE_HARDWARE, .size = sizeof(attributes),
    .config = PERF_COUNT_HW_INSTRUCTIONS, .disabled = 1, .exclude_kernel = 1, .exclude_hv = 1};
  int fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
  if (fd < 0) { perror("perf_event_open"); return 1; }
  for (int rounds = 100000; rounds <= 200000; rounds += 100000) {
    long long count = 0;
    ioctl(fd, PERF_EVENT_IOC_RESET, 0);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    for (volatile int i = 0; i < rounds; ++i) {}
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    if (read(fd, &count, sizeof(count)) != sizeof(count)) return 1;
    printf("%lld\n", count);
  }
  return 0;
}
"""


@pytest.fixture
def cache(board_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache with the running board of these tests."""
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(board_cache))
    return board_cache


def test_up_returns_a_running_board(cache: Path) -> None:
    assert board.up("aarch64") == board.status("aarch64")
    assert board.up("aarch64").pid == board.up("aarch64").pid


def test_up_refuses_to_change_a_running_board(cache: Path) -> None:
    with pytest.raises(DeviceError, match=r"1 x cortex-a53"):
        board.up("aarch64", cpu_model="cortex-a72")


def test_goes_down_and_up_again_and_a_stale_state_is_noticed(cache: Path) -> None:
    state = board.up("aarch64")
    file = cache / "board" / "aarch64" / "state.json"
    text = file.read_text()
    assert board.down("aarch64")
    assert not board.down("aarch64")
    with pytest.raises(DeviceUnreachableError, match="not up"):
        find_device("board").open()
    # The state of a board that died with its machine, whose number another process has now.
    file.write_text(json.dumps(json.loads(text) | {"pid": os.getpid()}))
    assert board.status("aarch64") is None
    file.write_text("not json")
    assert board.status("aarch64") is None
    again = board.up("aarch64")
    assert again.pid != state.pid
    with find_device("board").open() as device:
        assert device.run(["true"], timeout_s=10).ok


@pytest.mark.parametrize(
    ("name", "toolchain"),
    [("board", "aarch64-linux-musl"), ("board-aarch32", "armv7-linux-musleabihf")],
)
def test_perf_events_count_instructions_exactly(
    cache: Path, tmp_path: Path, name: str, toolchain: str
) -> None:
    source = tmp_path / "perf.c"
    source.write_text(PERF)
    with find_device(name).open() as device:
        program = device.push(compile_c(source, toolchain, tmp_path)).path
        outputs = [device.run([program], timeout_s=60) for _ in range(3)]
    assert all(output.ok for output in outputs), outputs[0]
    assert outputs[0].stdout == outputs[1].stdout == outputs[2].stdout
    one, two = (int(line) for line in outputs[0].stdout.split())
    # 100000 rounds more, a few instructions each; the rest is the entry to and exit from ioctl.
    per_round, rest = divmod(two - one + 10, 100_000)
    assert 3 <= per_round <= 10
    assert rest <= 20


@pytest.mark.slow
def test_the_armv7_board_boots_a_32_bit_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, probe: Callable[[str], Path]
) -> None:
    require("qemu-system-arm", "qemu-system-arm")
    program = probe("armv7-linux-musleabihf")
    image = board.prepare("armv7")
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(tmp_path))
    shutil.copytree(image, tmp_path / "board" / "armv7" / image.name, copy_function=os.symlink)
    board.up("armv7")
    try:
        with find_device("board-armv7").open() as device:
            assert device.describe().machine == "armv7l"
            assert device.describe().cpu == "cortex-a15"
            assert device.run([device.push(program).path, "exit", "7"], timeout_s=30).exit_code == 7
    finally:
        board.down("armv7")


def test_a_full_board_is_reported(cache: Path, tmp_path: Path) -> None:
    content = tmp_path / "content"
    content.write_bytes(os.urandom(6 << 20))
    with find_device("board").open() as device:
        assert device.run(["mount", "-o", "remount,size=4m", "/root"], timeout_s=10).ok
        try:
            with pytest.raises(DeviceFullError):
                device.push(content)
            listing = device.run(["find", "/root/trimtab", "-name", "*.part"], timeout_s=10)
            assert listing.stdout == b""
        finally:
            device.run(["mount", "-o", "remount,size=75%", "/root"], timeout_s=10)


@pytest.mark.usefixtures("cache")
def test_a_board_that_does_not_boot_is_reported_and_stopped() -> None:
    board.down("aarch64")
    with pytest.raises(EmulatorError, match="no-such-core"):
        board.up("aarch64", cpu_model="no-such-core")
    with pytest.raises(EmulatorError, match="did not boot"):
        board.up("aarch64", boot_s=0.2)
    assert board.status("aarch64") is None
    board.up("aarch64")


def test_a_missing_emulator_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EmulatorError, match="qemu-system-arm"):
        board.up("aarch64")


def test_cpio_reads_the_initramfs(tmp_path: Path) -> None:
    require("cpio", "cpio")
    archive = tmp_path / "archive"
    with archive.open("wb") as file:
        writer = CpioWriter(file)
        writer.directory("dir")
        writer.file("dir/odd", b"12345", 0o755)
        writer.symlink("link", "dir/odd")
        writer.character_device("console", 5, 1)
        writer.close()
    with archive.open("rb") as file:
        listing = subprocess.run(
            ["cpio", "-itv"], stdin=file, capture_output=True, text=True, check=True
        ).stdout
    lines = [line.split() for line in listing.splitlines()]
    assert [line[0] for line in lines] == ["drwxr-xr-x", "-rwxr-xr-x", "lrwxrwxrwx", "crw-------"]
    assert lines[1][4] == "5"
    assert lines[2][-3:] == ["link", "->", "dir/odd"]
    assert lines[3][4:6] == ["5,", "1"]
    with archive.open("rb") as file:
        content = subprocess.run(
            ["cpio", "-i", "--to-stdout", "dir/odd"], stdin=file, capture_output=True, check=True
        )
    assert content.stdout == b"12345"
