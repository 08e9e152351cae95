"""The ConfigMap is read by the server's own reader and with its settings."""

import pytest

from webhook.doctor.configmap import list_owner_kinds, read_config_map
from webhook.doctor.objects import ConfigMap
from webhook.errors import ConfigError
from webhook.policy.api.gates import Gate
from webhook.policy.model import GroupKind

HEAD = "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
FLEET = (
    f"{HEAD}ownerSelectors: [{{group: example.com, kind: Fleet, selectorPath: spec.selector}}]\n"
)
KEYS = "MatchLabelKeysInPodTopologySpread"


def test_gates_of_flags_are_in_force() -> None:
    settings = {"feature-gates": f"{KEYS}=false,{KEYS}SelectorMerge=false", "config": "/etc/a.yaml"}

    found = read_config_map(ConfigMap({"a.yaml": HEAD}), settings)

    assert Gate(KEYS) not in found.gates


@pytest.mark.parametrize(("data", "entries"), [({"b.yaml": HEAD}, "b.yaml"), ({}, "nothing")])
def test_a_missing_entry_is_an_error_that_names_the_others(
    data: dict[str, str], entries: str
) -> None:
    with pytest.raises(ConfigError, match=f"not in the ConfigMap, which has {entries}"):
        read_config_map(ConfigMap(data), {})


@pytest.mark.parametrize(
    ("config_map", "configured"),
    [
        (ConfigMap({"config.yaml": FLEET}), True),
        (ConfigMap({"config.yaml": "kind: Odd"}), False),
        (None, False),
    ],
    ids=["a configuration", "an unusable configuration", "no ConfigMap"],
)
def test_owner_kinds_are_those_of_the_configuration(
    config_map: ConfigMap | None, configured: bool
) -> None:
    assert (GroupKind("example.com", "Fleet") in list_owner_kinds(config_map)) is configured
