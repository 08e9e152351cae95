"""Findings that a machine cannot decide: they are left, with the reason."""

import pytest

from tests.audit.world import NODES
from tests.fix.cases import LeftCase, assert_left, entry, lines, listed
from tests.fix.fixed import UNEVEN, deployment, options, reasons, run_fix
from webhook.policy.api.versions import Version

TAINTED_ZONE = f"{NODES}spec: {{taints: [{{key: gpu, effect: NoSchedule}}]}}\n"

LEFT = {
    "TSC002": LeftCase("TSC002", listed(entry(topologyKey='""')), "only the author knows"),
    "TSC003: neither word": LeftCase(
        "TSC003", listed(entry(whenUnsatisfiable="Never")), "which of DoNotSchedule and"
    ),
    "TSC003: no word": LeftCase("TSC003", listed(entry(whenUnsatisfiable="")), "cannot be known"),
    "TSC003: the effect of a taint": LeftCase(
        "TSC003", listed(entry(whenUnsatisfiable="NoSchedule")), "cannot be known"
    ),
    "TSC002: below a misspelled name": LeftCase(
        "TSC002",
        listed(entry(topologyKey="zone").replace("topologyKey", "topologykey")),
        "topologySpreadConstraints[0].topologykey comes first",
    ),
    "TSC003: below a misspelled name": LeftCase(
        "TSC003",
        listed(entry().replace("whenUnsatisfiable", "whenUnsatisfyable")),
        "topologySpreadConstraints[0].whenUnsatisfyable comes first",
    ),
    "TSC004: other selectors": LeftCase(
        "TSC004",
        listed(entry(), entry(labelSelector="{matchLabels: {x: z}}")),
        "differs from topologySpreadConstraints[1] in more than maxSkew",
    ),
    "TSC004: a skew that is none": LeftCase(
        "TSC004", listed(entry(), entry(maxSkew="0")), "unknown until both have a valid maxSkew"
    ),
    "TSC006: neither hard nor soft": LeftCase(
        "TSC006", listed(entry(whenUnsatisfiable="Never", minDomains="2")), "depends on"
    ),
    "TSC007: another word": LeftCase(
        "TSC007", listed(entry(nodeTaintsPolicy='""')), "which of Honor and Ignore"
    ),
    "TSC020: the new label is taken": LeftCase(
        "TSC020",
        listed(
            entry(topologyKey="failure-domain.beta.kubernetes.io/zone"),
            entry(topologyKey="topology.kubernetes.io/zone"),
        ),
        "would cause TSC004",
    ),
    "TSC011: a field without a known name": LeftCase(
        "TSC011", listed(entry(namespaces="[a]")), "what is intended cannot be known"
    ),
    "TSC011: a list whose right name is written as well": LeftCase(
        "TSC011",
        lines("topologySpreadConstraint: []\ntopologySpreadConstraints: []\n"),
        "topologySpreadConstraints is written as well: join the two",
    ),
    "TSC020: no node has the new label": LeftCase(
        "TSC020",
        listed(entry(topologyKey="failure-domain.beta.kubernetes.io/zone")),
        "would cause TSC103",
        cluster=NODES.replace("topology.kubernetes", "failure-domain.beta.kubernetes"),
    ),
    "TSC103: like no label": LeftCase(
        "TSC103", listed(entry(topologyKey="building")), "no label of the nodes", cluster=NODES
    ),
    "TSC103: on some nodes": LeftCase(
        "TSC103",
        listed(entry(topologyKey="topology.kubernetes.io/zone")),
        "label the other node",
        cluster=NODES.replace("topology.kubernetes.io/zone: zone-a, ", ""),
    ),
    "TSC119: a version without matchLabelKeys": LeftCase(
        "TSC119",
        listed(
            entry(topologyKey="topology.kubernetes.io/zone"),
            entry(topologyKey="kubernetes.io/hostname"),
        ),
        "let one pod be missing during a rollout: maxUnavailable: 1",
        cluster=UNEVEN,
        version=Version(1, 24),
    ),
    "TSC119: a selector of the revision": LeftCase(
        "TSC119",
        listed(
            entry(
                topologyKey="topology.kubernetes.io/zone",
                labelSelector="{matchExpressions: [{key: pod-template-hash, operator: Exists}]}",
            ),
            entry(topologyKey="kubernetes.io/hostname"),
        ),
        "move pod-template-hash from labelSelector to matchLabelKeys",
        cluster=UNEVEN,
    ),
    "TSC104: not requested": LeftCase(
        "TSC104",
        listed(entry(topologyKey="topology.kubernetes.io/zone", minDomains="5")),
        "--rules TSC104 applies it",
        cluster=NODES.rpartition("---")[0],  # two zones for three replicas
        named=False,
    ),
    "TSC105: fewer domains than minDomains would be left": LeftCase(
        "TSC105",
        listed(entry(topologyKey="topology.kubernetes.io/zone", minDomains="3")),
        "--rules TSC105 applies it",
        cluster=TAINTED_ZONE,
        named=False,
    ),
    "TSC105: fewer domains, beside a constraint that the API refuses": LeftCase(
        "TSC105",
        listed(
            entry(topologyKey="topology.kubernetes.io/zone", minDomains="3"),
            entry(topologyKey="b", maxSkew="0"),
        ),
        "first correct what the API refuses",
        cluster=TAINTED_ZONE,
    ),
    "TSC107: pods of another workload count as well": LeftCase(
        "TSC107",
        listed(entry()),
        "it would no longer count the pods of Deployment/cache",
        labels="{app: web, shard: a}",
        cluster=deployment("", "{app: web, shard: b}").replace("name: web,", "name: cache,"),
    ),
    "TSC111: the whole list": LeftCase(
        "TSC111", listed(entry()), "the whole list", version=Version(1, 16)
    ),
    "TSC112: beside a constraint that the API refuses": LeftCase(
        "TSC112",
        listed(entry(maxSkew="9"), entry(topologyKey="b", maxSkew="0")),
        "first correct what the API refuses",
    ),
    "TSC112: not requested": LeftCase(
        "TSC112", listed(entry(maxSkew="9")), "--rules TSC112 applies it", named=False
    ),
    "a value of another type": LeftCase(
        "FieldValueTypeInvalid", listed(entry(maxSkew='"one"')), "corrected by hand"
    ),
}


