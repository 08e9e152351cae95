from typing import Any

import pytest

from tests.build import gates
from webhook.cli.terminal import Terminal
from webhook.cli.views.findings import describe_support, name_of, show
from webhook.cli.views.validation import Cause, ValidationNotice, ValidationReport
from webhook.policy.api.versions import Version

FIELD = "spec.topologySpreadConstraints[0].maxSkew"


def report(**answer: Any) -> ValidationReport:
    return ValidationReport(
        source="pod.yaml",
        line=1,
        api_version="v1",
        kind="Pod",
        namespace="shop",
        name="web",
        **answer,
    )


NOTICE = ValidationNotice("minDomains: dropped", "minDomains", "TSC111", 13, "leave it out")

FINDINGS: dict[str, tuple[ValidationReport, list[str]]] = {
    "no finding": (report(), []),
    "a violated rule": (
        report(causes=(Cause("Invalid", "Invalid value: 0", FIELD, "TSC001", 11, "write 1"),)),
        [
            f"pod.yaml:11: Pod shop/web: denied: {FIELD}: Invalid value: 0 [TSC001]",
            "    instead: write 1",
        ],
    ),
    "a type error": (
        report(causes=(Cause("Type", "expected an integer", FIELD, "", 11, "write 1"),)),
        [
            f"pod.yaml:11: Pod shop/web: denied: {FIELD}: expected an integer",
            "    instead: write 1",
        ],
    ),
    "a warning": (
        report(warnings=(NOTICE,)),
        [
            "pod.yaml:13: Pod shop/web: warning: minDomains: dropped [TSC111]",
            "    instead: leave it out",
        ],
    ),
    "a dropped field": (
        report(dropped=(NOTICE,)),
        [
            "pod.yaml:13: Pod shop/web: dropped: minDomains: dropped [TSC111]",
            "    instead: leave it out",
        ],
    ),
}


@pytest.mark.parametrize(("found", "lines"), FINDINGS.values(), ids=FINDINGS.keys())
def test_a_finding_has_its_place_and_its_fix(
    found: ValidationReport, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    show(found, Terminal())

    assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.parametrize(
    ("namespace", "name", "text"),
    [("shop", "web", "Pod shop/web"), ("", "web", "Pod web"), ("", "", "Pod")],
)
def test_a_missing_namespace_or_name_is_left_out(namespace: str, name: str, text: str) -> None:
    assert name_of("Pod", namespace, name) == text


SUPPORT = {
    "1.16": "drops topologySpreadConstraints, since EvenPodsSpread is off",
    "1.18": "does not know minDomains, nodeAffinityPolicy, nodeTaintsPolicy, matchLabelKeys",
    "1.24": (
        "does not know nodeAffinityPolicy, nodeTaintsPolicy, matchLabelKeys; "
        "drops minDomains, since the feature gate is off"
    ),
    "1.26": "drops minDomains, matchLabelKeys, since the feature gate is off",
    "1.33": "knows every field; refuses a key in both matchLabelKeys and labelSelector",
    "1.34": "knows every field; merges matchLabelKeys into the selector of a new pod",
}


@pytest.mark.parametrize(("version", "support"), SUPPORT.items())
def test_a_sentence_describes_the_fields_of_a_version(version: str, support: str) -> None:
    servers = gates(Version(1, int(version.partition(".")[2])))

    assert describe_support(servers) == f"Kubernetes {version} {support}"
