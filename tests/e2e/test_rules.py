"""What a user of kubectl sees of each API rule, for a pod, a built-in and a custom workload."""

import json

import pytest

from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.e2e.objects import workload
from tests.e2e.replica import Replica

KINDS = {
    "Pod": "spec.topologySpreadConstraints",
    "Deployment": "spec.template.spec.topologySpreadConstraints",
    "Rollout": "spec.template.spec.topologySpreadConstraints",
}
"""Kind -> path of its constraints."""

GOOD: Json = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}

ONE_OF = 'supported values: "DoNotSchedule", "ScheduleAnyway"'

ONLY_HARD = "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"
WITH_VALUES = "must be specified when `operator` is 'In' or 'NotIn'"

# rule -> the constraints, and the message after the path of the list
BROKEN: dict[str, tuple[list[Json], str]] = {
    "TSC001": ([{"maxSkew": 0}], "[0].maxSkew: Invalid value: 0: must be greater than zero"),
    "TSC002": ([{"topologyKey": ""}], "[0].topologyKey: Required value: can not be empty"),
    "TSC003": (
        [{"whenUnsatisfiable": "Maybe"}],
        f'[0].whenUnsatisfiable: Unsupported value: "Maybe": {ONE_OF}',
    ),
    "TSC004": (
        [{}, {"maxSkew": 2}],
        '[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"',
    ),
    "TSC005": ([{"minDomains": 0}], "[0].minDomains: Invalid value: 0: must be greater than zero"),
    "TSC006": (
        [{"minDomains": 3, "whenUnsatisfiable": "ScheduleAnyway"}],
        f"[0].minDomains: Invalid value: 3: {ONLY_HARD}",
    ),
    "TSC007": (
        [{"nodeTaintsPolicy": "Sometimes"}],
        '[0].nodeTaintsPolicy: Unsupported value: "Sometimes": supported values: "Honor", "Ignore"',
    ),
    "TSC008": (
        [{"matchLabelKeys": ["app"], "labelSelector": None}],
        "[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set",
    ),
    "TSC009": (
        [{"labelSelector": {"matchExpressions": [{"key": "app", "operator": "In"}]}}],
        f"[0].labelSelector.matchExpressions[0].values: Required value: {WITH_VALUES}",
    ),
    "TSC010": (
        [{"topologyKey": f"rack-{i}"} for i in range(1001)],
        ": Too many: 1001: must have at most 1000 items",
    ),
}


def broken(kind: str, rule: str, namespace: str) -> Json:
    listed = [{**GOOD, **changes} for changes in BROKEN[rule][0]]
    return workload(kind, "web", namespace, {"app": "web"}, topologySpreadConstraints=listed)


@pytest.mark.parametrize("rule", BROKEN)
@pytest.mark.parametrize("kind", KINDS)
def test_kubectl_shows_which_field_breaks_a_rule(
    control_plane: ControlPlane, replica: Replica, shared: str, kind: str, rule: str
) -> None:
    before = replica.metric("rule_findings_total", rule=rule)

    done = control_plane.kubectl(
        "create", "-f", "-", stdin=json.dumps(broken(kind, rule, shared)), check=False
    )

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f'The {kind} "web" is invalid: {KINDS[kind]}{BROKEN[rule][1]}\n'
    assert replica.metric("rule_findings_total", rule=rule) == before + 1


def test_causes_name_each_field(control_plane: ControlPlane, shared: str) -> None:
    listed = [{**GOOD, "maxSkew": 0}, {**GOOD, "topologyKey": "", "minDomains": -1}]
    obj = workload("Rollout", "web", shared, {"app": "web"}, topologySpreadConstraints=listed)

    reply = control_plane.api.request("POST", control_plane.api.collection_of(obj), obj)

    at = KINDS["Rollout"]
    assert reply.status == 422
    assert [cause["field"] for cause in reply.body["details"]["causes"]] == [
        f"{at}[0].maxSkew",
        f"{at}[1].topologyKey",
        f"{at}[1].minDomains",
    ]
    assert reply.body["message"].startswith('admission webhook "mutate.evenspread.io" denied')
    assert "TSC001,TSC002,TSC005" in reply.body["message"]


def test_mended_objects_are_accepted(control_plane: ControlPlane, shared: str) -> None:
    for kind in KINDS:
        obj = workload(kind, "fixed", shared, {"app": "web"}, topologySpreadConstraints=[GOOD])
        done = control_plane.kubectl("create", "-f", "-", stdin=json.dumps(obj))
        assert done.stdout.endswith("/fixed created\n")
        control_plane.api.delete(obj)


TWICE = {**GOOD, "matchLabelKeys": ["app"]}
ADDED = {**GOOD, "matchLabelKeys": ["pod-template-hash"]}
ADDED["labelSelector"] = {"matchLabels": {"pod-template-hash": "6d4c"}}


@pytest.mark.parametrize("constraint", [TWICE, ADDED], ids=["of the template", "added"])
def test_kube_apiserver_accepts_a_template_and_refuses_its_pods(
    control_plane: ControlPlane, shared: str, constraint: Json
) -> None:
    labels = {"app": "web", "pod-template-hash": "6d4c"}
    alone = control_plane.create_namespace()
    hooked, deployment, pod = (
        workload(kind, "merged", namespace, given, topologySpreadConstraints=[constraint])
        for kind, namespace, given in (
            ("Deployment", shared, {"app": "web"}),
            ("Deployment", alone, {"app": "web"}),
            ("Pod", alone, labels),
        )
    )

    warned = control_plane.kubectl("create", "-f", "-", stdin=json.dumps(hooked))
    control_plane.api.create(deployment)
    refused = control_plane.api.request("POST", control_plane.api.collection_of(pod), pod)
    control_plane.api.delete(hooked)

    assert (
        f"Warning: TSC008 {KINDS['Deployment']}[0].matchLabelKeys[0]: Invalid value: "
        in warned.stderr
    )
    assert warned.stderr.count("TSC008") == 1
    (cause,) = refused.body["details"]["causes"]
    assert (refused.status, cause["field"]) == (422, f"{KINDS['Pod']}[0][0]")
