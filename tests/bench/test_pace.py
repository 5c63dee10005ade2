"""Paced measurements: on this machine with a runner that is a script, and the pacer itself."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.fakes import make_golden, make_subject
from tests.devices.fake_sysfs import FakeSysfs
from trimtab import paths
from trimtab.bench import protocol
from trimtab.bench.jobs import Settings
from trimtab.bench.pace import Pace
from trimtab.cli.bench import BenchOptions, RecipeOptions
from trimtab.devices import find_device
from trimtab.errors import UsageError
from trimtab.results import records
from trimtab.results.summary import summarize


def test_a_paced_run_has_one_launch_with_clock_and_temperature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(tmp_path / "cache"))
    fake = FakeSysfs(tmp_path / "sys")
    local = replace(find_device("local"), sysfs=str(fake.folder))
    settings = Settings(pace=Pace(fps=20, seconds=3), launches=7, warmup=1)
    with local.open() as device:
        outcome = protocol.measure(
            device, make_subject(tmp_path), make_golden(), settings, tmp_path / "results"
        )
    assert outcome.error is None
    record = records.read(outcome.path)
    assert len(record.of("launch")) == 1
    assert record.header.protocol["pace"] == {"fps": 20, "seconds": 3}
    run = summarize(record)
    assert run.paced is not None
    assert run.paced.frames == 1
    assert run.paced.p50_ns == 807  # 7 ns of waiting, 800 of inference
    _, mhz, celsius = run.paced.samples[0]
    assert mhz is not None
    assert celsius is not None
    assert len(run.paced.core_shares) == os.cpu_count()
    assert all(0 <= share <= 1 for _, share in run.paced.core_shares)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"seconds": 5.0}, "--seconds is the duration"),
        ({"fps": 30.0, "launches": 3}, "excludes --launches"),
        ({"fps": 30.0, "per_op": True}, "excludes --per-op"),
        ({"fps": 30.0, "energy": True}, "excludes --energy"),
        ({"fps": -1.0}, "fps is -1"),
        ({"fps": float("nan")}, "fps is nan"),
        ({"fps": 30.0, "seconds": 9000.0}, "seconds is 9000"),
    ],
)
def test_impossible_paces_are_refused(options: dict[str, float], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        BenchOptions(network=RecipeOptions(model="squeezenet"), **options).recipe()  # type: ignore[arg-type]


def test_the_pacer_takes_the_newest_frame_and_never_begins_before_it_arrives(
    tmp_path: Path,
) -> None:
    """The pacer of the runner, in a program that sleeps instead of computing."""
    period_ms, works_ms = 20, [1, 1, 70, 1, 1]
    source = tmp_path / "program.cpp"
    source.write_text(
        '#include "runtime/app/pacer.h"\n'
        "#include <stdio.h>\n#include <stdlib.h>\n#include <time.h>\n#include <unistd.h>\n"
        "namespace trimtab { int64_t NowNs() { timespec now; clock_gettime(CLOCK_MONOTONIC, &now);"
        " return now.tv_sec * 1000000000LL + now.tv_nsec; } }\n"
        "int main(int argc, char** argv) { trimtab::Pacer pacer(20000000);\n"
        "for (int i = 1; i < argc; ++i) { pacer.Next();\n"
        'printf("%lld %lld\\n", (long long)pacer.frame(),'
        " (long long)(trimtab::NowNs() - pacer.arrival_ns()));\n"
        "usleep(atoi(argv[i]) * 1000); } }\n"
    )
    program = tmp_path / "program"
    compiler = [sys.executable, "-m", "ziglang", "cc", "-std=c++20", "-DTRIMTAB_PACED=1"]
    sources = ["-I", str(paths.root()), "runtime/app/pacer.cpp", str(source), "-o", str(program)]
    subprocess.run([*compiler, *sources], cwd=paths.root(), check=True)
    argv = [str(program), *map(str, works_ms)]
    lines = subprocess.run(argv, capture_output=True, check=True, timeout=60).stdout.splitlines()
    frames, waits = zip(*(map(int, line.split()) for line in lines), strict=True)
    assert frames[0] == 0
    assert all(a < b for a, b in itertools.pairwise(frames))
    assert all(wait >= 0 for wait in waits)
    assert frames[3] - frames[2] >= works_ms[2] // period_ms  # those between were dropped
