"""The keys of build trees: everything that is configured has a tree of its own."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from trimtab.build import builder, cmake_runner, host_build, toolchain
from trimtab.build.builder import BuildRequest
from trimtab.profile import Profile

BASE = Profile("net", ops=("relu",))

# Another value of each option that has a tree of its own.
OTHER = {
    "profile": Profile("net", ops=("relu",), threads=False),
    "toolchain": "x86_64-linux-musl",
    "cpu": "cortex-a53",
    "build_type": "Debug",
    "embed_model": True,
    "paced": True,
    "tensors": True,
    "trains": True,
    "takes_images": True,
    "pictures": True,
    "keeps_states": True,
    "shared": True,
}
# What a tree is not for: what is delivered from it, and the kernels, which narrow the profile.
DELIVERED = {"output_dir", "model", "texts", "made_from", "kernels"}


class _Stop(Exception):  # noqa: N818
    """Ends a build before it configures."""


@pytest.fixture
def trees(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """The trees of builds, which end there."""
    paths: list[Path] = []

    def run(tree: Path, *_: object, **__: object) -> None:
        paths.append(tree)
        raise _Stop

    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cmake_runner, "run", run)
    return paths


def configure(tmp_path: Path, **changes: object) -> None:
    model = tmp_path / "net.ttm"
    model.write_bytes(b"a model")
    request = BuildRequest(BASE, tmp_path / "out", toolchain="aarch64-linux-gnu", model=model)
    with pytest.raises(_Stop):
        builder.build(dataclasses.replace(request, **changes))  # type: ignore[arg-type]


def by_compiler(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(toolchain, "gcc_drivers", lambda _: ("/bin/true", "/bin/true"))
    monkeypatch.setattr(toolchain, "compiler_identity", lambda chosen: f"{chosen.name} {version}")


def test_every_option_and_compiler_has_a_tree_of_its_own(
    trees: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {field.name for field in dataclasses.fields(BuildRequest)}
    assert options == OTHER.keys() | DELIVERED
    by_compiler(monkeypatch, "12")
    configure(tmp_path)
    for option, value in OTHER.items():
        configure(tmp_path, **{option: value})
    by_compiler(monkeypatch, "13")
    configure(tmp_path)
    assert len(trees) == len({*trees}) == len(OTHER) + 2


def test_another_output_model_or_description_shares_the_tree(
    trees: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_compiler(monkeypatch, "12")
    other = tmp_path / "other.ttm"
    other.write_bytes(b"another model")
    changes: list[dict[str, object]] = [
        {},
        {"output_dir": tmp_path / "elsewhere"},
        {"model": other},
    ]
    changes += [{"texts": {"a": "b"}}, {"profile": dataclasses.replace(BASE, doc="another")}]
    for change in changes:
        configure(tmp_path, **change)
    assert len(trees) == len(changes)
    assert len({*trees}) == 1


def test_the_engine_of_another_compiler_has_a_tree_of_its_own(
    trees: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("12", "12", "13"):
        by_compiler(monkeypatch, version)
        with pytest.raises(_Stop):
            host_build.build(["_engine"], "a test")
    assert trees[0] == trees[1] != trees[2]
