"""What the settings ask for, and what they may not."""

import io
from datetime import UTC, datetime
from typing import Any

import pytest

from webhook.cluster.source import NO_QUERY, Query
from webhook.config.settings import Settings
from webhook.errors import ConfigError
from webhook.policy.api.versions import NEWEST
from webhook.server.audits.arrangement import Surroundings, arrange, order_of
from webhook.server.audits.messages import Order
from webhook.telemetry.loglines import Lines
from webhook.telemetry.logs import Format, make_log
from webhook.telemetry.metrics import Metrics

BEGIN = datetime(2026, 1, 2, tzinfo=UTC)


class Api:
    """Is not asked anything here."""

    async def send(
        self, method: str, path: str, query: Query = NO_QUERY, body: bytes = b""
    ) -> tuple[int, bytes]:
        raise AssertionError((method, path, query, body))


def around(api: Api | None = None, namespace: str = "evenspread") -> Surroundings:
    log = make_log(Format.JSON, Lines(io.BytesIO(), lambda write: write()), lambda: BEGIN)
    return Surroundings(
        api, namespace, "replica", 60, 600, lambda: NEWEST, lambda: BEGIN, Metrics(), log
    )


def test_without_an_interval_there_are_none() -> None:
    assert arrange(Settings(), around(Api())) is None


def test_with_one_there_are() -> None:
    assert arrange(Settings(audit_interval="10m"), around(Api())) is not None


REFUSED: dict[str, tuple[dict[str, Any], Surroundings, str]] = {
    "reports without audits": (
        {"policy_reports": "openreports.io"},
        around(Api()),
        "--policy-reports: are written by audits: add --audit-interval",
    ),
    "no cluster": (
        {"audit_interval": "10m"},
        around(),
        "--audit-interval: is for a cluster: leave it out with --standalone",
    ),
    "no namespace for the Lease": (
        {"audit_interval": "10m"},
        around(Api(), ""),
        "--namespace: is needed for the Lease of --audit-interval, outside of a pod",
    ),
}


@pytest.mark.parametrize(("settings", "surroundings", "says"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_together_is_refused(
    settings: dict[str, Any], surroundings: Surroundings, says: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        arrange(Settings(**settings), surroundings)

    assert str(caught.value) == says


def test_an_order_says_what_the_settings_say() -> None:
    settings = Settings(
        config="a.yaml",
        scheduler_config="b.yaml",
        feature_gates="X=true",
        allow_locked_gates=True,
        policy_reports="openreports.io",
        audit_interval="1h30m",
        audit_memory="64Mi",
    )

    assert order_of(settings, NEWEST) == Order(
        config="a.yaml",
        scheduler_config="b.yaml",
        feature_gates="X=true",
        version=str(NEWEST),
        allow_locked_gates=True,
        policy_reports="openreports.io",
        memory=64 * 2**20,
    )
    assert order_of(Settings(), NEWEST).policy_reports == ""
