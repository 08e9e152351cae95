"""Hypothesis strategies: arbitrary input of clients, and valid values from small alphabets."""

import json
from dataclasses import replace
from itertools import compress
from typing import Any

import msgspec
from hypothesis import strategies as st

from tests.build import CONTROLLERS, NAMESPACE, FakeFacts, Json, gates
from webhook.policy import render
from webhook.policy.api.gates import Gate, Gates
from webhook.policy.api.versions import NEWEST_VERSION, Version
from webhook.policy.defaulting import provenance
from webhook.policy.defaulting.profiles import (
    SYSTEM_CONSTRAINTS,
    FieldDefaults,
    Merge,
    Mode,
    Policy,
    Profile,
    ScaleDown,
)
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION
from webhook.policy.facts import ServiceSelector
from webhook.policy.model import (
    HOSTNAME,
    ZONE,
    Constraint,
    LabelSelector,
    LabelSelectorRequirement,
    Node,
)
from webhook.policy.workloads import Workload

int32s = st.integers(-(2**31), 2**31 - 1)

# A small alphabet makes selectors match labels.
keys = st.sampled_from(["app", "env", "tier", "example.io/part"])
values = st.sampled_from(["", "a", "b", "web"])
labels = st.dictionaries(keys, values, max_size=4)
topology_keys = st.sampled_from([ZONE, HOSTNAME, "rack"])
actions = st.sampled_from(["DoNotSchedule", "ScheduleAnyway"])
node_policies = st.none() | st.sampled_from(["Honor", "Ignore"])

requirements = st.builds(
    LabelSelectorRequirement,
    key=keys,
    operator=st.sampled_from(["In", "NotIn"]),
    values=st.lists(values, min_size=1, max_size=3).map(tuple),
) | st.builds(
    LabelSelectorRequirement, key=keys, operator=st.sampled_from(["Exists", "DoesNotExist"])
)
selectors = st.builds(
    LabelSelector,
    match_labels=labels,
    match_expressions=st.lists(requirements, max_size=3).map(tuple),
)

any_keys = keys | st.text()
any_requirements = st.builds(
    LabelSelectorRequirement,
    key=any_keys,
    operator=st.sampled_from(["", "In", "NotIn", "Exists", "DoesNotExist"]) | st.text(),
    values=st.lists(values | st.text(), max_size=3).map(tuple),
)
any_selectors = st.builds(
    LabelSelector,
    match_labels=st.dictionaries(any_keys, values | st.text(), max_size=3),
    match_expressions=st.lists(any_requirements, max_size=3).map(tuple),
)
any_constraints = st.builds(
    Constraint,
    max_skew=int32s | st.integers(-1, 2),
    topology_key=topology_keys | st.text(),
    when_unsatisfiable=actions | st.text(),
    label_selector=st.none() | any_selectors,
    min_domains=st.none() | int32s | st.integers(-1, 2),
    node_affinity_policy=node_policies | st.text(),
    node_taints_policy=node_policies | st.text(),
    match_label_keys=st.lists(any_keys, max_size=3).map(tuple),
)
any_lists = st.lists(any_constraints, max_size=4).map(tuple)


@st.composite
def defaults(draw: st.DrawFn, min_size: int = 0) -> tuple[Constraint, ...]:
    """Draw the constraints of a profile, valid as a configuration has to be."""
    some_pairs = st.tuples(topology_keys, actions)
    pairs = draw(st.lists(some_pairs, min_size=min_size, max_size=3, unique=True))
    return tuple(
        Constraint(
            max_skew=draw(st.integers(1, 5)),
            topology_key=key,
            when_unsatisfiable=action,
            min_domains=draw(st.none() | st.integers(1, 3)) if action == "DoNotSchedule" else None,
            node_affinity_policy=draw(st.sampled_from([None, "Honor"])),
            node_taints_policy=draw(node_policies),
            match_label_keys=tuple(draw(st.lists(keys, max_size=2, unique=True))),
        )
        for key, action in pairs
    )


system_profiles = st.builds(
    Profile,
    name=st.just("system"),
    merge=st.sampled_from(Merge),
    constraints=st.just(SYSTEM_CONSTRAINTS),
    system=st.just(value=True),
)
orderly_profiles = system_profiles | st.builds(
    Profile,
    name=st.sampled_from(["cluster", "größe"]),
    merge=st.sampled_from(Merge),
    complete_selectors=st.booleans(),
    scale_down=st.sampled_from(ScaleDown),
    gangs=st.booleans(),
    constraints=defaults(min_size=1),
)
profiles = system_profiles | st.builds(
    Profile,
    name=st.sampled_from(["cluster", "größe"]),
    namespace_selector=st.none() | selectors,
    object_selector=st.none() | selectors,
    owner_kinds=st.none() | st.just(frozenset({"ReplicaSet", "StatefulSet"})),
    merge=st.sampled_from(Merge),
    complete_selectors=st.booleans(),
    scale_down=st.sampled_from(ScaleDown),
    gangs=st.booleans(),
    constraints=defaults(),
)


