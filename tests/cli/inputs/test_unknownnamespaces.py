"""A profile that selects labels of an unknown Namespace does not fit, which commands say."""

from pathlib import Path

import pytest

from tests.build import default, profile, selector
from tests.cli.conftest import Run
from tests.cli.files import DEPLOYMENT_WITHOUT_CONSTRAINTS, LABEL_SELECTING, POD
from webhook.cli.inputs.notes import MOST_NOTES
from webhook.cli.inputs.unknownnamespaces import find_unfit_profiles, note_unknown_namespaces
from webhook.policy.model import NAME_LABEL

PROD = profile(name="prod", namespace_selector=selector(tier="prod"), constraints=(default(),))
NAMED = profile(name="named", namespace_selector=selector(**{NAME_LABEL: "shop"}))
OTHERS = profile(name="others")
WRITTEN = (PROD, NAMED, OTHERS)
KNOWN = {"shop": {"tier": "test"}}


@pytest.mark.parametrize(("namespace", "names"), [("shop", ""), ("data", "prod")])
def test_profiles_that_select_unknown_labels_are_named(namespace: str, names: str) -> None:
    assert find_unfit_profiles(WRITTEN, namespace, KNOWN.get) == names


def test_each_profile_is_named_once() -> None:
    assert find_unfit_profiles((*WRITTEN, *WRITTEN), "data", KNOWN.get) == "prod"


def test_namespaces_that_are_unknown_have_a_note_each() -> None:
    notes = note_unknown_namespaces(WRITTEN, ["shop", "data", "", "data"], KNOWN.get)

    (note,) = notes
    assert note == (
        "note: namespace data: its Namespace is not among the facts, so that profiles that select "
        "its labels do not match: prod"
    )


def test_many_namespaces_are_counted() -> None:
    names = [f"team-{number}" for number in range(MOST_NOTES + 3)]

    *_, last = note_unknown_namespaces(WRITTEN, names, KNOWN.get)

    assert last == "note: 3 more namespaces that are not among the facts"


NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {tier: prod}}\n"
NOTE = "namespace shop: its Namespace is not among the facts"
CAVEAT = "profiles that select labels of Namespace shop, which is not known: prod"

# command -> what it says without the Namespace
COMMANDS: dict[str, tuple[tuple[str, ...], str]] = {
    "review": (("review", "-f", "web.yaml", "--config", "config.yaml"), NOTE),
    "audit": (("audit", "-f", "web.yaml", "--config", "config.yaml"), NOTE),
    "explain": (("explain", "-f", "web.yaml", "--config", "config.yaml"), CAVEAT),
    "config check": (("config", "check", "-f", "pod.yaml", "--config", "config.yaml"), NOTE),
    "policy diff": (("policy", "diff", "-f", "config.yaml", "--facts", "web.yaml"), NOTE),
}


@pytest.mark.parametrize(("words", "sentence"), COMMANDS.values(), ids=COMMANDS.keys())
def test_commands_name_a_namespace_that_a_profile_needs(
    folder: Path, run: Run, words: tuple[str, ...], sentence: str
) -> None:
    for name, text in (
        ("config.yaml", LABEL_SELECTING),
        ("web.yaml", DEPLOYMENT_WITHOUT_CONSTRAINTS),
        ("namespace.yaml", NAMESPACE),
        ("pod.yaml", POD),
    ):
        (folder / name).write_text(text)

    unknown, known = run(*words), run(*words, "--facts", "namespace.yaml")

    assert [sentence in ran.out + ran.err for ran in (unknown, known)] == [True, False]
