"""Which certificate is served, and how it is shown."""

import math
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from certs.errors import PairError
from certs.polling import PollingSource
from certs.rotate import SelfSource
from certs.serving import LiveContext
from certs.source import CertificateSource, CertificateStatus
from certs.state import Lifetimes
from tests.apiserver import ApiServer
from tests.certs.world import World
from webhook.config.settings import Settings
from webhook.errors import ConfigError
from webhook.server import certificate
from webhook.server.certificate import CertificateContext, authority_file, certificate_source
from webhook.telemetry.metrics import Metrics

NOBODY = CertificateContext(None, "", timedelta(minutes=10), ("127.0.0.1", 8443), 10.0)
CLUSTER = replace(NOBODY, client=ApiServer(), namespace="ns")


def source(settings: Settings, context: CertificateContext = NOBODY) -> CertificateSource:
    return certificate_source(settings, LiveContext(), World().environment, context)


async def test_standalone_keeps_its_own(tmp_path: Path) -> None:
    settings, metrics = Settings(standalone=True, state=str(tmp_path)), Metrics()
    made = source(settings)
    certificate.expose_certificate(made, settings, metrics)
    before = certificate.check_certificate(made)

    await made.start()

    assert before == {"certificate": (False, "there is none yet")}
    assert certificate.check_certificate(made) == {"certificate": (True, "")}
    assert made.status.leaf is not None
    labels = {"type": "leaf", "source": "standalone"}
    expiry = metrics.registry.get_sample_value(
        "evenspread_certificate_expiry_timestamp_seconds", labels
    )
    assert expiry == made.status.leaf.not_valid_after_utc.timestamp()
    in_sync = metrics.registry.get_sample_value("evenspread_ca_bundle_in_sync")
    assert in_sync is not None
    assert math.isnan(in_sync)
    assert authority_file(settings) == tmp_path / "ca.crt"


@pytest.mark.parametrize("context", [NOBODY, CLUSTER], ids=["alone", "in a cluster"])
async def test_files_are_served_from_their_folder(
    tmp_path: Path, context: CertificateContext
) -> None:
    standalone = Settings(standalone=True, state=str(tmp_path))
    await source(standalone).start()
    settings = Settings(tls="files", tls_dir=str(tmp_path))
    made = source(settings, context)

    await made.start()

    assert made.status.ready
    assert authority_file(settings) == tmp_path / "ca.crt"


async def test_files_without_an_authority_beside_them_name_none(tmp_path: Path) -> None:
    settings = Settings(tls="files", tls_dir=str(tmp_path))

    assert authority_file(settings) is None
    with pytest.raises(PairError):
        await source(settings).start()


def test_self_is_for_a_cluster() -> None:
    settings = Settings(name="spread")
    made = source(settings, CLUSTER)

    assert isinstance(made, SelfSource)
    assert made.hosts[0] == "spread.ns.svc"
    assert made.secret.title == "Secret ns/spread-ca"
    assert made.lifetimes.overlap == timedelta(minutes=10)
    assert authority_file(settings) is None


def test_lives_are_those_that_are_asked_for() -> None:
    asked = Settings(test_lifetimes="leaf=10s,ca=1h")
    overlap = timedelta(seconds=5)

    assert certificate.lifetimes(asked, overlap) == Lifetimes(
        leaf=timedelta(seconds=10), ca=timedelta(hours=1), overlap=overlap
    )
    assert certificate.lifetimes(Settings(), overlap) == Lifetimes(overlap=overlap)


# lives, overlap -> who is told that they do not go together
DISCORD = {
    "lives for a test": ("ca=30s", timedelta(seconds=10), "--test-lifetimes: a CA would end"),
    "an overlap of half a year": ("", timedelta(days=180), "caOverlap: a CA would end"),
}


@pytest.mark.parametrize(("lives", "overlap", "told"), DISCORD.values(), ids=DISCORD)
def test_lives_that_do_not_go_together_are_refused(
    lives: str, overlap: timedelta, told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        certificate.lifetimes(Settings(test_lifetimes=lives), overlap)


# what a source says of itself -> what the readiness page says of it
STATUSES = {
    "served": (CertificateStatus(ready=True), (True, "")),
    "not there": (CertificateStatus(), (False, "there is none yet")),
    "with a problem, but served": (
        CertificateStatus(ready=True, problem="is old"),
        (True, "is old"),
    ),
    "without a configuration": (
        CertificateStatus(ready=True, absent=("Hook a", "Hook b")),
        (True, "Hook a does not exist; Hook b does not exist"),
    ),
    "with a problem": (CertificateStatus(problem="is broken"), (False, "is broken")),
}


@pytest.mark.parametrize(("status", "shown"), STATUSES.values(), ids=STATUSES)
def test_readiness(status: CertificateStatus, shown: tuple[bool, str], tmp_path: Path) -> None:
    made = source(Settings(standalone=True, state=str(tmp_path)))
    assert isinstance(made, PollingSource)
    made._status = status

    assert certificate.check_certificate(made) == {"certificate": shown}
