"""Certificates of our own authority, on a real API server: shown, renewed and repaired."""

import base64
import json
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from certs.pem import issued_by, write_certificates
from tests.certs.world import authority
from tests.controlplane.api import ApiError, Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.certified import ROTATION_S, Certified
from tests.e2e.disks import files_with_keys, open_files, open_files_with_keys
from tests.e2e.objects import workload
from tests.e2e.replica import PATIENCE_S, Registered, Replica, configurations
from tests.faults.plugin import FaultReport

MARK = {"evenspread.test/upkeep": "yes"}
NAME = "upkeep"
VALIDATING = f"ValidatingWebhookConfiguration {NAME}"


@pytest.fixture(scope="module")
def certified(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Certified]:
    folder = tmp_path_factory.mktemp("upkeep")
    with Certified(control_plane, folder, NAME, MARK, count=2, leaf_s=9, overlap_s=2) as started:
        yield started


def at(replica: Replica) -> tuple[str, str]:
    return ("--address", f"127.0.0.1:{replica.port}")


def test_what_is_served_leads_to_what_is_published(certified: Certified) -> None:
    first, second = certified.replicas
    for replica in (first, second):
        shown = certified.run(*at(replica), "-o", "json")

        assert shown.returncode == 0, shown.stderr
        document = json.loads(shown.stdout)
        assert document["notes"] == []
        assert [(chain["bundle"].split()[0], chain["trusted"]) for chain in document["chains"]] == [
            ("MutatingWebhookConfiguration", True),
            ("ValidatingWebhookConfiguration", True),
        ]
        what = {certificate["what"]: certificate for certificate in document["certificates"]}
        assert set(what) == {"leaf", "authority", "bundle"}
        assert what["leaf"]["daysLeft"] in {0, -1}  # its 9 s may end while the command runs
        assert what["authority"]["daysLeft"] == 364
        assert what["authority"]["where"] == f"Secret {certified.namespace}/{NAME}-ca"
        assert what["authority"]["serial"] == what["bundle"]["serial"]


def test_people_read_the_same(certified: Certified) -> None:
    shown = certified.run(*at(certified.replicas[0]))

    assert shown.returncode == 0
    assert shown.stdout.count(" leads to ") == 2
    assert "DAYS LEFT" in shown.stdout


def test_a_rotation_needs_a_secret_that_exists(certified: Certified) -> None:
    done = certified.run("rotate", "--ca", name="nobody")

    title = f"Secret {certified.namespace}/nobody-ca"
    assert (done.returncode, done.stderr) == (3, f"error: {title}: does not exist\n")


def test_a_foreign_bundle_is_a_finding(certified: Certified) -> None:
    bundle = base64.b64encode(authority().certificate_pem()).decode()
    made = configurations("foreign", {"evenspread.test/nowhere": "yes"})
    for configuration in made:
        configuration["webhooks"][0]["clientConfig"]["caBundle"] = bundle
    with Registered(certified.plane, made):
        shown = certified.run(*at(certified.replicas[0]), name="foreign")

    assert shown.returncode == 1
    assert shown.stdout.count(" does NOT lead to ") == 2


def create(certified: Certified) -> None:
    """Let the API server call both webhooks, in a namespace of its own."""
    namespace = certified.plane.create_namespace(MARK)
    certified.plane.api.create(workload("Pod", "it", namespace, {"app": "it"}), dryRun="All")


def change(certified: Certified, **client_config: Any) -> None:
    """Change how both configurations call."""
    for hook in certified.hooks:
        for webhook in hook["webhooks"]:
            webhook["clientConfig"].update(client_config)
        certified.plane.api.replace(hook)


def in_sync(certified: Certified) -> bool:
    return all(replica.metric("ca_bundle_in_sync") == 1 for replica in certified.replicas)


