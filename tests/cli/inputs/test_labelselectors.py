import click
import pytest

from tests.cli.inputs.manifestclusters import documents
from webhook.cli.inputs.labelselectors import (
    describe_selected,
    parse_selector,
    selector_option,
    selects,
)
from webhook.errors import ConfigError
from webhook.policy.model import LabelSelector, LabelSelectorRequirement
from webhook.policy.selectors import SELECT_ALL

LABELS = {"app": "web", "tier": "front", "canary": ""}

# selector, whether it selects LABELS
SELECTORS = {
    "": True,
    "app=web": True,
    "app==web": True,
    "app = web": True,
    "app=db": False,
    "app!=db": True,
    "app!=web": False,
    "other!=web": True,
    "app": True,
    "!app": False,
    "other": False,
    "!other": True,
    "canary=": True,
    "app in (web,db)": True,
    "app in (db)": False,
    "app notin (db, api)": True,
    "app notin(web)": False,
    "other notin (web)": True,
    "app=web,tier in (front, back),!other": True,
    "app=web,tier in (back),!other": False,
    "x.io/app=web": False,
}


@pytest.mark.parametrize(("written", "expected"), SELECTORS.items())
def test_selectors_are_those_of_kubectl(written: str, expected: bool) -> None:
    (pod,) = documents(f"kind: Pod\nmetadata: {{labels: {LABELS}}}\n")

    assert selects(parse_selector(written), pod.value) is expected


@pytest.mark.parametrize("text", ["kind: Pod\n", "kind: Pod\nmetadata: {labels: [a]}\n"])
def test_an_object_without_labels_is_selected_by_what_it_lacks(text: str) -> None:
    (pod,) = documents(text)

    assert selects(parse_selector("!app"), pod)
    assert not selects(parse_selector("app"), pod)


INVALID = {
    "app=web,": "'' is not a label selector: write one such as app=web",
    "app in web": "'app in web' is not a label selector: write one such as",
    "app gt 3": "'app gt 3' is not a label selector",
    "-app=web": "'-app=web' is not a label selector: '-app' ",
    "app=we/b": "'app=we/b' is not a label selector: 'we/b' ",
    "app in (a b)": "'app in (a b)' is not a label selector: 'a b' ",
}


@pytest.mark.parametrize(("written", "message"), INVALID.items())
def test_invalid_selectors_are_errors(written: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_selector(written)

    assert str(caught.value).startswith(f"-l: {message}")


def test_the_option_has_a_selector() -> None:
    command = click.Command("c", params=[selector_option("Only objects")])

    expected = LabelSelector(match_expressions=(LabelSelectorRequirement("app", "In", ("web",)),))
    assert command.make_context("c", ["-l", "app=web"]).params == {"selector": expected}
    assert command.make_context("c", []).params == {"selector": LabelSelector()}


def test_selected_objects_are_described() -> None:
    assert describe_selected("object", parse_selector("a=b")) == "object that -l selects"
    assert describe_selected("object", SELECT_ALL) == "object"
