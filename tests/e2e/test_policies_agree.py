"""Many SpreadPolicies at once: servers and ``config check`` give a pod the same defaults."""

import json
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
import yaml

from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.e2e.objects import constraints, controlled_by, rounds, service, workload
from tests.e2e.replica import Registered, Replica, by_url
from tests.e2e.spreadpolicies import defined, spread_policy
from webhook.__main__ import main
from webhook.cli.config import _find_example
from webhook.cli.inputs.policy import read_policy
from webhook.cluster.facts import Cluster
from webhook.cluster.manifests import fill
from webhook.config.policyobjects import check_spread_policy, read_spread_policies
from webhook.config.spreadpolicies import add_policies
from webhook.manifests import Document, parse
from webhook.policy.api.versions import parse_version
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION
from webhook.server.enforcement import PROFILES_NAMED

POLICIES = 200
PODS = rounds(150, 2000)
CONFIG = """
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles:
- name: of-file
  match: {objectSelector: {matchLabels: {app: file}}}
  defaultConstraints:
  - {maxSkew: 9, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
"""
HOOKED = {"evenspread.test/policies": "agree", "tier": "prod"}
KEYS = ("kubernetes.io/hostname", "topology.kubernetes.io/zone", "rack")
ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
LABELS: dict[str, tuple[str, ...]] = {
    "app": (*"abcdefgh", "file"),
    "team": ("red", "green", "blue"),
    "stage": ("1", "2", "3"),
}
OWNERS = ("ReplicaSet", "StatefulSet")


def some_labels(rng: Random, chance: float) -> dict[str, str]:
    return {key: rng.choice(values) for key, values in LABELS.items() if rng.random() < chance}


def some_expression(rng: Random) -> Json:
    key = rng.choice([*LABELS, "none"])
    operator = rng.choice(("In", "NotIn", "Exists", "DoesNotExist"))
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    values = LABELS.get(key, ("v",))
    return {"key": key, "operator": operator, "values": [rng.choice(values)]}


def some_constraint(rng: Random, key: str, action: str) -> Json:
    made: Json = {"maxSkew": rng.randint(1, 5), "topologyKey": key, "whenUnsatisfiable": action}
    if action == "DoNotSchedule" and rng.random() < 0.3:
        made["minDomains"] = rng.randint(1, 5)
    if rng.random() < 0.3:
        made["nodeTaintsPolicy"] = rng.choice(("Honor", "Ignore"))
    if rng.random() < 0.2:
        made["nodeAffinityPolicy"] = "Honor" if action == "DoNotSchedule" else "Ignore"
    if rng.random() < 0.2:
        made["matchLabelKeys"] = ["pod-template-hash"]
    return made


def some_spec(rng: Random) -> Json:
    """A spec that matches few pods, so that many policies apply to some."""
    match: Json = {"objectSelector": {"matchLabels": some_labels(rng, 0.7)}}
    if rng.random() < 0.4:
        match["objectSelector"]["matchExpressions"] = [some_expression(rng)]
    if rng.random() < 0.3:
        match["namespaceSelector"] = {"matchLabels": {"tier": rng.choice(("prod", "test"))}}
    if rng.random() < 0.4:
        match["ownerKinds"] = rng.sample((*OWNERS, "Job"), rng.randint(1, 2))
    if rng.random() < 0.2:
        match["schedulerNames"] = ["other"]
    pairs = rng.sample([(key, action) for key in KEYS for action in ACTIONS], rng.randint(0, 3))
    spec: Json = {"defaultConstraints": [some_constraint(rng, *pair) for pair in pairs]}
    options = {
        "order": rng.randint(-3, 3),
        "match": match,
        "merge": rng.choice(("IfEmpty", "PerTopologyKey")),
        "completeSelectors": rng.random() < 0.5,
        "mode": "recommend" if rng.random() < 0.1 else "apply",
        "rules": {rng.choice(list(DEFAULT_ACTIONS)): {"action": rng.choice(("off", "audit"))}},
    }
    return {**spec, **{k: v for k, v in options.items() if k == "match" or rng.random() < 0.8}}


def some_pod(rng: Random, namespace: str, owners: list[Json]) -> Json:
    spec: dict[str, Any] = {"schedulerName": "other"} if rng.random() < 0.2 else {}
    if rng.random() < 0.4:
        selector = {"labelSelector": {"matchLabels": {"all": "yes"}}} if rng.random() < 0.5 else {}
        own = some_constraint(rng, rng.choice(KEYS), rng.choice(ACTIONS))
        own.pop("matchLabelKeys", None)  # needs a selector
        spec["topologySpreadConstraints"] = [{**own, **selector}]
    labels = {"all": "yes", **some_labels(rng, 0.8)}
    pod = workload("Pod", "web", namespace, labels, **spec)
    if rng.random() < 0.7:
        pod["metadata"]["ownerReferences"] = [controlled_by(rng.choice(owners))]
    return pod


