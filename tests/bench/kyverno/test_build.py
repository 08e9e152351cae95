"""What is taken of Kyverno's module, without building it."""

from pathlib import Path

from tests.bench.kyverno.build import NEEDS_GO, PROGRAMS, KyvernoBuild, collect_definitions
from tests.controlplane.build import version_of


def test_programs_have_the_names_of_their_packages() -> None:
    build = KyvernoBuild(Path("/cache/kyverno"))

    assert (build.server.name, build.initializer.name) == PROGRAMS


def test_definitions_of_all_folders_are_copied_and_can_be_deleted(tmp_path: Path) -> None:
    source, target = tmp_path / "crds", tmp_path / "copies"
    for name in ("kyverno/kyverno.io_policies.yaml", "reports/kyverno.io_reports.yaml"):
        file = source / name
        file.parent.mkdir(parents=True)
        file.write_text(name)
        file.chmod(0o444)
    target.mkdir()

    collect_definitions(source, target)

    copies = {file.name: file for file in target.iterdir()}
    assert set(copies) == {"kyverno.io_policies.yaml", "kyverno.io_reports.yaml"}
    assert all(file.stat().st_mode & 0o200 for file in copies.values())


def test_the_least_go_is_one_that_exists() -> None:
    assert version_of("go1.26.8") >= NEEDS_GO
