"""Manifests in files, folders and on the standard input."""

import errno
import io
import json
import os
import resource
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
import yaml as pyyaml

from webhook.errors import ManifestError, SourceError
from webhook.manifests import Document, SkippedSource, read_documents
from webhook.manifests.files import (
    CHART_TEMPLATE,
    KUSTOMIZATION,
    NO_FILE,
    NO_OBJECT,
    decode,
    encode,
    identify,
    read_data,
    read_file,
)

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\n"


def summaries(items: Iterable[Document | SkippedSource | SourceError]) -> list[str]:
    return [
        f"{item.kind}/{item.name}"
        if isinstance(item, Document)
        else f"skipped {Path(item.source).name}"
        if isinstance(item, SkippedSource)
        else f"error {str(item).rpartition('/')[2]}"
        for item in items
    ]


def names(*paths: Path, strict: bool = False) -> list[str]:
    return summaries(read_documents(map(str, paths), strict=strict))


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


# files of a folder, what is read of it
FOLDERS: dict[str, tuple[dict[str, str], list[str]]] = {
    "in the order of names": (
        {"b.yaml": POD % "b", "a/z.yml": POD % "z", "c.json": '{"apiVersion": "v1", "kind": "X"}'},
        ["Pod/z", "Pod/b", "X/"],
    ),
    "other names are not read": ({"README.md": POD % "a", "b.yaml": POD % "b"}, ["Pod/b"]),
    "hidden names are not read": (
        {".git/a.yaml": POD % "a", ".b.yaml": POD % "b", "c.yaml": POD % "c"},
        ["Pod/c"],
    ),
    "values of a chart are skipped": (
        {"values.yaml": "replicas: 3\n", "a.yaml": POD % "a"},
        ["Pod/a", "skipped values.yaml"],
    ),
    "an empty file is skipped": ({"a.yaml": ""}, ["skipped a.yaml"]),
    "templates of a chart are skipped": (
        {
            "chart/Chart.yaml": "apiVersion: v2\nname: x\n",
            "chart/templates/deep/a.yaml": "{{ nothing }}",
            "chart/crds/b.yaml": POD % "b",
        },
        ["skipped Chart.yaml", "Pod/b", "skipped a.yaml"],
    ),
    "templates of no chart are read": ({"templates/a.yaml": POD % "a"}, ["Pod/a"]),
    "among objects, others are errors": (
        {"a.yaml": "a: 1\n---\n" + POD % "a" + "---\n- 1\n"},
        [
            "Pod/a",
            "error a.yaml:1: not an object: add apiVersion and kind, or remove it",
            "error a.yaml:7: not an object: add apiVersion and kind, or remove it",
        ],
    ),
    "an object without a kind": (
        {"a.yaml": POD % "a" + "---\napiVersion: v1\n---\nkind: Pod\n"},
        [
            "Pod/a",
            "error a.yaml:5: not an object: add kind, or remove it",
            "error a.yaml:7: not an object: add apiVersion, or remove it",
        ],
    ),
    "a broken file among others": (
        {"a.yaml": POD % "a", "b.yaml": "a: 1\nb: *c\n", "c.yaml": POD % "c"},
        [
            "Pod/a",
            (
                "error b.yaml:2: *c is an alias of no earlier anchor in this document: an anchor "
                "ends with its document"
            ),
            "Pod/c",
        ],
    ),
}


@pytest.mark.parametrize(("files", "expected"), FOLDERS.values(), ids=FOLDERS.keys())
def test_a_folder_is_read(tmp_path: Path, files: dict[str, str], expected: list[str]) -> None:
    write(tmp_path, files)

    assert names(tmp_path) == expected


def test_strict_reading_skips_nothing(tmp_path: Path) -> None:
    write(
        tmp_path, {"values.yaml": "a: 1", "templates/a.yaml": "x: {{", "Chart.yaml": "a: 1\na: 2"}
    )

    assert names(tmp_path, strict=True) == [
        f"error Chart.yaml: {NO_OBJECT}",
        f"error a.yaml: {CHART_TEMPLATE}",
        f"error values.yaml: {NO_OBJECT}",
    ]


@pytest.mark.parametrize("name", ["kustomization.yaml", "kustomization.yml", "Kustomization"])
def test_a_kustomization_is_to_be_built(tmp_path: Path, name: str) -> None:
    write(tmp_path, {name: "resources: [web.yaml]"})

    (skipped,) = read_documents([str(tmp_path / name)])

    assert skipped == SkippedSource(str(tmp_path / name), KUSTOMIZATION)


