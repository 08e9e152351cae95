from pathlib import Path
from typing import Any

import jsonpatch
import pytest
import yaml

from tests.cli import files
from tests.spreadtest.world import load
from webhook.admission.offline import OfflineReview
from webhook.errors import ManifestError
from webhook.policy.patch import remove
from webhook.policy.request import Hook
from webhook.policy.verdict import Verdict
from webhook.spreadtest.response import CaseResponse, CaseVerdict, call_webhooks

CONFIG = """\
config:
  apiVersion: evenspread.io/v1alpha1
  kind: SpreadConfiguration
  mode: {mode}
  rules: {{TSC101: warn, TSC102: {action}}}
  profiles:
  - name: cluster
    defaultConstraints:
    - {{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}}
cluster: [cluster]
cases:
- {{name: a, object: {object}, expect: {{verdict: allow}}}}
"""

MISSING_ITSELF = files.VALID.replace("{app: web}", "{app: db}")


def answer(
    pod: str, folder: Path, *hooks: Hook, mode: str = "apply", action: str = "warn"
) -> CaseResponse:
    (folder / "pod.yaml").write_text(pod)
    suite = load(CONFIG.format(mode=mode, action=action, object="pod.yaml"), folder)
    (case,) = suite.cases
    assert isinstance(case.request, OfflineReview)
    return call_webhooks(case.request, hooks or case.hooks, case.policy, suite.cluster)


# pod, mode, what becomes of it
OUTCOMES = {
    "patched": (files.POD, "apply", CaseVerdict.PATCH),
    "left alone": (files.POD + files.VALID, "apply", CaseVerdict.ALLOW),
    "denied": (files.POD + files.BROKEN, "apply", CaseVerdict.DENY),
    "would be patched": (files.POD, "recommend", CaseVerdict.WOULD_PATCH),
    "would be denied": (files.POD + files.BROKEN, "recommend", CaseVerdict.WOULD_DENY),
    "refused by the API server itself": (files.POD + files.TYPE_ERROR, "apply", CaseVerdict.DENY),
}


@pytest.mark.parametrize(("pod", "mode", "outcome"), OUTCOMES.values(), ids=OUTCOMES.keys())
def test_outcome(pod: str, mode: str, outcome: CaseVerdict, folder: Path) -> None:
    assert answer(pod, folder, mode=mode).verdict is outcome


def test_every_outcome_of_a_verdict_is_known() -> None:
    verdicts = [
        Verdict(),
        Verdict(patch=(remove("/a"),)),
        Verdict(allowed=False),
        Verdict(held="deny"),
        Verdict(held="patch"),
    ]

    assert {verdict.outcome for verdict in verdicts} == set(CaseVerdict)


def test_patched_object_is_what_the_patch_makes_of_it(folder: Path) -> None:
    found = answer(files.POD, folder)

    patched: Any = jsonpatch.apply_patch(yaml.safe_load(files.POD), list(found.patch))
    assert found.patched == patched
    assert found.constraints == list(found.injected) == patched["spec"]["topologySpreadConstraints"]
    assert found.injected[0]["labelSelector"] == {"matchLabels": {"app": "web"}}
    assert (found.skipped, found.audit_annotations["profile"]) == ("", "cluster")


def test_denial_has_its_rules_and_its_message(folder: Path) -> None:
    found = answer(files.POD + files.BROKEN, folder)

    assert found.denied == ("TSC001", "TSC003")
    assert found.message.startswith('Pod "web-1" is invalid: [')
    assert found.audit_annotations == {"denied": "TSC001,TSC003"}
    assert found.patch == ()


def test_warnings_of_the_second_webhook_are_reported_too(folder: Path) -> None:
    pod = files.POD + MISSING_ITSELF

    assert answer(pod, folder, Hook.MUTATE, action="deny").warnings == ()
    (warning,) = answer(pod, folder, action="deny").warnings
    assert "TSC101" in warning


def test_advice_on_a_pod_comes_from_the_first_webhook_while_no_rule_denies(folder: Path) -> None:
    pod = files.POD + MISSING_ITSELF

    (warning,) = answer(pod, folder, Hook.MUTATE).warnings
    assert "TSC101" in warning
    assert answer(pod, folder).warnings == (warning,)


def test_a_warning_of_both_webhooks_is_reported_once(folder: Path) -> None:
    found = answer(files.POD + files.BROKEN, folder, mode="recommend")

    assert len(found.warnings) == 1
    assert found.denied == ("TSC001", "TSC003")


def test_no_webhook_is_called_after_a_denial(folder: Path) -> None:
    broken = files.POD + files.BROKEN

    assert answer(broken, folder) == answer(broken, folder, Hook.MUTATE)


def test_rules_that_only_warn_deny_nothing(folder: Path) -> None:
    assert answer(files.POD + MISSING_ITSELF, folder).denied == ()


def test_object_of_wrong_types_is_refused_before_any_webhook(folder: Path) -> None:
    found = answer(files.POD + files.TYPE_ERROR, folder)

    assert found.message.startswith("kube-apiserver cannot read the Pod: ")
    assert "maxSkew" in found.message
    assert found.denied == ()


def test_constraints_of_a_template_are_found(folder: Path) -> None:
    found = answer(files.DEPLOYMENT.replace("-1", "1"), folder)

    assert [constraint["topologyKey"] for constraint in found.constraints] == ["zone"]


def test_recorded_review_that_is_none_is_an_error(folder: Path) -> None:
    review = "apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\n"

    with pytest.raises(ManifestError, match=r"the server would answer 400: .* has no request"):
        answer(review, folder)
