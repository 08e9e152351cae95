"""Conformance cases of the derived selector: what kube-scheduler's ``DefaultSelector`` gives."""

import msgspec

from tests.conformance.case import Answer, Case
from tests.conformance.cluster import RecordedFacts
from webhook.policy.derivation import derive
from webhook.policy.selectors import render
from webhook.policy.workloads import Workload


def answer(case: Case) -> Answer:
    """
    Answer one case.

    Args:
        case: ``pod`` and ``cluster``.

    Returns:
        ``selector`` in its short form, and whether it is ``empty``.
    """
    pod = msgspec.convert(case["pod"], Workload).pod_template(())
    namespace = case["pod"]["metadata"].get("namespace", "")
    derived = derive(pod, namespace, RecordedFacts(case["cluster"])) if pod else None
    return {"selector": render(derived.selector) if derived else "", "empty": derived is None}
