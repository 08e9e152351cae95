from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.files import LABEL_SELECTING
from tests.cli.inputs.targetcases import ENDING, POD, PODS, TEMPLATE, WEB, build
from webhook.cli.inputs.schedulingscope import NODE_RESOURCES
from webhook.cli.inputs.storagescope import UNKNOWN_CLAIMS
from webhook.explain.caveats import ALWAYS_IGNORED, NEW_VOLUMES
from webhook.policy.model import LabelSelector


def test_a_pod_is_placed_without_itself() -> None:
    target = build("web-1", WEB + PODS)

    assert (target.subject, target.runs_on) == ("Pod shop/web-1", "n1")
    assert (target.replicas, target.running) == (2, {"n1": 2})
    census = target.situation.census, target.present.census
    assert [one.count("shop", LabelSelector({"app": "web"})) for one in census] == [
        {"n1": 1}, {"n1": 2}
    ]  # fmt: skip


def test_a_pod_without_labels_has_no_others_like_it() -> None:
    target = build("web-1", PODS.replace("  labels: {app: web, pod-template-hash: h1}\n", ""))

    assert (target.replicas, target.running) == (1, {"n1": 1})


# changes of the pod web-1, number of pods like it that run
ABSENT = {
    "Pending": ("spec: {nodeName: n1}", "spec: {}"),
    "finished": ("spec: {nodeName: n1}", "spec: {nodeName: n1}\nstatus: {phase: Failed}"),
}


@pytest.mark.parametrize(("old", "new"), ABSENT.values(), ids=ABSENT.keys())
def test_a_pod_that_does_not_count_on_a_node_is_missing(old: str, new: str) -> None:
    target = build("web-1", (POD % "web-1").replace(old, new) + POD % "web-2")

    assert (target.replicas, target.running) == (2, {"n1": 1})


def test_a_pod_without_a_spec_runs_nowhere() -> None:
    assert build("web-1", PODS.replace("spec: {nodeName: n1}\n", "")).runs_on == ""


def test_what_the_pod_uses_is_a_caveat() -> None:
    claims = WEB.replace("kind: Deployment", "kind: StatefulSet").replace(
        "{replicas: 4,", "{replicas: 4, volumeClaimTemplates: [{metadata: {name: data}}],"
    )

    assert build("deploy/web", WEB).caveats == (*ALWAYS_IGNORED, NODE_RESOURCES)
    assert build("sts/web", claims).caveats == (*ALWAYS_IGNORED, NODE_RESOURCES, UNKNOWN_CLAIMS)


def test_volumes_of_other_kinds_with_claim_templates_are_new() -> None:
    clone_set = WEB.replace("apps/v1", "apps.kruise.io/v1alpha1").replace(
        "kind: Deployment", "kind: CloneSet"
    )
    claims = clone_set.replace("{replicas: 4,", "{volumeClaimTemplates: [{metadata: {name: d}}],")

    assert build("cloneset/web", claims).caveats == (*ALWAYS_IGNORED, NEW_VOLUMES, NODE_RESOURCES)


@pytest.mark.parametrize(("simulates", "present"), [(False, 3), (True, 2)])
def test_a_what_if_of_a_pod_supposes_the_end_of_others(simulates: bool, present: int) -> None:
    target = build("web-1", PODS + ENDING, simulates=simulates)

    assert target.present.cluster.usage("n1").pods == present
    assert target.situation.cluster.usage("n1").pods == 2
    assert target.terms.ending.simulated == (("web-3",) if simulates else ())


CAVEAT = "profiles that select labels of Namespace shop, which is not known: prod"


def test_profiles_that_may_fit_a_new_pod_are_a_caveat(folder: Path, run: Run) -> None:
    (folder / "config.yaml").write_text(LABEL_SELECTING)
    for uid, is_named in (("", True), ("uid: u, ", False)):
        pod = f"apiVersion: v1\nkind: Pod\nmetadata: {{{uid}name: web-1, namespace: shop}}\n"
        (folder / "pod.yaml").write_text(f"{pod}spec: {{containers: [{{name: c}}]}}\n")

        ran = run("explain", "-f", "pod.yaml", "--config", "config.yaml")

        assert (CAVEAT in ran.out) is is_named


GVISOR = """\
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: gvisor}
handler: runsc
scheduling: {nodeSelector: {runtime: gvisor}}
"""


def test_pods_that_contradict_their_runtime_class_are_refused() -> None:
    spec = "{runtimeClassName: gvisor, nodeSelector: {runtime: runc}}"
    template = f"{{metadata: {{labels: {{app: web}}}}, spec: {spec}}}"
    contradicting = WEB.replace(TEMPLATE, template)
    agreeing = contradicting.replace("runtime: runc", "runtime: gvisor")

    (refusal,) = build("deploy/web", contradicting + GVISOR).refused

    assert refusal.field == "spec.template.spec.nodeSelector"
    assert refusal.message == "runtime is runc, but RuntimeClass gvisor requires gvisor"
    assert build("deploy/web", agreeing + GVISOR).refused == ()
