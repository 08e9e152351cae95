from typing import Any

import msgspec
import pytest
import yaml
from msgspec.structs import replace

from tests.audit.world import EVERYTHING, audit, finding, report
from webhook.audit.renderers import render_report
from webhook.audit.renderers.policyreport import MOST_CHARACTERS, MOST_RESULTS
from webhook.audit.report import AuditReport, AuditSeverity

APIS = {
    "policyreport": ("wgpolicyk8s.io/v1alpha2", "PolicyReport"),
    "openreports": ("openreports.io/v1alpha1", "Report"),
}

ETCD_BYTES = 1536 * 1024  # largest request that etcd takes


def objects(made: AuditReport, output: str = "policyreport") -> list[Any]:
    return list(yaml.safe_load_all(render_report(made, output)))


@pytest.mark.parametrize(("output", "api"), APIS.items())
def test_one_object_a_namespace(output: str, api: tuple[str, str]) -> None:
    made = objects(audit(EVERYTHING), output)

    assert [(obj["apiVersion"], obj["kind"]) for obj in made] == [api, api]
    assert [obj["metadata"]["namespace"] for obj in made] == ["ops", "shop"]
    assert [obj["summary"] for obj in made] == [
        {"pass": 0, "fail": 1, "warn": 0, "error": 0, "skip": 0},
        {"pass": 0, "fail": 0, "warn": 2, "error": 0, "skip": 0},
    ]


def test_a_result_names_rule_and_object() -> None:
    (result,) = objects(report(finding()))[0]["results"]

    assert (result["rule"], result["result"], result["severity"]) == ("TSC101", "warn", "medium")
    assert result["resources"] == [
        {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"}
    ]


def test_an_exempted_finding_is_skipped() -> None:
    (result,) = objects(report(exempted=(finding(reason="by contract"),)))[0]["results"]

    assert (result["result"], result["properties"]["reason"]) == ("skip", "by contract")


def test_an_object_is_small_enough_to_be_stored_and_has_the_most_severe_findings() -> None:
    long = "x" * 5 * MOST_CHARACTERS
    weak = [finding(problem=long, instead=long, field=long) for _ in range(2 * MOST_RESULTS)]
    hard = replace(weak[0], severity=AuditSeverity.DENY)

    (made,) = objects(report(*weak, hard))

    assert len(msgspec.json.encode(made)) < ETCD_BYTES
    assert len(made["results"]) == MOST_RESULTS
    assert made["results"][0]["result"] == "fail"
    assert made["summary"]["warn"] == 2 * MOST_RESULTS
    assert made["metadata"]["annotations"] == {
        "evenspread.io/results-left-out": str(MOST_RESULTS + 1)
    }
