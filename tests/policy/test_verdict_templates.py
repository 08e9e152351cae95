"""Verdicts on objects with several templates, or with a bare list of constraints."""

from msgspec.structs import replace

from tests.build import (
    Json,
    job_set,
    review_body,
    spread,
)
from tests.policy.mutated import BAD
from tests.policy.situations import DEFAULTS, WEB
from webhook.admission import decode
from webhook.policy.defaulting.profiles import Mode
from webhook.policy.kinds import BUILT_IN_TEMPLATES, JOB_SET, SHIPPED_TEMPLATES
from webhook.policy.model import GroupKind
from webhook.policy.request import AdmissionRequest, Hook
from webhook.policy.verdict import UNTOUCHED, judge


def siblings(new: Json, old: Json | None = None) -> AdmissionRequest:
    """Build the request for a JobSet."""
    body = review_body(new, old, kind=JOB_SET)
    return decode(body, {**BUILT_IN_TEMPLATES, **SHIPPED_TEMPLATES})


def at_job(index: int) -> str:
    inner = "template.spec.template.spec.topologySpreadConstraints"
    return f"spec.replicatedJobs[{index}].{inner}[0]"


def test_every_template_of_an_object_is_judged() -> None:
    decoded = siblings(job_set(a=[BAD], b=[spread()], c=[BAD]))

    verdict = judge(decoded, Hook.VALIDATE, DEFAULTS, WEB)

    fields = [finding.error.field for finding in verdict.findings]
    assert fields == [f"{at_job(0)}.maxSkew", f"{at_job(2)}.maxSkew"]
    assert verdict.message.startswith('JobSet.jobset.x-k8s.io "web-1" is invalid: [spec.')


def test_every_template_of_an_object_is_completed() -> None:
    decoded = siblings(job_set(a=[spread(whenUnsatisfiable="")], b=[spread(whenUnsatisfiable="")]))

    verdict = judge(decoded, Hook.MUTATE, DEFAULTS, WEB)

    paths = [operation.path for operation in verdict.patch]
    assert paths == [
        f"/spec/replicatedJobs/{index}/template/spec/template/spec/topologySpreadConstraints/0"
        "/whenUnsatisfiable"
        for index in (0, 1)
    ]
    assert verdict.outcome == "patch"


def test_recommending_holds_what_any_template_needs() -> None:
    decoded = siblings(job_set(a=[spread(whenUnsatisfiable="")], b=[BAD], c=[spread()]))

    verdict = judge(decoded, Hook.MUTATE, replace(DEFAULTS, mode=Mode.RECOMMEND), WEB)

    assert (verdict.allowed, verdict.outcome, verdict.patch) == (True, "would_deny", ())
    assert len(verdict.warnings) == 2


def test_an_update_that_leaves_a_bad_template_is_allowed_wherever_it_moves() -> None:
    decoded = siblings(job_set(a=[BAD], b=[spread()]), job_set(b=[spread()], a=[BAD]))

    verdict = judge(decoded, Hook.VALIDATE, DEFAULTS, WEB)

    assert verdict.allowed
    assert [line.partition(":")[0] for line in verdict.warnings] == [f"{at_job(0)}.maxSkew"]


def test_the_advice_on_all_templates_is_joined() -> None:
    other = {"matchLabels": {"job": "other"}}
    decoded = siblings(job_set(a=[spread(labelSelector=other)], b=[spread(labelSelector=other)]))

    verdict = judge(decoded, Hook.VALIDATE, DEFAULTS, WEB)

    assert verdict.allowed
    assert verdict.advice is not None
    fields = [finding.field for finding in verdict.advice.warned if finding.rule == "TSC101"]
    assert fields == [f"{at_job(0)}.labelSelector", f"{at_job(1)}.labelSelector"]


def test_a_bare_list_is_judged_by_the_api_rules_and_gets_no_advice_on_labels() -> None:
    cluster = GroupKind("postgresql.cnpg.io", "Cluster")
    listed = {"spec": {"topologySpreadConstraints": [spread(topologyKey="other"), BAD]}}
    body = review_body(listed, kind=cluster)
    places = {cluster: ("spec", "topologySpreadConstraints")}

    denied = judge(decode(body, places), Hook.VALIDATE, DEFAULTS, WEB)
    listed["spec"]["topologySpreadConstraints"].pop()
    allowed = judge(decode(review_body(listed, kind=cluster), places), Hook.VALIDATE, DEFAULTS, WEB)

    (finding,) = denied.findings
    assert finding.error.field == "spec.topologySpreadConstraints[1].maxSkew"
    assert allowed is UNTOUCHED