def test_a_template_that_is_named_is_skipped_too(tmp_path: Path) -> None:
    write(tmp_path, {"Chart.yaml": "a: 1", "templates/a.yaml": "x: {{"})

    assert names(tmp_path / "templates") == ["skipped a.yaml"]
    assert names(tmp_path / "templates" / "a.yaml") == ["skipped a.yaml"]


def test_a_file_that_is_named_is_read_whatever_its_name(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": POD % "a"})

    assert names(tmp_path / "a.txt", tmp_path / "a.txt") == ["Pod/a", "Pod/a"]


def test_one_broken_document_among_hundreds(tmp_path: Path) -> None:
    write(tmp_path, {f"{i:03}.yaml": POD % i for i in range(300)} | {"150.yaml": "a: 1\nb: ]\n"})

    read = list(read_documents([str(tmp_path)]))

    (error,) = (item for item in read if isinstance(item, ManifestError))
    assert (error.source, error.line) == (str(tmp_path / "150.yaml"), 2)
    assert len(read) == 300


def test_links_are_followed_but_not_around(tmp_path: Path) -> None:
    write(tmp_path, {"a/x.yaml": POD % "x"})
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "c.yaml").symlink_to(tmp_path / "a" / "x.yaml")
    (tmp_path / "d.yaml").symlink_to(tmp_path / "d.yaml")
    (tmp_path / "e.yaml").symlink_to(tmp_path / "nowhere")

    assert names(tmp_path) == [
        "Pod/x",
        "Pod/x",
        "error d.yaml: cannot be read: Too many levels of symbolic links",
        "error e.yaml: cannot be read: No such file or directory",
    ]


def test_a_mounted_config_map_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, {"..2026_11_21/a.yaml": POD % "a"})
    (tmp_path / "..data").symlink_to("..2026_11_21")
    (tmp_path / "a.yaml").symlink_to("..data/a.yaml")

    assert names(tmp_path) == ["Pod/a"]


def test_pipes_in_a_folder_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.yaml")
    write(tmp_path, {"b.yaml": POD % "b"})

    assert names(tmp_path) == ["Pod/b"]


def test_a_folder_without_files_is_skipped_too(tmp_path: Path) -> None:
    write(tmp_path, {"manifests/deep/README.md": "", "manifests/.a.yaml": POD % "a"})

    assert names(tmp_path / "manifests") == ["skipped manifests"]
    assert names(tmp_path / "manifests", strict=True) == [f"error manifests: {NO_FILE}"]


def test_a_missing_path_is_an_error(tmp_path: Path) -> None:
    assert names(tmp_path / "a.yaml") == ["error a.yaml: cannot be read: No such file or directory"]


URLS = {
    "https://example.com/a.yaml": "https://example.com/a.yaml",
    "file:///etc/a.yaml": "file:///etc/a.yaml",
    "https://example.com/a?b=1&c=2": "'https://example.com/a?b=1&c=2'",
}


@pytest.mark.parametrize(("url", "quoted"), URLS.items())
def test_a_url_is_an_error_that_says_how_to_read_it(url: str, quoted: str) -> None:
    assert [str(item) for item in read_documents([url])] == [
        f"{url}: a URL, which is not read: pipe it, as in curl -sL {quoted} | evenspread audit -f -"
    ]


