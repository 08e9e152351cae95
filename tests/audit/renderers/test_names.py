from tests.audit.world import EVERYTHING, LIVE, audit
from webhook.audit.renderers import render_report


def test_workloads_with_findings_are_named_as_kubectl_does() -> None:
    assert render_report(audit(EVERYTHING), "name") == (
        "pod/lone\ndeployment.apps/web\nstatefulset.apps/db\n"
    )


def test_workloads_without_findings_are_left_out() -> None:
    node = LIVE.partition("---\napiVersion: apps/v1")[0]

    assert render_report(audit(node), "name") == ""
