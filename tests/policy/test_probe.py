import json
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.build import NAMESPACE, deployment, pod, policy, profile, request, review_body
from webhook.admission import decode
from webhook.policy.escape import WARNING_CHARACTERS
from webhook.policy.facts import NoFacts
from webhook.policy.probe import LABEL, build_probe_verdict, judge_probe
from webhook.policy.request import AdmissionRequest, Hook
from webhook.policy.verdict import UNTOUCHED, judge

PRESENT = build_probe_verdict("0.1.0", "evenspread-7c9f-abcde")


def probe(value: str = "true", **changes: Any) -> AdmissionRequest:
    members: dict[str, Any] = {"dryRun": True}
    return decode(review_body(pod(labels={LABEL: value}), **members | changes))


ANSWERS = {
    "true is answered by the mutating hook": ("true", Hook.MUTATE, PRESENT),
    "true is answered by the validating hook": ("true", Hook.VALIDATE, PRESENT),
    "mutate is answered by the mutating hook": ("mutate", Hook.MUTATE, PRESENT),
    "mutate is passed over by the validating hook": ("mutate", Hook.VALIDATE, UNTOUCHED),
    "validate is answered by the validating hook": ("validate", Hook.VALIDATE, PRESENT),
    "validate is passed over by the mutating hook": ("validate", Hook.MUTATE, UNTOUCHED),
}


@pytest.mark.parametrize(("value", "hook", "verdict"), ANSWERS.values(), ids=ANSWERS)
def test_a_probe_is_answered(value: str, hook: Hook, verdict: Any) -> None:
    assert judge_probe(probe(value), hook, PRESENT) is verdict


def test_a_template_that_nothing_comes_of_can_be_a_probe_too() -> None:
    tried = {**deployment(), "metadata": {"labels": {LABEL: "true"}}}

    assert judge_probe(decode(review_body(tried, dryRun=True)), Hook.MUTATE, PRESENT) is PRESENT


def test_the_answer_is_one_warning_and_nothing_else() -> None:
    assert PRESENT.warnings == ("evenspread 0.1.0 evenspread-7c9f-abcde answered",)
    assert msgspec.structs.asdict(PRESENT) == {
        **msgspec.structs.asdict(UNTOUCHED),
        "warnings": PRESENT.warnings,
    }
    assert PRESENT.outcome == "allow"


OTHERS = {
    "a pod that is really made": probe(dryRun=False),
    "a review without a dry run": decode(review_body(pod(labels={LABEL: "true"}))),
    "another value": probe("yes"),
    "an update": replace(probe(), operation="UPDATE"),
    "a pod without the label": decode(review_body(pod(labels={"app": "web"}), dryRun=True)),
    "an object without metadata": replace(request(deployment()), metadata=None),
}


@pytest.mark.parametrize("creation", OTHERS.values(), ids=OTHERS)
def test_no_probe_is(creation: AdmissionRequest) -> None:
    assert judge_probe(creation, Hook.MUTATE, PRESENT) is None


def test_the_label_of_a_real_pod_is_no_way_around_the_rules() -> None:
    bad = {"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    creation = decode(review_body(pod(bad, labels={LABEL: "true"}), namespace=NAMESPACE))

    assert judge_probe(creation, Hook.MUTATE, PRESENT) is None
    assert not judge(creation, Hook.MUTATE, policy(profile()), NoFacts()).allowed


def test_a_strange_name_becomes_a_warning_that_is_passed_on() -> None:
    (warning,) = build_probe_verdict("0.1.0", "a\nb" + "x" * WARNING_CHARACTERS).warnings

    assert warning.isprintable()
    assert len(warning) == WARNING_CHARACTERS
    assert json.dumps(warning)
