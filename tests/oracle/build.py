"""
Build the judge of random cases from Go modules, once: ``python -m tests.oracle.build``.

It uses the module lists of the control plane and the same cache, see ``tests.controlplane.build``.
About three minutes for each version when nothing is cached; 170 MB.
"""

import os
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

from tests.controlplane.assets import CACHE, known_versions, module_list
from tests.controlplane.build import BuildError, alone, go_program, go_version_of, run

SOURCES = Path(__file__).with_name("go")
PROGRAM = "oracle"


def built_program(release: str) -> Path:
    """Where the judge of a release is, or will be; the name holds a digest of its sources."""
    modules = module_list(release)
    sources = (*sorted(SOURCES.iterdir()), modules, modules.with_suffix(".sum"))
    digest = sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()
    return CACHE.expanduser() / f"oracle-{release}-{digest[:12]}"


def ensure_program(release: str) -> Path:
    """
    Build the judge of a release unless it is there; returns its path.

    Raises:
        BuildError: It cannot be built.
    """
    program = built_program(release)
    if not program.is_file():
        program.parent.mkdir(parents=True, exist_ok=True)
        with alone(program.parent):
            if not program.is_file():  # else another builder was faster
                _build(release, program)
    return program


def _build(release: str, program: Path) -> None:
    print(f"Building the judge of Kubernetes {release}: minutes, once", file=sys.stderr)
    modules = module_list(release)
    go = go_program(needed=go_version_of(modules), cache=program.parent)
    with tempfile.TemporaryDirectory(prefix="building-", dir=program.parent) as aside:
        made = Path(aside) / PROGRAM
        run(
            [str(go), "build", f"-modfile={modules}", "-ldflags", "-s -w", "-o", str(made)],
            folder=SOURCES,
            environment={
                "GOTOOLCHAIN": "local",
                "GOWORK": "off",
                "GOFLAGS": f"-trimpath -buildvcs=false {os.environ.get('GOFLAGS', '')}",
            },
        )
        made.rename(program)


def main() -> int:
    """Build what is missing; returns the exit code."""
    try:
        for release in known_versions().values():
            ensure_program(release)
    except BuildError as error:
        print(f"make oracle: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
