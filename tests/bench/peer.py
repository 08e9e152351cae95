"""
The peer: the same job as a Go programmer would do it on controller-runtime, in peer/.

Built once for each version of its sources: a minute when nothing is cached.
"""

import shutil
import tempfile
from hashlib import sha256
from pathlib import Path

from tests.controlplane.build import alone, go_program, go_version_of, run

SOURCES = Path(__file__).parent / "peer"
CACHE = Path("~/.cache/evenspread/bench")


def ensure_built() -> Path:
    """
    Build the peer unless it is there; returns the program.

    Raises:
        BuildError: It cannot be built; the message has Go's last lines.
    """
    program = built_program()
    program.parent.mkdir(parents=True, exist_ok=True)
    with alone(program.parent):
        if not program.is_file():
            _build(program)
    return program


def built_program() -> Path:
    """Where the program of these sources is, or will be."""
    files = (SOURCES / name for name in ("main.go", "go.mod", "go.sum"))
    digest = sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
    return CACHE.expanduser() / f"peer-{digest[:12]}"


def can_be_built() -> bool:
    """Whether there is a Go to build it with; a benchmark does not install one."""
    return shutil.which("go") is not None


def _build(program: Path) -> None:
    go = go_program(needed=go_version_of(SOURCES / "go.mod"), cache=program.parent)
    with tempfile.TemporaryDirectory(prefix="building-", dir=program.parent) as aside:
        made = Path(aside) / program.name
        run(
            [str(go), "build", "-trimpath", "-buildvcs=false", "-o", str(made), "."],
            folder=SOURCES,
            environment={"GOTOOLCHAIN": "local", "GOWORK": "off"},
        )
        made.rename(program)  # so that a half-written file never has the name