@st.composite
def some_gates(draw: st.DrawFn) -> Gates:
    """Draw a version and the gates of a server that may hold any field back."""
    version = Version(1, draw(st.integers(27, NEWEST_VERSION.minor)))
    names = [Gate.EVEN_PODS_SPREAD, Gate.MIN_DOMAINS, Gate.NODE_INCLUSION_POLICY, Gate.DEFAULTS]
    requested = {str(name): False for name in draw(st.sets(st.sampled_from(names)))}
    if draw(st.booleans()):
        requested[Gate.SELECTOR_MERGE] = False
        if draw(st.booleans()):
            requested[Gate.MATCH_LABEL_KEYS] = False
    return gates(version, **requested)


orderly_policies = st.builds(
    Policy,
    gates=st.sampled_from(
        [
            gates(),
            gates(MinDomainsInPodTopologySpread=False),
            gates(NodeInclusionPolicyInPodTopologySpread=False),
            gates(Version(1, 33)),
        ]
    ),
    profiles=orderly_profiles.map(lambda profile: (profile,)),
    mode=st.just(Mode.APPLY),
    field_defaults=st.sampled_from(FieldDefaults),
)
policies = st.builds(
    Policy,
    gates=st.just(gates()) | some_gates(),
    profiles=st.lists(profiles, min_size=1, max_size=2).map(tuple),
    mode=st.just(Mode.APPLY),
    field_defaults=st.sampled_from(FieldDefaults),
)

some_pairs = st.dictionaries(keys, values, max_size=2)
services = st.lists(st.just({"app": "web"}) | some_pairs, max_size=3).map(
    lambda found: [ServiceSelector(f"s{i}", pairs) for i, pairs in enumerate(found)]
)
nodes = st.lists(
    st.builds(
        Node,
        name=st.just("n"),
        labels=st.dictionaries(topology_keys, values, max_size=3),
        unschedulable=st.booleans(),
    ),
    max_size=3,
)


@st.composite
def clusters(draw: st.DrawFn) -> FakeFacts:
    """Draw a cluster whose owners all have the name ``web``."""
    owners = {
        (NAMESPACE, CONTROLLERS[kind], kind, "web"): draw(selectors)
        for kind in draw(st.sets(st.sampled_from(["ReplicaSet", "StatefulSet"])))
    }
    if draw(st.booleans()):
        pairs = draw(st.dictionaries(keys, values, max_size=2))
        owners[NAMESPACE, "v1", "ReplicationController", "web"] = LabelSelector(pairs)
    return FakeFacts(
        services_of={NAMESPACE: draw(services)},
        owners=owners,
        namespaces={NAMESPACE: draw(labels)} if draw(st.booleans()) else {},
        nodes=draw(nodes),
    )


