import os
from datetime import timedelta
from typing import Any

import pytest

from webhook.config.settings import Settings, read_settings, setting_table
from webhook.errors import CombinedConfigError


def test_defaults_are_those_of_a_server_in_a_cluster() -> None:
    settings = read_settings({})

    assert settings.port == 8443
    assert settings.health_port == 8080
    assert settings.address == "::"


def test_standalone_listens_to_this_machine_only() -> None:
    assert read_settings({"standalone": True}).address == "127.0.0.1"
    assert read_settings({"standalone": True, "bind": "::1"}).address == "::1"


def test_a_flag_overrides_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENSPREAD_PORT", "1")
    monkeypatch.setenv("EVENSPREAD_HEALTH_PORT", "2")
    monkeypatch.setenv("EVENSPREAD_STANDALONE", "true")

    settings = read_settings({"port": 3})

    assert (settings.port, settings.health_port, settings.standalone) == (3, 2, True)


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENSPREAD_PORT", "")

    assert read_settings({}).port == 8443


def test_the_service_link_of_a_kubelet_is_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENSPREAD_PORT", "tcp://10.0.0.1:443")

    assert read_settings({}).port == 8443


def test_audits_need_an_interval() -> None:
    assert read_settings({}).audit_pause is None
    assert read_settings({"audit_interval": "10m"}).audit_pause == timedelta(minutes=10)
    assert read_settings({"audit_memory": "64Mi"}).audit_bytes == 64 * 2**20


@pytest.mark.parametrize(
    ("written", "paths"),
    [
        ([], ()),
        (["nodes.yaml"], ("nodes.yaml",)),
        (["nodes.yaml", "", "pods"], ("nodes.yaml", "pods")),
    ],
    ids=["nothing", "one path", "several paths, one empty"],
)
def test_paths_of_facts_are_separated_as_in_path(
    written: list[str], paths: tuple[str, ...]
) -> None:
    assert read_settings({"facts": os.pathsep.join(written)}).facts_paths == paths


def test_a_version_is_kept_as_its_minor() -> None:
    assert read_settings({"kube_version": "v1.33.5-eks-113cf36"}).kube_version == "1.33"


ERRORS: dict[str, tuple[dict[str, Any], str]] = {
    "a port beyond the last": (
        {"port": 65536},
        "--port: must be a port from 0 to 65535, not 65536",
    ),
    "a port in words": (
        {"health_port": "http"},
        "--health-port: must be a port from 0 to 65535, not 'http'",
    ),
    "an unknown word": (
        {"log_format": "text"},
        "--log-format: cannot be 'text': write json or console",
    ),
    "a boolean in other words": (
        {"standalone": "maybe"},
        "--standalone: must be true or false, not 'maybe'",
    ),
    "no version": (
        {"kube_version": "latest"},
        "--kube-version: 'latest' is no Kubernetes version: write 1.16 or later, as in 1.33",
    ),
    "an interval without a unit": (
        {"audit_interval": "600"},
        "--audit-interval: must be a duration of at least 1s, as 10m, not '600'",
    ),
    "an interval of nothing": (
        {"audit_interval": "0s"},
        "--audit-interval: must be a duration of at least 1s, as 10m, not '0s'",
    ),
    "memory of another unit": (
        {"audit_memory": "1Gi"},
        "--audit-memory: must be a number of MiB, as 96Mi, not '1Gi'",
    ),
    "an unknown API group of reports": (
        {"policy_reports": "kyverno.io"},
        "--policy-reports: cannot be 'kyverno.io': write none, wgpolicyk8s.io or openreports.io",
    ),
    "a lifetime of an unknown certificate": (
        {"test_lifetimes": "leave=10s"},
        "--test-lifetimes: 'leave' is no certificate: write leaf or ca, as in leaf=10s,ca=1h",
    ),
    "a lifetime without a unit": (
        {"test_lifetimes": "leaf=10s,ca=3600"},
        "--test-lifetimes: ca cannot last '3600': write a duration, as in ca=1h",
    ),
    "a lifetime of no time": (
        {"test_lifetimes": "leaf=0s"},
        "--test-lifetimes: leaf cannot last '0s': write a duration, as in leaf=1h",
    ),
    "a list for a text": ({"bind": ["::"]}, "--bind: cannot be a list"),
}


@pytest.mark.parametrize(("flags", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_an_error_names_its_flag(flags: dict[str, Any], message: str) -> None:
    with pytest.raises(CombinedConfigError) as caught:
        read_settings(flags)

    assert str(caught.value) == message


def test_an_error_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENSPREAD_LOG_LEVEL", "loud")

    with pytest.raises(CombinedConfigError, match=r"EVENSPREAD_LOG_LEVEL: cannot be 'loud'"):
        read_settings({})


def test_every_setting_has_a_row_with_its_reason() -> None:
    table = {row.flag: row for row in setting_table()}

    assert len(table) == len(Settings.model_fields)
    assert all(row.reason for row in table.values())
    assert table["--log-format"].kind == "json | console"
    assert table["--port"][1:4] == ("EVENSPREAD_PORT", "number", "8443")
    assert table["--standalone"][2:4] == ("yes or no", "false")


# flags, the certificate, the shortest CA overlap, whether pods are validated
DERIVED: dict[str, tuple[dict[str, Any], str, int, bool | None]] = {
    "defaults": ({}, "self", 60, None),
    "standalone": ({"standalone": True}, "standalone", 60, None),
    "files": ({"tls": "files"}, "files", 60, None),
    "test lifetimes": ({"test_lifetimes": "leaf=10s"}, "self", 1, None),
    "pods that are validated": ({"validate_pods": "true"}, "self", 60, True),
    "pods that are not validated": ({"validate_pods": "false"}, "self", 60, False),
}


@pytest.mark.parametrize(
    ("flags", "certificate", "overlap", "validates"), DERIVED.values(), ids=DERIVED.keys()
)
def test_some_settings_follow_from_others(
    flags: dict[str, Any], certificate: str, overlap: int, validates: bool | None
) -> None:
    settings = read_settings(flags)

    assert settings.certificate == certificate
    assert settings.least_overlap == timedelta(seconds=overlap)
    assert settings.validates_pods is validates
