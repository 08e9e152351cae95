"""Metrics and readiness pages are read as Prometheus and the replicas write them."""

import math

import pytest

from webhook.doctor.metrics import read_failed_conditions, read_feature_gates, read_samples

SAMPLES: dict[str, tuple[str, dict[str, str], float]] = {
    "evenspread_config_valid 1.0": ("evenspread_config_valid", {}, 1),
    'evenspread_cache_age_seconds{kind="Node"} 12.5': (
        "evenspread_cache_age_seconds", {"kind": "Node"}, 12.5
    ),
    'evenspread_cache_age_seconds{kind="Node"} +Inf': (
        "evenspread_cache_age_seconds", {"kind": "Node"}, math.inf
    ),
    'evenspread_build_info{version="1}2",kubernetes="a,b"} 1.0': (
        "evenspread_build_info", {"version": "1}2", "kubernetes": "a,b"}, 1
    ),
    r'evenspread_build_info{version="a \"quoted\" \\ name"} 1.0': (
        "evenspread_build_info", {"version": 'a "quoted" \\ name'}, 1
    ),
}  # fmt: skip


@pytest.mark.parametrize("line", SAMPLES)
def test_a_sample_has_its_name_labels_and_value(line: str) -> None:
    name, labels, value = SAMPLES[line]

    (sample,) = read_samples(f"# HELP {name} Text.\n{line}\nother_metric 3\n")

    assert (sample.name, sample.labels, sample.value) == (name, labels, value)


def test_a_page_that_is_no_metrics_page_has_no_samples() -> None:
    assert read_samples("evenspread_config_valid{ is broken") == []


def test_feature_gates_are_on_or_off() -> None:
    page = (
        'kubernetes_feature_enabled{name="A",stage=""} 1\n'
        'kubernetes_feature_enabled{name="B",stage="BETA"} 0\n'
        "apiserver_requests_total 3\n"
    )

    assert read_feature_gates(page) == {"A": True, "B": False}


def test_failed_conditions_have_their_details() -> None:
    page = "[+]server ok\n[-]certificate failed: old\n[-]caches failed\nnot ready\n"

    assert list(read_failed_conditions(page)) == [("certificate", "old"), ("caches", "failed")]
