"""Facts from files: read once, and again if a configuration needs other kinds."""

import io
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from tests.build import pod, request
from tests.cluster.environment import unsupervised
from tests.cluster.objects import labelled_pod
from tests.server.factsources import FLEET, NOTHING, OWNER, log, value
from tests.server.serving import POLICY
from webhook.cluster.pods import PodStore
from webhook.config.ownerselectors import SHIPPED_OWNERS
from webhook.errors import ConfigError
from webhook.policy.scaledown.binding import BindingResult
from webhook.server.facts import WatchedKinds
from webhook.server.filefacts import FactsFiles, FileFacts
from webhook.server.health import ReadinessCondition
from webhook.telemetry.metrics import Metrics

MANIFESTS = """
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: a}}
---
apiVersion: example.io/v1
kind: Fleet
metadata: {name: web, namespace: shop}
spec: {selector: {matchLabels: {app: a}}}
---
apiVersion: v1
kind: Service
metadata: {name: 5}
"""


NOW = datetime(2027, 1, 1, tzinfo=UTC)


async def test_files_are_read_once_and_again_for_other_owners(tmp_path: Path) -> None:
    file, stderr, changes = tmp_path / "all.yaml", io.BytesIO(), list[str]()
    file.write_text(MANIFESTS)
    metrics = Metrics()
    files = FileFacts(
        FactsFiles([str(file)], lambda: NOW),
        WatchedKinds(SHIPPED_OWNERS),
        metrics,
        log(stderr),
        lambda: changes.append("changed"),
    )
    await files.complete()
    await files.run(unsupervised)

    files.follow(WatchedKinds(SHIPPED_OWNERS))
    assert changes == []
    assert files.facts.owner_selector("shop", OWNER) is None
    files.follow(WatchedKinds((FLEET,)))

    assert changes == ["changed"]
    assert files.facts.owner_selector("shop", OWNER) is not None
    assert files.check() == {"facts": ReadinessCondition(ok=True, detail="2 objects from files")}
    assert files.fetch(request(pod()), POLICY, 1.0) is None
    assert files.find_namespaces() is None
    assert value(metrics, "objects", "Fleet.example.io") == 1
    assert value(metrics, "objects", "Rollout.argoproj.io") is None
    assert b"all.yaml:14" in stderr.getvalue()


def test_files_that_are_not_there_are_a_mistake() -> None:
    with pytest.raises(ConfigError, match="--facts: there is no file or folder 'none'"):
        FileFacts(FactsFiles(["none"]), NOTHING, Metrics(), log(), lambda: None)


def test_exceptions_in_files_expire_by_the_clock(tmp_path: Path) -> None:
    file, now = tmp_path / "exception.yaml", [NOW]
    file.write_text(
        "apiVersion: evenspread.io/v1alpha1\nkind: SpreadPolicyException\n"
        "metadata: {name: legacy, namespace: shop}\n"
        "spec: {defaults: true, reason: old, expires: '2027-01-02T00:00:00Z'}\n"
    )
    listed = FactsFiles([str(file)], lambda: now[0])
    files = FileFacts(listed, NOTHING, Metrics(), log(), lambda: None)

    assert [one.name for one in files.facts.exceptions("shop")] == ["legacy"]
    now[0] = datetime(2027, 1, 2, tzinfo=UTC)
    assert files.facts.exceptions("shop") == []


def test_pods_of_files_are_ranked_if_a_profile_keeps_the_spread(tmp_path: Path) -> None:
    file = tmp_path / "pods.json"
    file.write_bytes(msgspec.json.encode(labelled_pod("w1")))
    files = FileFacts(
        FactsFiles([str(file)]), WatchedKinds(SHIPPED_OWNERS), Metrics(), log(), lambda: None
    )
    before = files.find_ranks()
    files.follow(WatchedKinds(SHIPPED_OWNERS, pods=True))
    ranks = files.find_ranks()

    assert before is BindingResult.OFF
    assert isinstance(ranks, PodStore)
    assert list(ranks.iterate_keys()) == [("shop", "w1")]


async def test_a_review_reads_facts_that_stay_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(MANIFESTS)
    files = FileFacts(FactsFiles([str(file)]), NOTHING, Metrics(), log(), lambda: None)
    before = files.facts

    async with files.freeze():
        assert files.facts is before
