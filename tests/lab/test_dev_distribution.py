"""What a release says of itself, and the lock that it is made with."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lab.dev import distribution as _release

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def locked() -> dict[str, _release.Locked]:
    return _release.read_lock((ROOT / "requirements.lock").read_text())


def requirements() -> list[Requirement]:
    """What ./inv needs: at run time, for development, and to build."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = project["project"]["dependencies"] + project["build-system"]["requires"]
    wanted += project["project"]["optional-dependencies"]["dev"]
    return [Requirement(text) for text in wanted]


@pytest.mark.parametrize("wanted", requirements(), ids=lambda r: r.name)
def test_the_lock_has_a_version_that_fits_and_its_hashes(
    wanted: Requirement, locked: dict[str, _release.Locked]
) -> None:
    found = locked[canonicalize_name(wanted.name)]
    assert wanted.specifier.contains(found.version), "./inv lock brings it up to date"
    assert found.sha256


def test_a_hash_that_is_missing_is_no_empty_promise(locked: dict[str, _release.Locked]) -> None:
    assert all(package.sha256 for package in locked.values())
    assert _release.read_lock("a==1.0 \\\n    # via b\n")["a"] == _release.Locked("1.0", ())


def test_the_bill_of_materials_is_cyclonedx_and_names_what_is_installed(
    locked: dict[str, _release.Locked],
) -> None:
    bom = _release.sbom(locked)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bom)) is None
    names = {component["name"] for component in bom["components"]}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    direct = {canonicalize_name(Requirement(text).name) for text in project["dependencies"]}
    assert direct < names  # and what these need, such as flatbuffers
    assert "pytest" not in names
    assert bom == _release.sbom(locked)
    known = {c["bom-ref"] for c in bom["components"]} | {bom["metadata"]["component"]["bom-ref"]}
    for row in bom["dependencies"]:
        assert {row["ref"], *row["dependsOn"]} <= known
