import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.config.configs import read
from webhook import config
from webhook.config.spread import CONFIGURATION_API_VERSION, CONFIGURATION_KIND
from webhook.errors import CombinedConfigError
from webhook.policy.api import rules
from webhook.policy.api.rules import ValidationOptions
from webhook.policy.model import LabelSelector

# fmt: off
KEYS = st.sampled_from(
    [
        "apiVersion", "kind", "mode", "profiles", "name", "match", "merge", "completeSelectors",
        "defaultConstraints", "exempt", "schedulerConfiguration", "namespaceSelector",
        "objectSelector", "matchLabels", "matchExpressions", "key", "operator", "values",
        "ownerKinds", "schedulerNames", "maxSkew", "topologyKey", "whenUnsatisfiable",
        "labelSelector", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy", "matchLabelKeys",
        "rules", "TSC101", "TSC001", "action", "exemptible", "featureGates", "AllBeta",
        "podTemplates", "ownerSelectors", "group", "path", "selectorPath", "caOverlap",
        "namespaces", "pluginConfig", "args", "defaultingType"
    ]
)
WORDS = st.sampled_from(
    [
        "apply", "deny", "List", "System", "DoNotSchedule", "ScheduleAnyway", "Honor", "In",
        "Exists", "PodTopologySpread", "10m", "two.yaml", "bad.yaml", "args.yaml",
        "kubescheduler.config.k8s.io/v1beta1", "PodTopologySpreadArgs", "spec.template"
    ]
)
# fmt: on
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=9), WORDS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(KEYS, st.text(max_size=3)), inner, max_size=5),
    ),
    max_leaves=20,
)
MEMBERS = st.dictionaries(KEYS, VALUES, max_size=6)
PROFILES = st.lists(MEMBERS, max_size=2)


def judged(text: str, *, scheduler: bool) -> str:
    """What is told of a text; empty if it loads. Anything but a mistake goes through."""
    try:
        if scheduler:
            config.check_scheduler(text, "x.yaml")
        else:
            config.check(text, "x.yaml", read)
    except CombinedConfigError as error:
        return str(error)
    return ""


@given(MEMBERS, st.one_of(VALUES, PROFILES), st.booleans())
@settings(max_examples=300)
def test_any_file_loads_or_is_told_what_is_wrong(
    members: dict[str, Any], profiles: Any, scheduler: bool
) -> None:
    head = ("kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration")
    ours = ("evenspread.io/v1alpha1", "SpreadConfiguration")
    api_version, kind = head if scheduler else ours
    value = members | {"apiVersion": api_version, "kind": kind, "profiles": profiles}

    told = judged(json.dumps(value), scheduler=scheduler)

    assert "Input should" not in told
    assert all(line for line in told.splitlines())


@given(st.one_of(st.text(), VALUES.map(json.dumps)), st.booleans())
def test_any_text_loads_or_is_told_what_is_wrong(text: str, scheduler: bool) -> None:
    assert "Input should" not in judged(text, scheduler=scheduler)


DEFAULTS = st.fixed_dictionaries(
    {},
    optional={
        "maxSkew": st.integers(-1, 3),
        "topologyKey": st.sampled_from(["", "zone", "rack", "a b", "kubernetes.io/hostname"]),
        "whenUnsatisfiable": st.sampled_from(["DoNotSchedule", "ScheduleAnyway", "Never"]),
        "minDomains": st.integers(-1, 3),
        "nodeAffinityPolicy": st.sampled_from(["Honor", "Ignore", "honor"]),
        "nodeTaintsPolicy": st.sampled_from(["Honor", "Ignore", ""]),
        "matchLabelKeys": st.lists(st.sampled_from(["version", "a b", "x/y/z"]), max_size=2),
    },
)


@given(st.lists(DEFAULTS, max_size=3), st.booleans(), st.booleans())
@settings(max_examples=300)
def test_what_is_accepted_is_valid_in_a_pod_that_has_a_selector(
    written: list[dict[str, Any]], scheduler: bool, merged: bool
) -> None:
    profile = {"name": "a", "defaultConstraints": written}
    ours = {
        "apiVersion": CONFIGURATION_API_VERSION,
        "kind": CONFIGURATION_KIND,
        "profiles": [profile],
    }
    args = {"defaultingType": "List", "defaultConstraints": written}
    try:
        checked = (
            config.check_scheduler(json.dumps(args), "x.yaml")
            if scheduler
            else config.check(json.dumps(ours), "x.yaml", read)
        )
    except CombinedConfigError:
        return

    selector = LabelSelector({"app": "web"})
    (loaded,) = checked.profiles
    injected = tuple(replace(each, label_selector=selector) for each in loaded.constraints)
    assert rules.check(injected, "", ValidationOptions(merged=merged)) == []
    assert len(injected) == len(written)