@pytest.mark.parametrize("case", LEFT.values(), ids=LEFT.keys())
def test_what_a_machine_cannot_decide_is_left_with_its_reason(case: LeftCase) -> None:
    assert_left(case)


def test_a_list_is_left_if_its_object_is_not_written() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\ntopologySpreadConstraints: []\n"

    outcome = run_fix(pod, options("TSC011"))

    assert reasons(outcome.left) == {"TSC011": "spec has to be written first"}


def test_a_list_is_left_if_several_pod_templates_may_be_meant() -> None:
    job = "{name: %s, template: {spec: {template: {spec: {containers: []}}}}}"
    jobs = (
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec:\n"
        f"  replicatedJobs: [{job % 'a'}, {job % 'b'}]\n  topologySpreadConstraints: []\n"
    )

    outcome = run_fix(jobs, options("TSC011"))

    assert reasons(outcome.left) == {"TSC011": "which pod template is intended cannot be known"}


WITH_DISKS = """---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disks}
provisioner: ebs.csi.aws.com
"""
POD_WITH_A_DISK = """---
apiVersion: v1
kind: Pod
metadata:
  name: web-%s
  namespace: shop
  labels: {app: web}
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: web, controller: true}]
spec: {nodeName: %s, containers: []}
"""


def test_a_rollout_that_volumes_stop_is_left() -> None:
    claims = "volumeClaimTemplates: [{metadata: {name: d}, spec: {storageClassName: disks}}]"
    constraints = lines(listed(entry(topologyKey="topology.kubernetes.io/zone")))
    before = deployment(constraints).replace("Deployment", "StatefulSet")
    before = before.replace("  replicas: 3\n", f"  replicas: 3\n  {claims}\n")
    pods = "".join(POD_WITH_A_DISK % pair for pair in enumerate(("a1", "a2", "a3")))

    outcome = run_fix(before, options("TSC119"), f"{UNEVEN}{WITH_DISKS}{pods}")

    assert reasons(outcome.left)["TSC119"].startswith("a volume of a zone keeps its pod there")
    assert not outcome.fixed


