from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from tests.build import default, facts, policy, profile
from tests.cli import files
from webhook.admission.offline import answer_review, build_reviews
from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.diffs import (
    REASONS,
    name_subject,
    show_answer,
    show_diff,
    show_yaml_diff,
    style_of,
)
from webhook.manifests import Document, parse
from webhook.policy.defaulting.inject import SkipReason
from webhook.policy.defaulting.profiles import Mode, Policy, ScaleDown
from webhook.policy.facts import NoFacts
from webhook.policy.kinds import POD
from webhook.policy.request import Hook

PROFILES = policy(profile(name="zones", constraints=(default(),)))
COMPLETING = policy(profile(name="zones", complete_selectors=True))
KEEPING = policy(profile(name="zones", scale_down=ScaleDown.KEEP_SPREAD))
NULL_SELECTOR = files.VALID.replace("    labelSelector: {matchLabels: {app: web}}\n", "")


def documents(text: str) -> Iterable[Document]:
    return [item for item in parse(text, "pod.yaml") if isinstance(item, Document)]


# constraints of the pod, policy, webhook, first line
ANSWERS: dict[str, tuple[str, Policy, Hook, str]] = {
    "patched with defaults": ("", PROFILES, Hook.MUTATE, "patched by profile zones"),
    "patched without defaults": (NULL_SELECTOR, COMPLETING, Hook.MUTATE, "patched"),
    "allowed with a reason for no defaults": (
        files.VALID,
        PROFILES,
        Hook.MUTATE,
        "allowed as it is, without defaults: it has its own constraints",
    ),
    "allowed by the webhook that never patches": ("", PROFILES, Hook.VALIDATE, "allowed as it is"),
    "denied": (files.BROKEN, PROFILES, Hook.VALIDATE, "denied by validate with 422"),
}


@pytest.mark.parametrize(
    ("constraints", "rules", "hook", "sentence"), ANSWERS.values(), ids=ANSWERS.keys()
)
def test_the_first_line_is_the_verdict(
    constraints: str, rules: Policy, hook: Hook, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (review,) = build_reviews(documents(files.POD + constraints), {POD: ()})

    show_answer(review, [answer_review(review, hook, rules, facts(app="web"))], Terminal())

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"pod.yaml:1: Pod shop/web-1: {sentence}"
    assert ("--- Pod shop/web-1 as sent" in lines) is sentence.startswith("patched")
    assert any(": denied: spec." in line for line in lines) is sentence.startswith("denied")


def test_a_label_without_defaults_is_shown_with_its_profile(
    capsys: pytest.CaptureFixture[str],
) -> None:
    owner = "{apiVersion: apps/v1, kind: ReplicaSet, name: web, controller: true}"
    owned = files.POD.replace("spec:", f"  ownerReferences: [{owner}]\nspec:") + files.VALID
    (review,) = build_reviews(documents(owned), {POD: ()})

    show_answer(review, [answer_review(review, Hook.MUTATE, KEEPING, NoFacts())], Terminal())

    heading, *diff = capsys.readouterr().out.splitlines()
    assert heading == "pod.yaml:1: Pod shop/web-1: patched by profile zones"
    assert [line for line in diff if line.startswith("+ ")] == [
        "+    evenspread.io/scale-down: keep-spread"
    ]


def test_warnings_follow_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    (review,) = build_reviews(documents(files.POD), {POD: ()})
    recommends = replace(PROFILES, mode=Mode.RECOMMEND)
    result = answer_review(review, Hook.MUTATE, recommends, facts(app="web"))

    show_answer(review, [result, result], Terminal())

    _, warning = capsys.readouterr().out.splitlines()
    assert warning.startswith("    warning: evenspread would ")


def test_a_denial_by_the_second_webhook_is_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    (review,) = build_reviews(documents(files.POD), {POD: ()})
    (broken,) = build_reviews(documents(files.POD + files.BROKEN), {POD: ()})
    first = answer_review(review, Hook.MUTATE, PROFILES, facts(app="web"))
    second = answer_review(broken, Hook.VALIDATE, PROFILES, facts(app="web"))

    show_answer(review, [first, second], Terminal())

    heading, *_ = capsys.readouterr().out.splitlines()
    assert heading == "pod.yaml:1: Pod shop/web-1: denied by validate with 422"


def test_a_created_pod_is_named_after_its_workload() -> None:
    (review,) = build_reviews(documents(files.POD), {POD: ()})
    result = answer_review(review, Hook.MUTATE, PROFILES, facts(app="web"))

    created = replace(review, creator="Deployment shop/web")

    assert name_subject(review, result) == "Pod shop/web-1"
    assert name_subject(created, result) == "pod of Deployment shop/web"


def test_an_unchanged_object_has_no_diff(capsys: pytest.CaptureFixture[str]) -> None:
    show_diff({"a": 1}, {"a": 1}, "Pod web", Terminal())

    assert capsys.readouterr().out == ""


def test_a_value_that_does_not_exist_has_no_lines(capsys: pytest.CaptureFixture[str]) -> None:
    show_yaml_diff(None, {"a": 1}, ("old", "new"), Terminal())

    assert capsys.readouterr().out == "--- old\n+++ new\n@@ -0,0 +1 @@\n+a: 1\n"


STYLES = {
    "+++ new": Style.PLACE,
    "--- old": Style.PLACE,
    "+added": Style.GOOD,
    "-removed": Style.BAD,
    "@@ -1 +1 @@": Style.HINT,
    " same": Style.PLAIN,
    "": Style.PLAIN,
}


@pytest.mark.parametrize(("line", "style"), STYLES.items())
def test_lines_of_a_diff_have_colours(line: str, style: Style) -> None:
    assert style_of(line) is style


def test_every_reason_for_no_defaults_has_words() -> None:
    assert set(REASONS) == set(SkipReason) - {SkipReason.NONE}
