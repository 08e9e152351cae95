"""
A folder that goes with the process that made it.

Its owner removes it. An owner that was killed cannot, so the next one does: the name shows whose
it was. One control plane leaves some 100 MB, mostly etcd's preallocated log.
"""

import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "evenspread-controlplane"


def new_folder(parent: Path | None = None) -> Path:
    """
    Make a folder, and remove those of owners that are gone.

    Args:
        parent: Where; None: the machine's folder for temporary files.
    """
    within = parent or Path(tempfile.gettempdir())
    for old in within.glob(f"{PREFIX}-*-*"):
        owner = old.name.removeprefix(f"{PREFIX}-").partition("-")[0]
        if not Path(f"/proc/{owner}").exists():
            shutil.rmtree(old, ignore_errors=True)  # another may be removing it too
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}-{os.getpid()}-", dir=within))