def test_a_file_whose_name_looks_like_a_url_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"https:/a.yaml": POD % "a"})
    monkeypatch.chdir(tmp_path)

    assert summaries(read_documents(["https://a.yaml"])) == ["Pod/a"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": POD % "a", "b/c.yaml": POD % "c", "d.yaml": POD % "d"})
    (tmp_path / "a.yaml").chmod(0)
    (tmp_path / "b").chmod(0)

    read = names(tmp_path)

    (tmp_path / "b").chmod(0o700)
    assert read == [
        "error a.yaml: cannot be read: Permission denied",
        "error b: cannot be read: Permission denied",
        "Pod/d",
    ]


def test_a_folder_that_cannot_be_listed_is_an_error(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))  # no further file can be opened
    try:
        read = names(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert read == [f"error {tmp_path.name}: cannot be read: {os.strerror(errno.EMFILE)}"]


def test_a_name_that_no_file_can_have_is_an_error(tmp_path: Path) -> None:
    name = "a" * 1000

    reason = os.strerror(errno.ENAMETOOLONG)
    assert names(tmp_path / name) == [f"error {name}: cannot be read: {reason}"]


# bytes of a file, what is read of it
BYTES: dict[str, tuple[bytes, list[str]]] = {
    "UTF-8 with a byte order mark": (b"\xef\xbb\xbf" + (POD % "a").encode(), ["Pod/a"]),
    "UTF-16 with a byte order mark": ((POD % "a").encode("utf-16"), ["Pod/a"]),
    "other texts": (b"a: 1\nb: \xe4\n", ["error x.yaml:2: not text: save it as UTF-8"]),
    "compressed files": (
        b"\x1f\x8b\x08\x00",
        ["error x.yaml: compressed: unpack it; a snapshot is read with --snapshot in place of -f"],
    ),
    "binary files": (
        b"\x7fELF\0\0",
        ["error x.yaml: a binary file: manifests are YAML or JSON"],
    ),
}


@pytest.mark.parametrize(("data", "expected"), BYTES.values(), ids=BYTES.keys())
def test_bytes_become_text(tmp_path: Path, data: bytes, expected: list[str]) -> None:
    (tmp_path / "x.yaml").write_bytes(data)

    assert names(tmp_path / "x.yaml") == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("name", ["web", "w\u00e9b", "\U0001f600"])
def test_items_of_a_list_have_their_lines_in_any_encoding(
    tmp_path: Path, encoding: str, name: str
) -> None:
    labels = {"a": name, "b": name}
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": labels}} for _ in "ab"]
    text = json.dumps({"kind": "List", "items": pods}, indent=1, ensure_ascii=False)
    (tmp_path / "pods.json").write_bytes(text.encode(encoding))

    found = list(read_documents([str(tmp_path)]))

    lines = [item.line(("metadata", "labels", "b")) for item in found if isinstance(item, Document)]
    assert lines == [number for number, line in enumerate(text.split("\n"), 1) if '"b"' in line]


def test_the_standard_input_is_read() -> None:
    stdin = io.BytesIO((POD % "a").encode() + b"---\nb\n")

    read = list(read_documents(["-"], stdin=stdin))

    assert summaries(read[:1]) == ["Pod/a"]
    assert str(read[1]) == "stdin:5: not an object: add apiVersion and kind, or remove it"


def test_a_stream_without_end_is_refused() -> None:
    with pytest.raises(SourceError, match="stdin: larger than 2 MiB: split it"):
        read_data("-", io.BytesIO(bytes(2**21 + 1)), most=2**21)


def test_a_file_of_any_documents_is_read(tmp_path: Path) -> None:
    write(tmp_path, {"a": "a: 1\n---\n{kind: List, items: [1]}\n"})

    read = read_file(str(tmp_path / "a"))

    assert [document.value for document in read] == [{"a": 1}, {"kind": "List", "items": [1]}]


def test_a_file_with_an_error_raises_it(tmp_path: Path) -> None:
    write(tmp_path, {"a": "a: 1\nb: *c\n"})

    with pytest.raises(ManifestError, match=r":2: \*c is an alias of no earlier anchor"):
        read_file(str(tmp_path / "a"))


def test_a_missing_file_raises(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        read_file(str(tmp_path / "a"))


def test_output_of_kubectl_is_read_unchanged(tmp_path: Path) -> None:
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"a{i}"}} for i in range(9)]
    dump = {"apiVersion": "v1", "items": pods, "kind": "List", "metadata": {"resourceVersion": ""}}
    write(
        tmp_path,
        {"a.json": msgspec.json.encode(dump).decode(), "b.yaml": pyyaml.safe_dump(dump)},
    )

    read = [item for item in read_documents([str(tmp_path)]) if isinstance(item, Document)]

    assert [document.value for document in read] == pods * 2


def test_a_document_may_be_unpacked_by_another_function(tmp_path: Path) -> None:
    (tmp_path / "held.yaml").write_text("held: {apiVersion: v1, kind: Pod, metadata: {name: a}}")

    def unpack(document: Document) -> Iterable[Document]:
        return [msgspec.structs.replace(document, value=document.value["held"])]

    assert summaries(read_documents([str(tmp_path)], unpack=unpack)) == ["Pod/a"]


ENCODED = {
    "UTF-8": "é: 1\n".encode(),
    "UTF-8 with a byte order mark": "é: 1\n".encode("utf-8-sig"),
    "UTF-16, little end first": b"\xff\xfe" + "é: 1\n".encode("utf-16-le"),
    "UTF-16, big end first": b"\xfe\xff" + "é: 1\n".encode("utf-16-be"),
}


@pytest.mark.parametrize("data", ENCODED.values(), ids=ENCODED.keys())
def test_a_text_is_written_as_it_was_read(data: bytes) -> None:
    text = decode(data, "x")

    assert text == "é: 1\n"
    assert encode(text, data) == data


def test_links_lead_to_one_path_and_a_loop_to_itself(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").touch()
    (tmp_path / "link.yaml").symlink_to("a.yaml")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")

    assert identify(str(tmp_path / "link.yaml")) == identify(str(tmp_path / "a.yaml"))
    assert identify(str(tmp_path / "loop.yaml")).endswith("loop.yaml")
