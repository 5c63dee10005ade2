"""What is packed for transit, unpacked by the programs of the formats themselves."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

import trimtab
from tests.devices.conftest import require
from trimtab.errors import BuildError, TtmError, UsageError
from trimtab.pipeline.built import build
from trimtab.pipeline.loaded import load
from trimtab.pipeline.pack import pack
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import Recipe
from trimtab.pipeline.resolve import model_path

NETWORK = "yolo_fastest"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "net.ttm"
    trimtab.load(model_path(NETWORK)).save(path)
    return path


def test_any_zstd_makes_the_model_of_its_packed_file(model: Path, tmp_path: Path) -> None:
    made = pack(model, tmp_path / "net.ttm.zst")
    assert made.packed_bytes == made.path.stat().st_size < made.content_bytes
    assert made.sha256 == hashlib.sha256(made.path.read_bytes()).hexdigest()
    subprocess.run([require("zstd", "zstd"), "-dq", made.path.name], cwd=tmp_path, check=True)
    assert (tmp_path / "net.ttm").read_bytes() == model.read_bytes()


def test_a_packed_file_lies_beside_its_model_and_is_the_same_each_time(model: Path) -> None:
    made = pack(model)
    assert made.path == model.with_name("net.ttm.zst")
    assert pack(model) == made
    assert sorted(path.name for path in model.parent.iterdir()) == ["net.ttm", "net.ttm.zst"]


@pytest.mark.parametrize("at", [0.3, 0.9, 0.9999])
@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_zstd_finds_a_packed_file_that_was_damaged(
    model: Path, tmp_path: Path, damage: str, at: float
) -> None:
    made = pack(model, tmp_path / "net.ttm.zst")
    data = bytearray(made.path.read_bytes())
    place = int(at * len(data))
    if damage == "cut":
        del data[place:]
    else:
        data[place] ^= 1
    made.path.write_bytes(data)
    tested = subprocess.run([require("zstd", "zstd"), "-tq", made.path], check=False)
    assert tested.returncode != 0


def test_what_is_no_model_is_not_packed(model: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        pack(tmp_path / "absent.ttm")
    damaged = tmp_path / "damaged.ttm"
    damaged.write_bytes(model.read_bytes()[:-64])
    with pytest.raises(TtmError):
        pack(damaged)
    with pytest.raises(BuildError, match=r"build\.json"):
        pack(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["damaged.ttm"]


@pytest.mark.build
def test_of_a_build_the_runner_and_the_model_are_packed(tmp_path: Path) -> None:
    built = build(plan(load(Recipe(model=NETWORK, output=tmp_path / "out")))).delivered
    made = pack(built.output_dir)
    assert made.path == tmp_path / "out.tar.zst"
    assert made.content == ["trimtab-run", f"{NETWORK}.ttm"]
    (tmp_path / "there").mkdir()
    require("zstd", "zstd")
    tar = f"tar -x --zstd -f {made.path} -C {tmp_path / 'there'}"
    subprocess.run(tar.split(), check=True)
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == sorted(made.content)
    assert (tmp_path / "there" / "trimtab-run").stat().st_mode & 0o111
    record = json.loads((built.output_dir / "build.json").read_text())
    for name in made.content:
        digest = hashlib.sha256((tmp_path / "there" / name).read_bytes()).hexdigest()
        assert digest == record["files"][name]["sha256"]
    (built.output_dir / f"{NETWORK}.ttm").write_bytes(b"another")
    with pytest.raises(BuildError, match="not the one that was built"):
        pack(built.output_dir)