def test_an_emptied_bundle_is_filled_again(certified: Certified) -> None:
    before = certified.published

    def repairs() -> float:
        return sum(
            replica.metric("certificate_rotations_total", type="ca_bundle", result="success")
            for replica in certified.replicas
        )

    written = repairs()
    change(certified, caBundle=None)
    until(lambda: certified.published == before, "the bundles to be filled")

    until(lambda: repairs() > written, "the repair to be counted")
    until(lambda: in_sync(certified), "replicas to know")
    create(certified)


def absent(replica: Replica) -> bool:
    return f"[+]certificate ok: {VALIDATING} does not exist" in replica.page("/readyz?verbose")


def has_logged_absence(replica: Replica) -> bool:
    text = f"{VALIDATING} does not exist, so that no API server calls for it; it stays absent"
    return text in [line.get("message") for line in replica.lines if line["event"] == "certificate"]


@pytest.mark.fault(12)
def test_a_deleted_configuration_is_reported_and_not_created_again(
    certified: Certified, fault_report: FaultReport
) -> None:
    api = certified.plane.api
    (_, deleted) = certified.hooks
    first, second = certified.replicas
    api.delete(deleted)
    for replica in (first, second):
        until(partial(absent, replica), "a replica to report it")
        until(partial(has_logged_absence, replica), "a line in its log")
        assert replica.metric("certificate_rotations_total", type="ca_bundle", result="failure")

    second.process.kill()
    second.process.start()
    second.wait()

    until(partial(absent, second), "a replica that has started to report it")
    shown = certified.run(*at(second))
    assert (shown.returncode, shown.stdout.splitlines()[-1]) == (0, f"{VALIDATING}: does not exist")
    with pytest.raises(ApiError, match="not found"):
        api.read(deleted)
    create(certified)

    def types() -> list[str]:
        events = api.items("v1", "Event", certified.namespace)
        return [event["type"] for event in events if "it stays absent" in event["message"]]

    until(lambda: len(types()) >= 3, "an Event of each, and of the second one after its start")
    assert types() == ["Warning"] * 3

    again: Json = {**deleted, "metadata": {"name": NAME}}
    del again["webhooks"][0]["clientConfig"]["caBundle"]
    api.create(again)
    until(lambda: not absent(first), "the configuration to be seen")
    until(lambda: certified.published[0] == certified.published[1], "its bundle to be filled")
    fault_report.record(
        load="two replicas, one of them killed and started again",
        calls=2,
        failed=0,
        outcome="not created again; replicas stay ready; log, Event and metric report it",
    )


def test_wider_rules_are_reported_and_left_alone(certified: Certified) -> None:
    api, kind = certified.plane.api, "MutatingWebhookConfiguration"
    mutating = certified.hooks[0]
    rules = mutating["webhooks"][0]["rules"]
    wide: Json = {"apiGroups": ["rbac.authorization.k8s.io"], "apiVersions": ["v1"]}
    wide |= {"resources": ["roles"], "operations": ["UPDATE"], "scope": "Namespaced"}

    def drift() -> list[float]:
        name = "webhook_configuration_drift"
        return [replica.metric(name, kind=kind) for replica in certified.replicas]

    until(lambda: drift() == [2, 2], "both exemptions by name, which tests lack, to be missed")
    api.merge(mutating, {"webhooks": [{"name": "mutate.evenspread.io", "rules": [*rules, wide]}]})
    until(lambda: drift() == [3, 3], "the drift to be seen")
    assert certified.hooks[0]["webhooks"][0]["rules"] == [*rules, wide]
    what = "mutate.evenspread.io is called for roles of the API group rbac.authorization.k8s.io"
    for text in (what, "was changed: mutate.evenspread.io.rules"):
        until(partial(has_event, certified, f"{kind} {NAME}: {text}"), f"an Event: {text}")

    api.merge(mutating, {"webhooks": [{"name": "mutate.evenspread.io", "rules": rules}]})
    until(lambda: drift() == [2, 2], "the drift to be gone")


def has_event(certified: Certified, message: str) -> bool:
    events = certified.plane.api.items("v1", "Event", certified.namespace)
    return message in [event["message"] for event in events]


