"""
Build descheduler from its Go module, once: ``ensure_descheduler``.

It uses the cache of the control plane, see ``tests.controlplane.build``. About three minutes when
nothing is cached; 60 MB.
"""

import sys
import tempfile
from hashlib import sha256
from pathlib import Path

from tests.controlplane.assets import CACHE
from tests.controlplane.build import alone, go_program, go_version_of, run

MODULES = Path(__file__).with_name("go")
PROGRAM = "sigs.k8s.io/descheduler/cmd/descheduler"


def built_program() -> Path:
    """Return where the program is, or will be; the name holds a digest of its modules."""
    lists = (MODULES / "go.mod", MODULES / "go.sum")
    digest = sha256(b"\0".join(path.read_bytes() for path in lists)).hexdigest()
    return CACHE.expanduser() / f"descheduler-{digest[:12]}"


def ensure_descheduler() -> Path:
    """
    Build the program unless it is there; return its path.

    Raises:
        BuildError: It cannot be built.
    """
    program = built_program()
    program.parent.mkdir(parents=True, exist_ok=True)
    with alone(program.parent):
        if not program.is_file():  # else another builder was faster
            _build(program)
    return program


def _build(program: Path) -> None:
    print("Building descheduler: minutes, once", file=sys.stderr)
    go = go_program(needed=go_version_of(MODULES / "go.mod"), cache=program.parent)
    with tempfile.TemporaryDirectory(prefix="building-", dir=program.parent) as aside:
        made = Path(aside) / program.name
        flags = "-trimpath -buildvcs=false"
        run(
            [str(go), "build", "-ldflags", "-s -w", "-o", str(made), PROGRAM],
            folder=MODULES,
            environment={"GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": flags},
        )
        made.rename(program)
