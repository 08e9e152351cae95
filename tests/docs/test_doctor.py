"""The report that the page on doctors shows is one that a doctor makes."""

import pytest

from certs.pem import name_of
from tests.certs.world import authority
from tests.docs.markdown import ROOT, blocks
from tests.doctor.installations import CA, build_installation, replica, secret
from webhook.cli.doctor import show
from webhook.cli.terminal import Terminal
from webhook.doctor.installation import Lookup, Replica
from webhook.doctor.table import run_checks

PAGE = ROOT / "docs/doctor.md"
STRANGER = authority()
NAMES = {
    name_of(STRANGER.leaf): "CN=evenspread-ca-680e03a8",
    name_of(CA.leaf): "CN=evenspread-ca-21cf8a47",
}
"""Names of authorities are made by chance; those of the page stand for them."""


def test_the_report_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    lacks = "needs get on pods/proxy in namespace evenspread"
    hidden = Replica(replica().name, Lookup(problem=lacks), Lookup(problem=lacks))
    found = build_installation(authority=secret("ca.crt", STRANGER), replicas=(hidden,))

    show(found, run_checks(found), Terminal())

    output = capsys.readouterr().out
    for made, shown in NAMES.items():
        output = output.replace(made, shown)
    assert f"$ evenspread doctor\n{output}" in [block.text for block in blocks(PAGE)]
