"""The memory limit of the runner, and its report of memory."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.build import samples
from trimtab.build.builder import Build

pytestmark = pytest.mark.build

MEMORY_LIMIT, USAGE = 9, 64
ACTIVATIONS = 4 * math.prod(samples.SHAPE)


@pytest.fixture(name="delivery", scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return samples.tiny(tmp_path_factory.mktemp("made"), "host")


def run(delivery: Build, folder: Path, *options: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Exit code, and the last line of each event."""
    (folder / "x.bin").write_bytes(bytes(ACTIVATIONS))
    command = [
        str(delivery.runner),
        str(delivery.model),
        "--input",
        str(folder / "x.bin"),
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = map(json.loads, done.stdout.splitlines())
    return done.returncode, {line["event"]: line for line in lines}


def test_a_model_over_the_memory_limit_is_refused(delivery: Build, tmp_path: Path) -> None:
    code, messages = run(delivery, tmp_path)
    needed = messages["memory"]["arena_bytes"] + messages["memory"]["prepared_bytes"]
    assert (code, needed >= ACTIVATIONS) == (0, True)
    assert run(delivery, tmp_path, "--max-memory", str(needed))[0] == 0
    code, messages = run(delivery, tmp_path, "--max-memory", str(needed - 1))
    assert code == messages["error"]["code"] == MEMORY_LIMIT
    assert f"({needed}, {needed - 1})" in messages["error"]["message"]


@pytest.mark.parametrize("wrong", ["0", "-1", "4K", "99999999999999999999"])
def test_a_malformed_memory_limit_is_refused(delivery: Build, tmp_path: Path, wrong: str) -> None:
    code, messages = run(delivery, tmp_path, "--max-memory", wrong)
    assert (code, messages["error"]["code"]) == (USAGE, USAGE)


def test_the_peak_holds_the_pages_of_files(delivery: Build, tmp_path: Path) -> None:
    peak = run(delivery, tmp_path)[1]["peak"]
    assert peak["vm_hwm_bytes"] >= peak["rss_file_bytes"] > delivery.runner.stat().st_size // 4