def meet_valid(certified: Certified, replica: Replica) -> x509.Certificate:
    """Shake hands once its leaf is valid: one of a few seconds ends while the process stalls."""

    def found() -> x509.Certificate | None:
        with suppress(OSError):
            return certified.fetch_leaf(replica, certified.published[0])
        return None

    return until(found, "a valid leaf")


def test_metrics_show_the_served_certificates(certified: Certified) -> None:
    replica = certified.replicas[0]

    def expiry(what: str) -> float:
        return replica.metric("certificate_expiry_timestamp_seconds", type=what, source="self")

    def are_current() -> bool:
        (bundle, _) = certified.published
        served, authority = meet_valid(certified, replica), bundle[-1]
        return (
            expiry("leaf") == served.not_valid_after_utc.timestamp()
            and expiry("ca") == authority.not_valid_after_utc.timestamp()
            and replica.metric("ca_bundle_in_sync") == 1
        )

    until(are_current, "the metrics to follow leaf, authority and caBundle")

    def renewals() -> float:
        return replica.metric("certificate_rotations_total", type="leaf", result="success")

    before, first = renewals(), meet_valid(certified, replica)
    until(lambda: meet_valid(certified, replica) != first, "the leaf to be renewed")
    until(lambda: renewals() > before, "the renewal to be counted")


def test_openssl_is_satisfied_strictly(certified: Certified, tmp_path: Path) -> None:
    (bundle, _) = certified.published
    (tmp_path / "ca.pem").write_bytes(write_certificates(bundle))
    replica = certified.replicas[0]

    command = [
        *("openssl", "s_client", "-connect", f"127.0.0.1:{replica.port}"),
        *("-CAfile", str(tmp_path / "ca.pem"), "-x509_strict", "-purpose", "sslserver"),
        *("-verify_return_error", "-verify_hostname", certified.host, "-brief"),
    ]

    def errors() -> str:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return "" if not done.returncode and "Verification: OK" in done.stderr else done.stderr

    until(lambda: not errors(), "a valid leaf to be verified")


def test_a_search_for_keys_finds_one(replica: Replica) -> None:
    """A standalone server keeps its key in a file: else the next test could not fail."""
    assert files_with_keys(replica.folder) == [replica.folder / "state/tls.key"]


def test_rotations_leave_no_key_behind(certified: Certified) -> None:
    replica = certified.replicas[0]
    ((old,), _) = certified.published

    certified.rotate("--ca")
    until(lambda: old not in certified.published[0], "a new authority", patience_s=ROTATION_S)
    ((new,), _) = certified.published
    first = meet_valid(certified, replica)
    assert issued_by(first, new)
    certified.rotate()
    until(lambda: meet_valid(certified, replica) != first, "a new leaf")

    pid = replica.process.pid
    working = Path(f"/proc/{pid}/cwd").resolve()
    opened = [where for where, _ in open_files(pid)]
    assert working == replica.folder
    assert (working / "tmp").is_dir()
    assert files_with_keys(working) == []
    assert not (working / "state").exists()
    assert str(replica.log) in opened
    until(lambda: not open_files_with_keys(pid), "the file of a key that is loaded to be closed")
    until(lambda: not memory_files(pid), "the file of a pair that is loaded to be closed")
    assert "PRIVATE KEY" not in replica.log.read_text()


def memory_files(pid: int) -> list[str]:
    return [where for where, _ in open_files(pid) if "memfd" in where]


def test_no_secret_is_printed(certified: Certified) -> None:
    """Neither the command nor a replica repeats what the Secret holds."""
    secret = certified.plane.api.read(certified.secret)
    state = json.loads(base64.b64decode(secret["data"]["authorities.json"]))
    key = state["authorities"][-1]["key"].splitlines()[1]
    shown = certified.run(*at(certified.replicas[0]), "-o", "json")

    logs = [other.log.read_text() for other in certified.replicas]
    for text in (shown.stdout, shown.stderr, *logs):
        assert key not in text
        assert secret["data"]["authorities.json"][:40] not in text
