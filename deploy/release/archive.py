"""Archives of a release: equal content gives equal bytes."""

import gzip
import io
import os
import tarfile
from collections.abc import Collection
from pathlib import Path


def pack(folder: Path, archive: Path, programs: Collection[str] = ()) -> None:
    """
    Write a folder to a ``.tar.gz`` file that records neither its author nor its time.

    Args:
        programs: Names of the files that are executable.
    """
    when = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    with (
        archive.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=when) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            entry = tarfile.TarInfo(str(path.relative_to(folder)))
            content = path.read_bytes()
            entry.size, entry.mtime = len(content), when
            entry.mode = 0o755 if path.name in programs else 0o644
            tar.addfile(entry, io.BytesIO(content))
