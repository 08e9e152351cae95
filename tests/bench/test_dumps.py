"""What the benchmark of dumps measures, on a few pods."""

from pathlib import Path

from tests.bench.dumps import PodDumps, dump_steps
from tests.bench.servers import EVENSPREAD
from webhook.manifests import Document, read_documents


def test_dumps_in_both_formats_are_read(tmp_path: Path) -> None:
    dumps = PodDumps(tmp_path, EVENSPREAD, pods=20, yaml_pods=20)
    read = [list(read_documents([str(file)])) for file in (dumps.json, dumps.yaml)]

    rows = [step(dumps, 1) for step in dump_steps().values()]

    assert [[item.value for item in items if isinstance(item, Document)] for items in read[:1]] == [
        [item.value for item in items if isinstance(item, Document)] for items in read[1:]
    ]
    assert [row.what for row in rows] == [
        "validate of 0 MB of JSON",
        "memory of that validate",
        "validate of 0 MB of YAML",
        "audit of 0 MB of YAML",
        "audit of 0 MB of JSON",
    ]
    assert all(value > 1 for row in rows for value in row.values)
