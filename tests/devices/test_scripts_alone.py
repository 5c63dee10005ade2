"""Each script for devices alone, in the shells of a PC and of a small board: what it prints, what
it changes, and what it leaves.
"""

from __future__ import annotations

import hashlib
import os
import signal
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.devices.conftest import require
from tests.devices.fake_sysfs import FakeSysfs
from trimtab.devices import scripts

SHELLS = {"sh": ("sh",), "busybox": ("busybox", "sh")}
DAY_S = 86_400
SYSFS = "/sys"
GOVERNOR = "devices/system/cpu/cpu{}/cpufreq/scaling_governor"
BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> tuple[str, ...]:
    words = SHELLS[request.param]
    return (require(words[0], words[0]), *words[1:])


def run(
    shell: tuple[str, ...], name: str, *arguments: object, umask: int = -1, stdin: bytes = b""
) -> subprocess.CompletedProcess[str]:
    text = scripts.script(name, *map(str, arguments))
    done = subprocess.run(
        [*shell, "-c", text], input=stdin, capture_output=True, check=False, umask=umask, timeout=60
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def lines(shell: tuple[str, ...], name: str, *arguments: object) -> list[str]:
    done = run(shell, name, *arguments)
    assert done.returncode == 0, done
    return done.stdout.splitlines()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def wait_until(is_so: Callable[[], bool]) -> None:
    """Waits for what another process does at once, on a busy machine later."""
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def has_ended(process: int) -> bool:
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return True
    return text.rpartition(") ")[2][0] in "ZX"


def uptime() -> int:
    return int(float(Path("/proc/uptime").read_text().split()[0]))


def lease(folder: Path, number: int, until: int, boot: str = BOOT) -> Path:
    """Writes the lease of somebody."""
    own = folder / str(number)
    own.mkdir(parents=True)
    for name, text in (("boot", boot), ("until", str(until)), ("owner", "owner=eve")):
        (own / name).write_text(f"{text}\n")
    return own


def test_a_lease_lasts_its_seconds_from_the_claim_and_from_each_renewal(
    shell: tuple[str, ...], tmp_path: Path
) -> None:
    folder, before = tmp_path / "lease", uptime()
    words = ("lease", SYSFS, folder, "claim", -1, 30, 9, "owner=me", "purpose=test")
    assert lines(shell, *words) == [f"taken 1 {folder}"]
    own = folder / "1"
    assert before + 30 <= int((own / "until").read_text()) <= uptime() + 30
    assert (own / "boot").read_text().strip() == BOOT
    owner = (own / "owner").read_text().split()
    assert owner[:2] == ["owner=me", "purpose=test"]
    assert before <= int(owner[2].removeprefix("since=")) <= uptime()
    before = uptime()
    assert lines(shell, "lease", SYSFS, folder, "renew", 1, 500) == ["renewed"]
    assert before + 500 <= int((own / "until").read_text()) <= uptime() + 500
    state, *owner = lines(shell, "lease", SYSFS, folder, "look")
    word, number, now, until = state.split()
    assert (word, number, owner[0]) == ("held", "1", "owner=me")
    assert (before <= int(now) <= uptime(), until) == (True, (own / "until").read_text().strip())


def test_a_lease_ends_in_its_last_second_and_with_its_boot(
    shell: tuple[str, ...], tmp_path: Path
) -> None:
    for i, (until, boot, is_held) in enumerate(
        [(uptime() + 60, BOOT, True), (uptime(), BOOT, False), (uptime() + 60, "other", False)]
    ):
        folder = tmp_path / str(i)
        lease(folder, 4, until, boot)
        (first, *_) = lines(shell, "lease", SYSFS, folder, "look")
        assert first.split()[:2] == (["held", "4"] if is_held else ["free", "4"])
        (first, *_) = lines(shell, "lease", SYSFS, folder, "renew", 4, 30)
        assert first == ("renewed" if is_held else "free")
        (*_, last) = lines(shell, "lease", SYSFS, folder, "claim", -1, 30, 9, "owner=me")
        assert last == ("owner=eve" if is_held else f"taken 5 {folder}")
        assert (folder / "4").exists() == is_held, "an older lease is removed"


def test_the_highest_number_counts_and_a_renewal_of_another_says_who_holds_the_device(
    shell: tuple[str, ...], tmp_path: Path
) -> None:
    lease(tmp_path, 9, uptime() - 5)
    newer = lease(tmp_path, 10, uptime() + 60)
    assert lines(shell, "lease", SYSFS, tmp_path, "look")[0].startswith("held 10 ")
    answer = lines(shell, "lease", SYSFS, tmp_path, "renew", 9, 30)
    assert (answer[0].split()[:2], answer[1:]) == (["held", "10"], ["owner=eve"])
    (newer / "until").unlink()
    assert lines(shell, "lease", SYSFS, tmp_path, "renew", 9, 30) == ["taken"]
    assert lines(shell, "lease", SYSFS, tmp_path, "renew", 10, 30) == ["free"]
    assert lines(shell, "lease", SYSFS, tmp_path, "look") == ["free 10"]


def test_the_maker_of_a_lease_has_three_seconds_to_write_it(
    shell: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "5").mkdir()
    text = scripts.script("lease", SYSFS, str(tmp_path), "claim", "-1", "30", "9", "owner=me")
    sleep = 'sleep() { echo "a pause of $1 s"; }\n'
    printed = subprocess.check_output([*shell, "-c", sleep + text], text=True)
    assert printed.splitlines() == [*["a pause of 1 s"] * 3, f"taken 6 {tmp_path}"]


def test_force_takes_the_lease_of_one_number_alone(shell: tuple[str, ...], tmp_path: Path) -> None:
    lease(tmp_path, 7, uptime() + 60)
    answer = lines(shell, "lease", SYSFS, tmp_path, "claim", 6, 30, 9, "owner=me")
    assert answer[0].startswith("held 7 ")
    answer = lines(shell, "lease", SYSFS, tmp_path, "claim", 7, 30, 9, "owner=me")
    assert answer == [f"taken 8 {tmp_path}"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["8"]


def test_a_release_undoes_nothing_and_leaves_no_notes(
    shell: tuple[str, ...], tmp_path: Path
) -> None:
    sysfs = FakeSysfs(tmp_path / "sysfs", governor="performance")
    own = lease(tmp_path, 3, uptime() + 60)
    (own / "undo").write_text(f"{GOVERNOR.format(0)} schedutil performance\n")
    (own / "runner.999999.1").touch()
    assert lines(shell, "lease", sysfs.folder, tmp_path, "release", 3) == []
    assert sorted(path.name for path in own.iterdir()) == ["boot", "owner"]
    assert sysfs.governors() == ["performance"] * 2
    assert lines(shell, "lease", SYSFS, tmp_path, "look") == ["free 3"]


def test_the_watchdog_waits_for_the_end_of_a_lease_and_undoes_its_changes_once(
    shell: tuple[str, ...], tmp_path: Path
) -> None:
    sysfs = FakeSysfs(tmp_path / "sysfs", governor="performance")
    own = lease(tmp_path, 3, uptime() + 2)
    (own / "undo").write_text(f"{GOVERNOR.format(1)} schedutil performance\n")
    text = scripts.script("lease", str(sysfs.folder), str(tmp_path), "watch", "3", "0.1")
    with subprocess.Popen([*shell, "-c", text]) as watchdog:
        time.sleep(0.5)
        assert watchdog.poll() is None
        assert sysfs.governors() == ["performance"] * 2
        assert watchdog.wait(20) == 0
    assert sysfs.governors() == ["performance", "schedutil"]
    assert sorted(path.name for path in own.iterdir()) == ["boot", "owner"]
    assert run(shell, "lease", SYSFS, tmp_path, "watch", 3, 0.1).returncode == 0, (
        "it is gone already"
    )


def test_a_launch_is_noted_with_its_start_or_refused_without_a_lease(
    shell: tuple[str, ...], tmp_path: Path
) -> None:
    own = lease(tmp_path, 3, uptime() + 60)
    text = scripts.script("note_launch", str(own)) + 'read -r stat </proc/$$/stat; echo "$stat"'
    printed = subprocess.check_output([*shell, "-c", text], text=True)
    number, fields = printed.split()[0], printed.rpartition(") ")[2].split()
    assert [path.name for path in own.glob("runner.*")] == [f"runner.{number}.{fields[19]}"]
    (own / "until").unlink()
    done = run(shell, "note_launch", own)
    assert (done.returncode, done.stderr) == (75, "the lease of the device is gone\n")


def test_a_governor_is_restored_where_it_is_still_ours(
    shell: tuple[str, ...], tmp_path: Path
) -> None:
    sysfs = FakeSysfs(tmp_path, governor="schedutil")
    changes = [
        word for core in (0, 1) for word in (GOVERNOR.format(core), "schedutil", "performance")
    ]
    assert lines(shell, "set_governor", tmp_path, *changes) == []
    assert sysfs.governors() == ["performance"] * 2
    sysfs.write(GOVERNOR.format(0), "powersave")  # somebody else's, since then
    assert lines(shell, "restore_governor", tmp_path, *changes) == []
    assert sysfs.governors() == ["powersave", "schedutil"]


def test_a_pushed_file_is_complete_or_not_there(shell: tuple[str, ...], tmp_path: Path) -> None:
    file, data = tmp_path / "cache" / "ab" / "net", bytes(range(256)) * 9
    digest = hashlib.sha256(data).hexdigest()

    def push(need: int, expected: str, *reader: str) -> int:
        return run(shell, "push", file, need, expected, *reader, stdin=data).returncode

    assert push(1 << 50, digest, "cat") == 81
    assert push(1, digest[::-1], "cat") == 82
    assert push(1, digest, "false") == 83
    assert list(file.parent.iterdir()) == []
    assert push(3, digest, "cat") == 0
    assert (file.read_bytes(), mode(file)) == (data, 0o755)
    assert push(1, hashlib.sha256(b"").hexdigest(), "cat") == 82
    assert (file.read_bytes(), [*file.parent.iterdir()]) == (data, [file])
    assert mode(file.parent) == 0o700


def test_the_room_of_a_folder_and_what_was_pushed_are_printed(
    shell: tuple[str, ...], tmp_path: Path
) -> None:
    for name in ("ab/net", "cd/run"):
        (tmp_path / "cache" / name).mkdir(parents=True)
    assert len(lines(shell, "room", tmp_path)) == 1
    for name in ("ab/a.ttm", "cd/b"):
        (tmp_path / "cache" / name).touch()
    first, *pushed = lines(shell, "room", tmp_path)
    assert pushed == ["pushed=a.ttm", "pushed=b"]
    facts = os.statvfs(tmp_path)
    free = int(first.removeprefix("free=")) * 1024
    assert free == pytest.approx(facts.f_bavail * facts.f_frsize, rel=0.2, abs=1 << 30)
    assert run(shell, "room", tmp_path / "none").returncode != 0


def test_what_killed_runs_left_is_removed_after_a_day(
    shell: tuple[str, ...], tmp_path: Path
) -> None:
    for name in ("scratch/old/deep", "scratch/new", "cache/ab", "other"):
        (tmp_path / name).mkdir(parents=True)
    files = ("cache/ab/net", "cache/ab/net.1.part", "cache/ab/fresh.part", "other/kept.part")
    for name in files:
        (tmp_path / name).touch()
    past = time.time() - 1.5 * DAY_S
    for name in ("scratch/old", "scratch", "cache/ab", *files[:2], files[3]):
        os.utime(tmp_path / name, (past, past))
    assert lines(shell, "tidy", tmp_path) == []
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert left == {
        *("scratch", "scratch/new", "cache", "cache/ab", "other"),
        *("cache/ab/net", "cache/ab/fresh.part", "other/kept.part"),
    }


def test_a_folder_is_made_and_checked_once_in_a_boot(
    shell: tuple[str, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "trimtab"
    assert lines(shell, "settle", folder, "", "yes", "cat", "no-such-1", "no-such-2") == [
        *(f"boot={BOOT}", "missing=no-such-1", "missing=no-such-2"),
    ]
    assert not folder.exists()
    place_lines = [f"boot={BOOT}", f"folder={folder.resolve()}"]
    assert lines(shell, "settle", folder, BOOT, "yes", "no-such-1") == place_lines
    assert (list(folder.iterdir()), mode(folder)) == ([], 0o700)
    assert lines(shell, "settle", folder, "", "yes", "cat") == place_lines
    assert sorted(path.name for path in folder.rglob("*")) == ["cache", "scratch"]
    (tmp_path / "file").touch()
    assert run(shell, "settle", tmp_path / "file", "", "yes", "cat").returncode != 0


def test_facts_are_those_of_the_kernel_and_of_sysfs(shell: tuple[str, ...], tmp_path: Path) -> None:
    FakeSysfs(tmp_path, governor="ondemand")
    printed = lines(shell, "facts", tmp_path)
    pairs = [line.partition("=")[::2] for line in printed]
    uname = os.uname()
    assert ("machine", uname.machine) in pairs
    assert ("kernel", f"{uname.sysname} {uname.release}") in pairs
    assert ("boot_id", BOOT) in pairs
    assert pairs.count(("governor", "ondemand")) == 2
    assert {value for key, value in pairs if key == "khz"} == {"1800000", "2400000"}
    assert ("zone", "cpu-thermal 40000") in pairs
    assert sum(line.startswith("processor") for line in printed) == os.cpu_count()
    assert sum(line.startswith("MemTotal:") for line in printed) == 1
    files = lines(shell, "read_files", tmp_path, "class/thermal/*/type", "no/such/*")
    assert files[0].startswith("Cpus_allowed_list:")
    assert "class/thermal/thermal_zone0/type:cpu-thermal" in files
    assert lines(shell, "read_files", tmp_path / "none", "*") == files[:1]


def test_the_outputs_of_a_marked_script_stand_between_its_markers(shell: tuple[str, ...]) -> None:
    text = "cat; echo out; echo said >&2; exit 7"
    for stdin, read in (("open", "sent"), ("empty", "")):
        done = run(shell, "run_marked", "to", "ken", stdin, text, stdin=b"sent")
        assert (done.returncode, done.stdout) == (7, f"token\n{read}out\ntoken\n")
        first, text_line, last = done.stderr.splitlines()
        assert first.split()[0] == "token"
        assert int(first.split()[1]) > 1
        assert (text_line, last) == ("said", "token 7")


@pytest.mark.parametrize("ignores", ["", "trap '' TERM; "])
def test_the_end_of_a_group_is_that_of_all_its_processes(
    shell: tuple[str, ...], ignores: str
) -> None:
    text = f"{ignores}sleep 60 & echo $!; sleep 60; sleep 60"
    with subprocess.Popen(
        ["sh", "-c", text], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as leader:
        assert leader.stdout is not None
        child = int(leader.stdout.readline())
        begin = time.monotonic()
        assert lines(shell, "end_group", leader.pid) == ["ended"]
        assert leader.wait(20) == (-signal.SIGKILL if ignores else -signal.SIGTERM)
        if ignores:
            assert time.monotonic() - begin >= 0.9, "time to clean up"
    wait_until(lambda: has_ended(child))


def test_a_detached_script_outlives_its_shell_in_a_session_of_its_own(
    shell: tuple[str, ...], tmp_path: Path
) -> None:
    part, target = tmp_path / "part", tmp_path / "made"
    text = f"read -r stat </proc/$$/stat; sleep 0.3; echo $stat >{part}; mv {part} {target}"
    assert lines(shell, "start_detached", text) == []
    assert not target.exists()
    wait_until(target.exists)
    number, fields = target.read_text().split()[0], target.read_text().rpartition(") ")[2].split()
    assert fields[3] == number, "it leads its session"
