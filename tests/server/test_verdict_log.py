"""Lines that verdicts leave in the log."""

import io
import json
import logging
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from tests import build
from tests.policy import mutated
from webhook import admission
from webhook.policy.api.gates import Gate, resolve
from webhook.policy.api.versions import NEWEST_VERSION
from webhook.policy.defaulting.profiles import Mode, Policy, ScaleDown
from webhook.policy.facts import Facts, NoFacts
from webhook.policy.request import AdmissionRequest, Hook
from webhook.policy.verdict import judge
from webhook.server.verdict_log import VerdictLog
from webhook.telemetry.line_writer import LineWriter
from webhook.telemetry.logs import LogFormat, Throttle

NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)


def throttle(most: int = 100) -> Throttle:
    return Throttle(most, lambda: 0.0)


def log_verdict(
    decoded: AdmissionRequest,
    policy: Policy,
    known: Facts | None = None,
    format_: LogFormat = LogFormat.JSON,
    level: int = logging.INFO,
) -> bytes:
    stream = io.BytesIO()
    log = VerdictLog(
        format_, LineWriter(stream, lambda write: write()), lambda: NOON, throttle(), level
    )
    log.write(
        decoded,
        Hook.MUTATE,
        judge(decoded, Hook.MUTATE, policy, known or NoFacts()),
    )
    return stream.getvalue()


POD = {
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "a",
                "whenUnsatisfiable": "DoNotSchedule",
                "minDomains": 2,
            }
        ]
    },
}


def verdict_lines(
    pod: dict[str, Any], mode: Mode = Mode.APPLY, **members: bool
) -> list[dict[str, Any]]:
    body = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "operation": "CREATE",
            "namespace": "shop",
            "object": pod,
            **members,
        },
    }
    gates = resolve(NEWEST_VERSION, {Gate.MIN_DOMAINS: False}, allow_locked=True)
    policy = Policy(gates=gates, mode=mode)
    decoded = admission.decode(json.dumps(body).encode())
    return [json.loads(line) for line in log_verdict(decoded, policy).splitlines()]


def test_only_the_line_of_a_dry_run_is_marked() -> None:
    (real,) = verdict_lines(POD)
    (dry,) = verdict_lines(POD, dryRun=True)

    assert "dry_run" not in real
    assert dry == {**real, "dry_run": True}


def test_a_dropped_field_is_a_line() -> None:
    (line,) = verdict_lines(POD)

    assert line["event"] == "dropped"
    assert line["gate"] == "MinDomainsInPodTopologySpread"
    assert (line["uid"], line["namespace"], line["name"]) == ("u", "shop", "web")


def test_a_pod_that_needs_nothing_is_no_line() -> None:
    assert verdict_lines({"kind": "Pod", "metadata": {"name": "a"}, "spec": {}}) == []


def test_a_denial_names_rules_and_fields_and_no_values() -> None:
    broken = {"maxSkew": 0, "topologyKey": "canary!", "whenUnsatisfiable": "DoNotSchedule"}
    pod = {**POD, "spec": {"topologySpreadConstraints": [broken]}}

    (line,) = verdict_lines(pod)

    assert line["event"] == "denied"
    assert line["fields"][0] == "spec.topologySpreadConstraints[0].maxSkew"
    assert line["rules"] == ["TSC001"]
    assert "canary" not in json.dumps(line)


def test_recommend_mode_logs_what_would_be_denied() -> None:
    broken = {"maxSkew": 0, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}
    pod = {**POD, "spec": {"topologySpreadConstraints": [broken]}}

    (line,) = verdict_lines(pod, Mode.RECOMMEND)

    assert (line["event"], line["verdict"]) == ("violates", "would_deny")


def test_an_injection_names_profile_and_keys() -> None:
    decoded = build.request(build.pod())

    line = json.loads(log_verdict(decoded, build.policy(build.profile()), build.facts(app="web")))

    assert line["event"] == "injected"
    assert line["time"] == "2026-01-02T12:00:00Z"
    assert line["verdict"] == "patch"
    assert line["profile"] == build.profile().name
    assert line["keys"] == [constraint.topology_key for constraint in build.profile().constraints]


def test_people_get_plain_text() -> None:
    decoded = build.request(build.pod())

    line = log_verdict(
        decoded, build.policy(build.profile()), build.facts(app="web"), LogFormat.CONSOLE
    )

    assert line.startswith(b"12:00:00 info     injected uid=")


def test_a_name_cannot_forge_a_line() -> None:
    decoded = build.request(build.pod(), name="a\x7f\nb\u2028")

    written = log_verdict(decoded, build.policy(build.profile()), build.facts(app="web"))

    assert written.isascii()
    assert b"\x7f" not in written
    assert written.count(b"\n") == 1
    assert json.loads(written)["name"] == "a\x7f\nb\u2028"


