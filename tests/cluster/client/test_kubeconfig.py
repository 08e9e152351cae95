import os
from pathlib import Path

import pytest

from webhook.cluster.client.kubeconfig import DEFAULT_KUBECONFIG, find_kubeconfig, kubeconfig_error
from webhook.errors import SourceError

ONE = "current-context: a\ncontexts: [{name: a}]\n"
OTHER = "current-context: c\ncontexts: [{name: b}]\n"

# asked for, in the environment, what is read; a name that ends in .yaml exists
NAMED = {
    "what is asked for": ("one.yaml", {"KUBECONFIG": "other.yaml"}, "one.yaml"),
    "what the environment names": ("", {"KUBECONFIG": "other.yaml"}, "other.yaml"),
    "several, of which one exists": ("none:one.yaml", {}, "none:one.yaml"),
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one.yaml").write_text(ONE)
    (tmp_path / "other.yaml").write_text(OTHER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize(("asked", "environ", "read"), NAMED.values(), ids=NAMED.keys())
def test_files(asked: str, environ: dict[str, str], read: str) -> None:
    assert find_kubeconfig(asked, environ) == read


@pytest.mark.parametrize("environ", [{}, {"KUBECONFIG": ""}], ids=["unset", "empty"])
def test_files_that_do_not_exist_are_named(environ: dict[str, str]) -> None:
    with pytest.raises(
        SourceError, match=f"^{DEFAULT_KUBECONFIG}: does not exist: name a kubeconfig with"
    ):
        find_kubeconfig("", environ)


# files, context that is asked for, what is wrong
MISTAKES = {
    "nothing that can be seen": ("one.yaml", "", None),
    "nothing, with a context of the second file": (f"one.yaml{os.pathsep}other.yaml", "b", None),
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


@pytest.mark.parametrize(("named", "context", "said"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistake(named: str, context: str, said: str | None) -> None:
    found = kubeconfig_error(named, context)

    assert (found and str(found)) == said