@pytest.fixture(scope="module")
def namespace(control_plane: ControlPlane) -> str:
    made = control_plane.create_namespace(HOOKED)
    control_plane.api.create(service("all", made, {"all": "yes"}))
    return made


@pytest.fixture(scope="module")
def owners(control_plane: ControlPlane, namespace: str) -> list[Json]:
    """Controllers without pods of their own."""
    made = []
    for kind in OWNERS:
        obj = workload(kind, kind.lower(), namespace, {"all": "yes"})
        obj["spec"]["replicas"] = 0
        made.append(control_plane.api.create(obj))
    return made


@pytest.fixture(scope="module")
def policies() -> list[Json]:
    rng = Random(23)
    return [spread_policy(f"p{number}", **some_spec(rng)) for number in range(POLICIES)]


@pytest.fixture(scope="module")
def replica(
    control_plane: ControlPlane,
    namespace: str,
    policies: list[Json],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Replica]:
    """A server that knows all policies."""
    folder, kubeconfig = tmp_path_factory.mktemp("agree"), control_plane.apiserver.kubeconfig
    with defined(control_plane):
        for policy in policies:
            control_plane.api.create(policy)
        with (
            Replica(folder, kubeconfig, CONFIG, namespace=namespace) as started,
            Registered(control_plane, by_url(started.wait(), "agree", HOOKED)),
        ):
            yield started


def documents(*objects: Json) -> list[Document]:
    found = parse(yaml.safe_dump_all(objects), "objects.yaml")
    return [item for item in found if isinstance(item, Document)]


def test_the_order_in_force_is_that_of_config_check(
    replica: Replica,
    policies: list[Json],
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = replica.folder / "policies.yaml"
    file.write_text(yaml.safe_dump_all(policies))

    code = main(["config", "check", "--config", str(replica.config), "-f", str(file), "-o", "json"])

    shown = json.loads(capsys.readouterr().out)
    (line,) = [line for line in replica.lines if line["event"] == "policies"]
    assert (code, line["number"]) == (0, POLICIES)
    names = [profile["name"] for profile in shown["profiles"]]
    assert ", ".join([*names[:PROFILES_NAMED], "..."]) == line["profiles"]


def test_the_stored_policies_are_those_of_the_manifests(
    control_plane: ControlPlane, replica: Replica, policies: list[Json]
) -> None:
    stored = control_plane.api.items("evenspread.io/v1alpha1", "SpreadPolicy")

    read = read_spread_policies(documents(*policies))
    assert {policy.name: policy for policy in map(check_spread_policy, stored)} == read


def test_pods_get_the_defaults_that_config_check_shows(
    control_plane: ControlPlane,
    replica: Replica,
    namespace: str,
    owners: list[Json],
    policies: list[Json],
) -> None:
    api, rng = control_plane.api, Random(81)
    version = str(parse_version(api.call("GET", "/version")["gitVersion"]))
    requested = read_policy(
        kube_version=version, feature_gates="", allow_locked_gates=False, config=str(replica.config)
    )
    found = add_policies(requested.configuration, read_spread_policies(documents(*policies)))
    policy = requested._replace(configuration=found).policy
    facts, known = Cluster(), api.call("GET", f"/api/v1/namespaces/{namespace}")
    services = api.items("v1", "Service", namespace)
    assert not fill(facts, documents({**known, "apiVersion": "v1", "kind": "Namespace"}))
    assert not fill(facts, documents(*services, *owners), namespace=namespace)

    applied = Counter[str]()
    for _ in range(PODS):
        pod = some_pod(rng, namespace, owners)
        reply = api.request("POST", api.collection_of(pod), pod, query={"dryRun": "All"})
        assert reply.status == 201, reply.body
        example = _find_example(policy, facts, documents(pod))
        assert example is not None
        written = reply.body["metadata"].get("annotations", {}).get(DEFAULTS_ANNOTATION)
        profile = json.loads(written)["profile"] if written else ""
        adds = bool(example.injection.entries) and not example.injection.recommended
        assert profile == (example.injection.profile if adds else "")
        given = [one for one in constraints(reply.body) if not is_own(one, pod)]
        assert given == (example.constraints if adds else [])
        applied[profile] += 1

    print(f"{PODS} pods, by {len(applied)} profiles: {applied.most_common(5)}")
    assert len(applied) > 10


def is_own(constraint: Json, pod: Json) -> bool:
    """Whether a constraint is one of the pod, whose selector the server may have completed."""
    pair = ("topologyKey", "whenUnsatisfiable")
    return any(all(own[key] == constraint[key] for key in pair) for own in constraints(pod))
