"""
Which control plane the tests run, and the folder its programs are in.

Making that folder is the subject of build.py. Standard library only: both run before there is an
environment.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
"""The names under which the one program built from go/main.go is linked."""

VARIABLE = "EVENSPREAD_KUBERNETES_VERSION"
"""Environment variable that chooses the version: a minor one as ``1.37``, or its release."""

DEFAULT_VERSION = "1.36.3"
"""
Kubernetes of the tests unless VARIABLE names another.

1.36 is the newest that can still emulate 1.33, the last version before matchLabelKeys are merged
into the selector; 1.37 emulates 1.34 and later.
"""

GO_SOURCES = Path(__file__).parent / "go"
CACHE = Path("~/.cache/evenspread/envtest")  # expanded late: a test may have another HOME


class AssetsError(Exception):
    """There is no control plane to start; the message contains how to get one."""


@dataclass(frozen=True, slots=True)
class Assets:
    """
    A folder with every program of COMPONENTS, as ``KUBEBUILDER_ASSETS`` means it.

    Raises:
        AssetsError: One is missing. Folders made for other users of ``KUBEBUILDER_ASSETS`` lack
            the controller-manager and the scheduler.
    """

    folder: Path

    def __post_init__(self) -> None:
        for component in COMPONENTS:
            if not os.access(self.program(component), os.X_OK):
                raise AssetsError(
                    f"{self.folder} has no {component}: add it, or unset KUBEBUILDER_ASSETS and "
                    "run `make envtest`"
                )

    def program(self, component: str) -> Path:
        """Path of a component's executable."""
        return self.folder / component


def known_versions() -> dict[str, str]:
    """The minor versions with a module list -> their release, as ``1.36`` -> ``1.36.3``."""
    others = (path.stem.removeprefix("v") for path in GO_SOURCES.glob("v*.mod"))
    return {release.rpartition(".")[0]: release for release in sorted({DEFAULT_VERSION, *others})}


def chosen_version(environment: Mapping[str, str]) -> str:
    """
    Kubernetes version to build and run, as ``1.36.3``.

    Raises:
        AssetsError: ``EVENSPREAD_KUBERNETES_VERSION`` names one that has no module list in go/.
    """
    version = environment.get(VARIABLE, DEFAULT_VERSION)
    known = known_versions()
    if version not in {*known, *known.values()}:
        names = ", ".join(known)
        raise AssetsError(f"{VARIABLE}: no module list for {version!r}; use one of {names}")
    return known.get(version, version)


def module_list(version: str) -> Path:
    """The go.mod of a version; its checksums are beside it, with the suffix ``.sum``."""
    return GO_SOURCES / ("go.mod" if version == DEFAULT_VERSION else f"v{version}.mod")


def built_folder(version: str) -> Path:
    """
    Where the build of a version of these sources is, or will be.

    The name holds a digest of the sources, so that checkouts of different commits do not share a
    build that only one of them would make.
    """
    modules = module_list(version)
    sources = (GO_SOURCES / "main.go", modules, modules.with_suffix(".sum"))
    digest = sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()
    return CACHE.expanduser() / f"{version}-{digest[:12]}"


def locate(environment: Mapping[str, str] = os.environ) -> Assets:
    """
    The control plane to test with: ``KUBEBUILDER_ASSETS``, else what ``make envtest`` built.

    Raises:
        AssetsError: There is none, it is incomplete, or the configured version is unknown.
    """
    given = environment.get("KUBEBUILDER_ASSETS")
    if given:
        return Assets(Path(given))
    folder = built_folder(chosen_version(environment))
    if not folder.is_dir():
        chosen = f" {VARIABLE}={environment[VARIABLE]}" if VARIABLE in environment else ""
        raise AssetsError(
            f"no control plane to test with: run `make envtest{chosen}` (minutes, once), or set "
            "KUBEBUILDER_ASSETS to a folder with " + ", ".join(COMPONENTS)
        )
    return Assets(folder)