THREE_ZONES = "".join(
    f"---\napiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: "
    f"{{topology.kubernetes.io/zone: {name}, kubernetes.io/hostname: {name}}}}}\n"
    for name in ("a1", "b1", "c1")
)
TEAM, NARROWED = "{matchLabels: {team: x}}", "{matchLabels: {team: x, app: web}}"
OTHERS = POD_WITH_A_DISK.replace("web", "api").replace("app: api", "app: api, team: x")
OWN = POD_WITH_A_DISK.replace("app: web", "app: web, team: x")


@pytest.mark.parametrize("named", [True, False])
def test_a_selector_of_a_rollout_that_others_stop_is_narrowed_on_request(*, named: bool) -> None:
    claims = "volumeClaimTemplates: [{metadata: {name: d}, spec: {storageClassName: disks}}]"
    constraint = entry(topologyKey="topology.kubernetes.io/zone", labelSelector=TEAM)
    before = deployment(lines(listed(constraint)), "{app: web, team: x}")
    before = before.replace("Deployment", "StatefulSet")
    before = before.replace("  replicas: 3\n", f"  replicas: 3\n  {claims}\n")
    pods = [OWN % pair for pair in enumerate(("a1", "b1", "c1"))]
    pods += [OTHERS % pair for pair in enumerate(("a1", "a1", "b1"))]
    facts = f"{THREE_ZONES}{WITH_DISKS}{''.join(pods)}"

    outcome = run_fix(before, options(*["TSC119"] * named), facts)

    expected = before.replace(TEAM, NARROWED) if named else before
    assert outcome.texts["web.yaml"] == expected
    left = reasons(outcome.left).get("TSC119", "")
    assert ("--rules TSC119 applies it" in left) is not named


@pytest.mark.parametrize("keys", ["[controller-revision-hash]", "[tier, controller-revision-hash]"])
def test_revisions_of_pods_that_return_to_their_volumes_are_counted_together(keys: str) -> None:
    claims = "volumeClaimTemplates: [{metadata: {name: d}, spec: {storageClassName: disks}}]"
    labels = "{app: web, tier: x}"
    constraint = entry(topologyKey="topology.kubernetes.io/zone", matchLabelKeys=keys)
    before = deployment(lines(listed(constraint)), labels, replicas=4)
    before = before.replace("Deployment", "StatefulSet")
    before = before.replace("  replicas: 4\n", f"  replicas: 4\n  {claims}\n")
    own = "tier: x, controller-revision-hash: old, statefulset.kubernetes.io/pod-name"
    pods = "".join(
        POD_WITH_A_DISK.replace("app: web}", f"app: web, {own}: web-{at}}}") % (at, where)
        for at, where in enumerate(("b1", "b1", "a1", "a1"))
    )
    nodes = THREE_ZONES[: THREE_ZONES.rindex("---")]

    outcome = run_fix(before, options("TSC119"), f"{nodes}{WITH_DISKS}{pods}")

    assert [one.rule for one in outcome.fixed] == ["TSC119"]
    assert "controller-revision-hash" not in outcome.texts["web.yaml"]


def test_only_the_constraint_that_stops_a_rollout_is_changed() -> None:
    """A second hard constraint, which counts the revisions together, is left as it is."""
    claims = "volumeClaimTemplates: [{metadata: {name: d}, spec: {storageClassName: disks}}]"
    keys = {"labelSelector": "{}", "matchLabelKeys": "[app, controller-revision-hash]"}
    constraints = listed(
        entry(topologyKey="topology.kubernetes.io/zone", **keys),
        entry(topologyKey="kubernetes.io/hostname", maxSkew="5"),
    )
    before = deployment(lines(constraints), replicas=5).replace("Deployment", "StatefulSet")
    before = before.replace("  replicas: 5\n", f"  replicas: 5\n  {claims}\n")
    added = "app: web, controller-revision-hash: web-1, apps.kubernetes.io/pod-index: '%s'"
    pods = "".join(
        POD_WITH_A_DISK.replace("app: web", added) % (index, index, node)
        for index, node in enumerate(("a1", "b1", "c1", "c1", "a1"))
    )

    outcome = run_fix(before, options("TSC119"), f"{THREE_ZONES}{WITH_DISKS}{pods}")

    expected = before.replace("[app, controller-revision-hash]", "[app]")
    assert outcome.texts["web.yaml"] == expected
