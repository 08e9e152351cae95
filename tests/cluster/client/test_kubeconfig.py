import os
from pathlib import Path

import pytest

from webhook.cluster.client.kubeconfig import (
    DEFAULT_KUBECONFIG,
    find_kubeconfig,
    find_namespace,
    kubeconfig_error,
    list_contexts,
)
from webhook.errors import SourceError

ONE = "current-context: a\ncontexts: [{name: a}]\n"
OTHER = "current-context: c\ncontexts: [{name: b}]\n"

# requested, environment, result; a name that ends in .yaml exists
NAMED = {
    "the requested file": ("one.yaml", {"KUBECONFIG": "other.yaml"}, "one.yaml"),
    "the file in the environment": ("", {"KUBECONFIG": "other.yaml"}, "other.yaml"),
    "several, of which one exists": ("none:one.yaml", {}, "none:one.yaml"),
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one.yaml").write_text(ONE)
    (tmp_path / "other.yaml").write_text(OTHER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize(("requested", "environ", "files"), NAMED.values(), ids=NAMED.keys())
def test_kubectl_reads_the_same_files(requested: str, environ: dict[str, str], files: str) -> None:
    assert find_kubeconfig(requested, environ) == files


@pytest.mark.parametrize("environ", [{}, {"KUBECONFIG": ""}], ids=["unset", "empty"])
def test_files_that_do_not_exist_are_named(environ: dict[str, str]) -> None:
    with pytest.raises(
        SourceError, match=f"^{DEFAULT_KUBECONFIG}: does not exist: name a kubeconfig with"
    ):
        find_kubeconfig("", environ)


# files, requested context, message
ERRORS = {
    "no error that the file shows": ("one.yaml", "", None),
    "a context of the second file": (f"one.yaml{os.pathsep}other.yaml", "b", None),
    "a context of no file": ("one.yaml", "b", "one.yaml: has no context 'b': choose one of a"),
    "a current context of no file": (
        "other.yaml",
        "",
        "other.yaml: has no context 'c': choose one of b",
    ),
    "of two current contexts the first counts": (
        f"one.yaml{os.pathsep}other.yaml",
        "",
        None,
    ),
}


SET_ONE = "is no kubeconfig: write one with kubectl config set-context"
CONTEXTS = "contexts: [{name: a, context: {cluster: x, user: y}}, {name: b}]"

# content, requested context, start of the message
BROKEN = {
    "an empty file": ("", "", SET_ONE),
    "a list": ("[]", "", SET_ONE),
    "half a file": ('{"clusters": [{"na', "", "1: invalid JSON: Unterminated string"),
    "no YAML": ("a: [1,\nb", "", "2: invalid YAML: while parsing a flow sequence, did not find"),
    "a binary file": ("\0", "", "a binary file: manifests are YAML or JSON"),
    "an empty object": ("{}", "", "has no current context: it has none at all; write one"),
    "an empty object for a requested context": (
        "{}",
        "c",
        "has no context 'c': it has none at all;",
    ),
    "no current context": (CONTEXTS, "", "has no current context: choose one of a, b, with"),
    "a missing context": (CONTEXTS, "c", "has no context 'c': choose one of a, b"),
    "a missing current context": (
        f"current-context: d\n{CONTEXTS}",
        "",
        "has no context 'd': choose one of a, b",
    ),
    "contexts that are an object": ("contexts: {}", "", "has no current context: it has none"),
}


@pytest.mark.parametrize(("text", "context", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_explained(tmp_path: Path, text: str, context: str, message: str) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(text)

    error = kubeconfig_error(str(path), context)

    assert error is not None
    assert str(error).removeprefix(f"{path}:").lstrip().startswith(message)


@pytest.mark.parametrize(("named", "context", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_the_context_must_exist(named: str, context: str, message: str | None) -> None:
    found = kubeconfig_error(named, context)

    assert (found and str(found)) == message


SHOPS = """\
current-context: b
contexts:
- {name: a, context: {namespace: shop}}
- {name: b, context: {namespace: ops}}
- {name: c, context: {cluster: x}}
- {name: d}
"""

# files, requested context, namespace
NAMESPACES = {
    "the current context": ("shops.yaml", "", "ops"),
    "a requested context": ("shops.yaml", "a", "shop"),
    "a context without a namespace": ("shops.yaml", "c", ""),
    "a context without an entry": ("shops.yaml", "d", ""),
    "an unknown context": ("shops.yaml", "e", ""),
    "a context of the second file": ("one.yaml:shops.yaml", "b", "ops"),
    "of two current contexts the first counts": ("one.yaml:shops.yaml", "", ""),
    "no file": ("none.yaml", "", ""),
}


@pytest.mark.parametrize(
    ("files", "context", "namespace"), NAMESPACES.values(), ids=NAMESPACES.keys()
)
def test_the_namespace_of_a_context(files: str, context: str, namespace: str) -> None:
    Path("shops.yaml").write_text(SHOPS)

    assert find_namespace(files, context) == namespace


def test_contexts_of_all_files_are_listed_with_their_namespaces(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_text("contexts: [{name: x, context: {namespace: shop}}, 1, {name: w}]")
    second.write_text("contexts: [{name: x, context: {namespace: net}}, {name: z, context: 1}]")

    assert list_contexts(f"{first}:{second}:{tmp_path}/c") == {"x": "shop", "w": "", "z": ""}
