"""The bill of materials of a release, and the lock."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lab.dev import distribution

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def locked() -> dict[str, distribution.Locked]:
    return distribution.read_lock((ROOT / "requirements.lock").read_text())


def requirements() -> list[Requirement]:
    """All requirements of ./inv: run time, development and build."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    texts = project["project"]["dependencies"] + project["build-system"]["requires"]
    texts += project["project"]["optional-dependencies"]["dev"]
    return [Requirement(text) for text in texts]


@pytest.mark.parametrize("requirement", requirements(), ids=lambda r: r.name)
def test_the_lock_has_a_valid_version_with_hashes(
    requirement: Requirement, locked: dict[str, distribution.Locked]
) -> None:
    package = locked[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(package.version), "run ./inv lock"
    assert package.sha256


def test_every_locked_package_has_hashes(locked: dict[str, distribution.Locked]) -> None:
    assert all(package.sha256 for package in locked.values())
    assert distribution.read_lock("a==1.0 \\\n    # via b\n")["a"] == distribution.Locked("1.0", ())


def test_the_bill_of_materials_is_cyclonedx_and_names_the_dependencies(
    locked: dict[str, distribution.Locked],
) -> None:
    # Not above: the import compiles grammars for seconds, also in processes without this test.
    from cyclonedx.validation.json import JsonStrictValidator

    bom = distribution.sbom(locked)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bom)) is None
    names = {component["name"] for component in bom["components"]}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    direct = {canonicalize_name(Requirement(text).name) for text in project["dependencies"]}
    assert direct < names  # and what these need, such as flatbuffers
    assert "pytest" not in names
    assert bom == distribution.sbom(locked)
    references = {c["bom-ref"] for c in bom["components"]} | {
        bom["metadata"]["component"]["bom-ref"]
    }
    for row in bom["dependencies"]:
        assert {row["ref"], *row["dependsOn"]} <= references