def test_lines_below_the_level_are_not_written() -> None:
    decoded = build.request(build.pod())
    profiles = build.policy(build.profile())

    assert log_verdict(decoded, profiles, build.facts(app="web"), level=logging.WARNING) == b""


def test_half_a_surrogate_pair_is_written() -> None:
    decoded = build.request(build.pod(), name="a\ud800")

    written = log_verdict(decoded, build.policy(build.profile()), build.facts(app="web"))

    assert json.loads(written)["name"] == "a\ud800"


def test_a_denial_that_is_repeated_is_logged_a_limited_number_of_times() -> None:
    stream, seconds = io.BytesIO(), iter([0.0, 0.1, 0.2, 0.9, 1.0, 1.1])
    lines = LineWriter(stream, lambda write: write())
    log = VerdictLog(LogFormat.JSON, lines, lambda: NOON, Throttle(2, lambda: next(seconds)))
    denied = build.request(build.pod(build.spread(maxSkew=0)))
    injected = build.request(build.pod())
    policy = build.policy(build.profile())

    for decoded in (denied, denied, denied, injected, denied, denied, denied):
        verdict = judge(decoded, Hook.MUTATE, policy, build.facts(app="web"))
        log.write(decoded, Hook.MUTATE, verdict)

    written = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["event"], line.get("missed")) for line in written] == [
        ("denied", None),
        ("denied", None),
        ("injected", None),
        ("denied", 2),
        ("denied", None),
    ]


def reviewed(decoded: AdmissionRequest, policy: Policy, known: Facts) -> list[dict[str, Any]]:
    written = log_verdict(decoded, policy, known, level=logging.DEBUG)
    return [json.loads(line) for line in written.splitlines()]


def test_every_review_is_a_line_at_level_debug() -> None:
    decoded = build.request(build.pod(), name="web-1")
    policy = build.policy(build.profile())

    (line,) = reviewed(decoded, policy, NoFacts())
    events = [line["event"] for line in reviewed(decoded, policy, build.facts(app="web"))]

    assert line == {
        "time": "2026-01-02T12:00:00Z",
        "level": "debug",
        "event": "reviewed",
        "uid": decoded.uid,
        "name": "web-1",
        "hook": "mutate",
        "kind": "Pod",
        "namespace": decoded.namespace,
        "verdict": "allow",
        "operation": "CREATE",
        "defaults": "no-selector",
        "profile": build.profile().name,
    }
    assert events == ["injected", "reviewed"]


# pod, defaults
DEFAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "they are injected": (build.pod(), "injected"),
    "it opted out": (build.pod(labels={"evenspread.io/skip": "true"}), "skip-label"),
    "it has its own": (
        build.pod(build.spread()),
        "own-constraints",
    ),
    "it is bound": (build.pod(nodeName="a"), "bound"),
}


@pytest.mark.parametrize(("pod", "defaults"), DEFAULTS.values(), ids=DEFAULTS.keys())
def test_the_line_of_a_review_has_the_reason_for_missing_defaults(
    pod: dict[str, Any], defaults: str
) -> None:
    *_, line = reviewed(build.request(pod), build.policy(build.profile()), build.facts(app="web"))

    assert line["defaults"] == defaults


def test_the_line_of_another_review_has_no_defaults() -> None:
    decoded = build.request(build.pod(), operation="DELETE")

    (line,) = reviewed(decoded, build.policy(build.profile()), NoFacts())

    assert (line["operation"], line["verdict"], line["defaults"]) == ("DELETE", "allow", "")


KEEPING = build.policy(build.profile(scale_down=ScaleDown.KEEP_SPREAD))
OWNED = build.pod(owner=build.owned_by("ReplicaSet"))


def test_a_label_is_in_the_line_of_the_injection() -> None:
    injected, line = reviewed(build.request(OWNED), KEEPING, build.facts(app="web"))

    assert (injected["event"], injected["label"]) == ("injected", "keep-spread")
    assert (line["defaults"], line["label"]) == ("injected", "keep-spread")


@pytest.mark.parametrize("mode", Mode)
def test_a_label_alone_is_a_line(mode: Mode) -> None:
    pod = build.pod(build.spread(), owner=build.owned_by("ReplicaSet"))

    labelled, line = reviewed(build.request(pod), replace(KEEPING, mode=mode), NoFacts())

    assert (labelled["event"], labelled["label"]) == ("labelled", "keep-spread")
    assert labelled["profile"] == build.profile().name
    assert (line["defaults"], line["label"]) == ("own-constraints", "keep-spread")


def test_defaults_that_are_in_place_are_not_injected_again() -> None:
    known = build.facts(app="web")
    once = mutated.applied(OWNED, mutated.mutate(OWNED, build.policy(build.profile()), known))

    labelled, line = reviewed(build.request(once), KEEPING, known)

    assert labelled["event"] == "labelled"
    assert (line["defaults"], line["label"]) == ("in-place", "keep-spread")
