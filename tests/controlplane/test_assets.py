"""The choice of a control plane, and the error without one."""

from pathlib import Path

import pytest

from tests.controlplane import assets, build
from tests.controlplane.assets import COMPONENTS, DEFAULT_VERSION, Assets, AssetsError


def programs(folder: Path) -> Path:
    """A folder with all components, as far as one can see without running them."""
    folder.mkdir(parents=True, exist_ok=True)
    for component in COMPONENTS:
        (folder / component).touch(mode=0o755)
    return folder


def test_kubebuilder_assets_come_first(tmp_path: Path) -> None:
    found = assets.locate({"KUBEBUILDER_ASSETS": str(programs(tmp_path))})

    assert found == Assets(tmp_path)
    assert found.program("etcd") == tmp_path / "etcd"


def test_a_folder_without_a_component_is_reported(tmp_path: Path) -> None:
    (programs(tmp_path) / "kube-scheduler").unlink()

    with pytest.raises(AssetsError, match="has no kube-scheduler: add it, or unset"):
        assets.locate({"KUBEBUILDER_ASSETS": str(tmp_path)})


def test_an_unknown_version_is_reported_with_the_known_ones() -> None:
    with pytest.raises(AssetsError, match=r"'1\.2\.3'; use one of 1\.36, 1\.37"):
        assets.locate({"EVENSPREAD_KUBERNETES_VERSION": "1.2.3"})


VERSIONS = {
    "none": ({}, "1.36.3"),
    "a minor version": ({"EVENSPREAD_KUBERNETES_VERSION": "1.37"}, "1.37.2"),
    "the release of a minor version": ({"EVENSPREAD_KUBERNETES_VERSION": "1.37.2"}, "1.37.2"),
    "the default": ({"EVENSPREAD_KUBERNETES_VERSION": "1.36"}, DEFAULT_VERSION),
}


@pytest.mark.parametrize(("environment", "release"), VERSIONS.values(), ids=VERSIONS.keys())
def test_a_version_is_chosen_by_its_minor_or_its_release(
    environment: dict[str, str], release: str
) -> None:
    assert assets.chosen_version(environment) == release


def test_a_missing_build_of_another_version_is_reported_with_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(AssetsError, match=r"`make envtest EVENSPREAD_KUBERNETES_VERSION=1\.37`"):
        assets.locate({"EVENSPREAD_KUBERNETES_VERSION": "1.37"})


def test_without_a_build_the_way_to_one_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(AssetsError, match="run `make envtest`"):
        assets.locate({})


def test_versions_do_not_share_a_build() -> None:
    default = assets.built_folder(DEFAULT_VERSION)

    assert default.name.startswith(f"{DEFAULT_VERSION}-")
    assert default != assets.built_folder("1.37.2")


@pytest.mark.parametrize("modules", sorted(assets.GO_SOURCES.glob("*.mod")), ids=lambda p: p.name)
def test_a_module_list_is_of_the_version_it_is_named_for(modules: Path) -> None:
    version = DEFAULT_VERSION if modules.name == "go.mod" else modules.stem.removeprefix("v")
    staging = version.replace("1.", "0.", 1)
    text = modules.read_text()

    assert f"k8s.io/kubernetes v{version}\n" in text
    assert f"k8s.io/api => k8s.io/api v{staging}\n" in text
    assert build.go_version_of(modules) >= (1, 26, 0)
    assert modules.with_suffix(".sum").is_file()


def test_a_build_that_is_there_is_taken_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    there = programs(assets.built_folder(DEFAULT_VERSION))

    assert build.ensure_built(DEFAULT_VERSION) == there
    assert assets.locate({}) == Assets(there)
    assert capsys.readouterr().out == ""


def test_a_new_enough_go_on_path_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho go1.26.8\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert build.go_program(needed=(1, 26, 0), cache=tmp_path) == go


def test_an_old_go_gives_way_to_the_one_kept_from_pypi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho go1.21.0\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    kept = tmp_path / "go-1.26.0" / "bin" / "go"
    kept.parent.mkdir(parents=True)
    kept.touch()

    assert build.go_program(needed=(1, 26, 0), cache=tmp_path) == kept


def test_a_step_that_fails_is_reported_with_its_output() -> None:
    with pytest.raises(build.BuildError, match=r"/bin/sh -c failed with 3:\nno module"):
        build.run(["/bin/sh", "-c", "echo no module >&2; exit 3"])


def test_every_component_is_an_entry_point_of_the_program() -> None:
    program = (assets.GO_SOURCES / "main.go").read_text()

    assert all(f'"{component}":' in program for component in COMPONENTS)
