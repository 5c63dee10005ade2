"""Packed models and builds, unpacked by zstd and tar themselves."""

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
from trimtab.pipeline.pack import models, pack
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import Recipe
from trimtab.pipeline.resolve import model_path

NETWORK = "yolo_fastest"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "net.ttm"
    trimtab.load(model_path(NETWORK)).save(path)
    return path


def test_zstd_unpacks_a_packed_model(model: Path, tmp_path: Path) -> None:
    packed = pack(model, tmp_path / "net.ttm.zst")
    assert packed.packed_bytes == packed.path.stat().st_size < packed.content_bytes
    assert packed.sha256 == hashlib.sha256(packed.path.read_bytes()).hexdigest()
    subprocess.run([require("zstd", "zstd"), "-dq", packed.path.name], cwd=tmp_path, check=True)
    assert (tmp_path / "net.ttm").read_bytes() == model.read_bytes()


def test_a_packed_file_lies_beside_its_model_and_is_reproducible(model: Path) -> None:
    packed = pack(model)
    assert packed.path == model.with_name("net.ttm.zst")
    assert pack(model) == packed
    assert sorted(path.name for path in model.parent.iterdir()) == ["net.ttm", "net.ttm.zst"]


@pytest.mark.parametrize("at", [0.3, 0.9, 0.9999])
@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_zstd_detects_a_damaged_packed_file(
    model: Path, tmp_path: Path, damage: str, at: float
) -> None:
    packed = pack(model, tmp_path / "net.ttm.zst")
    data = bytearray(packed.path.read_bytes())
    offset = int(at * len(data))
    if damage == "cut":
        del data[offset:]
    else:
        data[offset] ^= 1
    packed.path.write_bytes(data)
    tested = subprocess.run([require("zstd", "zstd"), "-tq", packed.path], check=False)
    assert tested.returncode != 0


def test_only_intact_models_and_builds_are_packed(model: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        pack(tmp_path / "absent.ttm")
    damaged = tmp_path / "damaged.ttm"
    damaged.write_bytes(model.read_bytes()[:-64])
    with pytest.raises(TtmError):
        pack(damaged)
    with pytest.raises(BuildError, match=r"build\.json"):
        pack(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["damaged.ttm"]


def built_folder(folder: Path, **contents: bytes) -> Path:
    """A folder with the record of these files, as `build` delivers one."""
    folder.mkdir()
    names = {"runner": "trimtab-run", "model": "net.ttm"}
    record = {}
    for key, content in contents.items():
        (folder / names[key]).write_bytes(content)
        record[names[key]] = {"sha256": hashlib.sha256(content).hexdigest()}
    (folder / "build.json").write_text(json.dumps({"files": record}))
    return folder


def test_two_builds_have_a_difference_if_their_runners_are_equal(tmp_path: Path) -> None:
    old = built_folder(tmp_path / "old", runner=b"r", model=b"a")
    new = built_folder(tmp_path / "new", runner=b"r", model=b"b")
    assert models(old, new) == (old / "net.ttm", new / "net.ttm")
    assert models(old / "net.ttm", new / "net.ttm") == (old / "net.ttm", new / "net.ttm")
    other = built_folder(tmp_path / "other", runner=b"another", model=b"b")
    with pytest.raises(UsageError, match="runners of these builds differ"):
        models(old, other)
    embedded = built_folder(tmp_path / "embedded", runner=b"r")
    with pytest.raises(UsageError, match="no model file"):
        models(old, embedded)


@pytest.mark.build
def test_a_packed_build_holds_its_runner_and_its_model(tmp_path: Path) -> None:
    built = build(plan(load(Recipe(model=NETWORK, output=tmp_path / "out")))).delivered
    packed = pack(built.output_dir)
    assert packed.path == tmp_path / "out.tar.zst"
    assert packed.content == ["trimtab-run", f"{NETWORK}.ttm"]
    (tmp_path / "there").mkdir()
    require("zstd", "zstd")
    tar = f"tar -x --zstd -f {packed.path} -C {tmp_path / 'there'}"
    subprocess.run(tar.split(), check=True)
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == sorted(packed.content)
    assert (tmp_path / "there" / "trimtab-run").stat().st_mode & 0o111
    record = json.loads((built.output_dir / "build.json").read_text())
    for name in packed.content:
        digest = hashlib.sha256((tmp_path / "there" / name).read_bytes()).hexdigest()
        assert digest == record["files"][name]["sha256"]
    (built.output_dir / f"{NETWORK}.ttm").write_bytes(b"another")
    with pytest.raises(BuildError, match="has changed since the build"):
        pack(built.output_dir)
