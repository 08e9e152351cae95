"""Sources of facts are alike to those who use them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.apiserver import ApiServer
from tests.cluster.environment import reflector_environment
from tests.server.factsources import FLEET, NOTHING, log
from webhook.policy.scaledown.binding import BindingResult
from webhook.server.facts import FactsSource, WatchedKinds
from webhook.server.filefacts import FactsFiles, FileFacts
from webhook.server.livefacts import LiveFacts
from webhook.telemetry.metrics import Metrics


def of_files(tmp_path: Path) -> FactsSource:
    return FileFacts(FactsFiles([str(tmp_path)]), NOTHING, Metrics(), log(), lambda: None)


def of_cluster(_: Path) -> FactsSource:
    return LiveFacts(NOTHING, reflector_environment(ApiServer()), Metrics(), lambda: None)


@pytest.mark.parametrize("build", [of_files, of_cluster])
async def test_a_source_has_facts_from_the_beginning(
    build: Callable[[Path], FactsSource], tmp_path: Path
) -> None:
    source = build(tmp_path)

    assert list(source.facts.services("shop", {"app": "a"})) == []
    assert source.find_ranks() is BindingResult.OFF
    assert source.find_namespaces() is None
    assert all(condition.detail for condition in source.check().values())
    async with source.freeze():
        assert list(source.facts.exceptions("shop")) == []


def test_kinds_are_the_same_if_their_values_are() -> None:
    assert WatchedKinds((FLEET,)) == WatchedKinds((FLEET,)) != WatchedKinds((FLEET,), pods=True)
