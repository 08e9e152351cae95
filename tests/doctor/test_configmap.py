"""The ConfigMap is read by the server's own reader and with its settings."""

import pytest

from webhook.doctor.configmap import read_config_map, read_if_valid
from webhook.doctor.objects import ConfigMap
from webhook.errors import ConfigError
from webhook.policy.api.gates import Gate
from webhook.policy.api.versions import NEWEST_VERSION

HEAD = "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
KEYS = "MatchLabelKeysInPodTopologySpread"


def test_gates_of_flags_are_in_force() -> None:
    settings = {"feature-gates": f"{KEYS}=false,{KEYS}SelectorMerge=false", "config": "/etc/a.yaml"}

    found = read_config_map(ConfigMap({"a.yaml": HEAD}), settings)

    assert Gate(KEYS) not in found.gates


@pytest.mark.parametrize(
    ("settings", "kubernetes", "version"),
    [
        ({}, "v1.30.1", "1.30"),
        ({"kube-version": "1.29"}, "v1.30.1", "1.29"),
        ({}, "odd", str(NEWEST_VERSION)),
    ],
    ids=["of the API server", "of a flag", "the newest, as the other is invalid"],
)
def test_gates_have_the_defaults_of_a_version(
    settings: dict[str, str], kubernetes: str, version: str
) -> None:
    found = read_config_map(ConfigMap({"config.yaml": HEAD}), settings, kubernetes)

    assert str(found.gates.version) == version


@pytest.mark.parametrize(("data", "entries"), [({"b.yaml": HEAD}, "b.yaml"), ({}, "nothing")])
def test_a_missing_entry_is_an_error_that_names_the_others(
    data: dict[str, str], entries: str
) -> None:
    with pytest.raises(ConfigError, match=f"not in the ConfigMap, which has {entries}"):
        read_config_map(ConfigMap(data), {})


@pytest.mark.parametrize(
    ("config_map", "is_valid"),
    [
        (ConfigMap({"config.yaml": HEAD}), True),
        (ConfigMap({"config.yaml": "kind: Odd"}), False),
        (None, False),
    ],
    ids=["a configuration", "a configuration with errors", "no ConfigMap"],
)
def test_only_a_valid_configuration_is_read(config_map: ConfigMap | None, is_valid: bool) -> None:
    assert (read_if_valid(config_map, {}) is not None) is is_valid