def nullable(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw null instead sometimes."""
    return st.none() | strategy


json_requirements = st.fixed_dictionaries(
    {},
    optional={
        "key": nullable(keys),
        "operator": nullable(st.sampled_from(["In", "NotIn", "Exists", "x"])),
        "values": nullable(st.lists(nullable(values), max_size=2)),
    },
)
json_selectors = st.fixed_dictionaries(
    {},
    optional={
        "matchLabels": nullable(st.dictionaries(keys, nullable(values), max_size=2)),
        "matchExpressions": nullable(st.lists(nullable(json_requirements), max_size=2)),
    },
)
json_constraints = st.fixed_dictionaries(
    {},
    optional={
        "maxSkew": nullable(st.integers(0, 2)),
        "topologyKey": nullable(topology_keys),
        "whenUnsatisfiable": nullable(actions),
        "labelSelector": nullable(json_selectors),
        "minDomains": nullable(st.integers(0, 2)),
        "nodeAffinityPolicy": nullable(st.sampled_from(["Honor", "x"])),
        "nodeTaintsPolicy": nullable(st.sampled_from(["Honor", "x"])),
        "matchLabelKeys": nullable(st.lists(nullable(keys), max_size=2)),
        "unknown": st.just({"kept": [1]}),
    },
)
good_json_constraints = st.fixed_dictionaries(
    {
        "maxSkew": st.integers(1, 3),
        "topologyKey": topology_keys,
        "whenUnsatisfiable": st.sampled_from(["ScheduleAnyway", "DoNotSchedule", ""]),
    },
    optional={
        "labelSelector": nullable(st.sampled_from([{}, {"matchLabels": {"other": "x"}}])),
        "nodeTaintsPolicy": nullable(st.just("Honor")),
        "matchLabelKeys": nullable(
            st.lists(st.sampled_from(["app", "env"]), max_size=2, unique=True)
        ),
        "unknown": st.just({"kept": [1]}),
    },
)
good_json_lists = st.lists(
    good_json_constraints, min_size=1, max_size=3, unique_by=lambda entry: entry["topologyKey"]
)
json_lists = good_json_lists | st.lists(
    nullable(json_constraints | good_json_constraints), max_size=3
)
"""Constraint lists that are mostly valid, and lists that are mostly invalid."""

owner_references = st.builds(
    lambda kind, controller: {
        "apiVersion": CONTROLLERS[kind],
        "kind": kind,
        "name": "web",
        "controller": controller,
    },
    st.sampled_from(list(CONTROLLERS)),
    nullable(st.booleans()),
)

annotations = st.dictionaries(
    st.sampled_from(["a", "x/~y", "evenspread.io/defaults"]),
    nullable(st.text(max_size=8)),
    max_size=3,
)
metadata = st.fixed_dictionaries(
    {},
    optional={
        "name": nullable(st.just("web-1")),
        "labels": nullable(st.dictionaries(keys, nullable(values), max_size=3)),
        "annotations": nullable(annotations),
        "ownerReferences": nullable(st.lists(nullable(owner_references), max_size=2)),
    },
)
specs = st.fixed_dictionaries(
    {},
    optional={
        "nodeName": st.sampled_from([None, "", "node-1"]),
        "schedulerName": st.sampled_from([None, "", "default-scheduler", "other"]),
        "topologySpreadConstraints": nullable(json_lists),
        "containers": st.just([{"name": "main"}]),
    },
)


def _pod(metadata: Json | None, spec: Json | None) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


pods = st.builds(_pod, nullable(metadata), nullable(specs))
"""Pods that an API server could send, and many invalid ones."""

orderly_pods = st.builds(
    _pod,
    st.fixed_dictionaries(
        {"labels": st.sampled_from([{"app": "web"}, {"app": "web", "env": "a"}])},
        optional={
            "annotations": nullable(annotations),
            "ownerReferences": owner_references.map(lambda owner: [owner]),
        },
    ),
    st.fixed_dictionaries({"topologySpreadConstraints": nullable(good_json_lists)}),
)
"""Valid pods, which get defaults if they need any."""


@st.composite
def orderly_clusters(draw: st.DrawFn) -> FakeFacts:
    """Draw a cluster with a Service that selects every orderly pod."""
    known = draw(clusters())
    services = [*known.services_of[NAMESPACE], ServiceSelector("web", {"app": "web"})]
    return replace(known, services_of={NAMESPACE: services})


def has_constraints(obj: Json) -> bool:
    """Whether a pod has constraints."""
    return bool(obj["spec"]["topologySpreadConstraints"])


def claiming(obj: Json, claims: list[bool]) -> Json:
    """The pod with an annotation, true or forged, that claims some of its constraints."""
    found = msgspec.convert(obj, Workload).pod_template(())
    constraints = found.constraints if found else ()
    digests = [
        provenance.digest(render.encode(render.constraint(constraint)))
        for constraint in constraints
    ]
    claimed = ",".join(compress(digests, claims))
    provenance_value = {"profile": "p", "selectorFrom": [], "keys": [], "hash": claimed}
    if obj["metadata"] is None:
        return obj
    annotated = {
        **(obj["metadata"].get("annotations") or {}),
        DEFAULTS_ANNOTATION: json.dumps(provenance_value),
    }
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotated}}


claims = st.sampled_from([[True] * 3, [True, False, True], [False, True]])
claimed_pods = st.builds(claiming, orderly_pods.filter(has_constraints), claims)

situations = st.one_of(
    st.tuples(orderly_pods, orderly_policies, orderly_clusters()),
    st.tuples(claimed_pods, orderly_policies, orderly_clusters()),
    st.tuples(pods | st.builds(claiming, pods, claims), policies, clusters()),
)
"""A Pod, a policy and a cluster; in many of them defaults are injected."""
