import pytest

from certs.source import CertificateStatus, Notice, NoticeSubject, describe_bug
from tests.certs.world import World


def test_an_environment_reports_successes_and_problems() -> None:
    world = World()

    world.environment.report_success(NoticeSubject.LEAF, "serving CN=evenspread")
    world.environment.report_problem(NoticeSubject.CA, "no answer")

    assert world.notices == [
        Notice(subject=NoticeSubject.LEAF, ok=True, text="serving CN=evenspread"),
        Notice(subject=NoticeSubject.CA, ok=False, text="no answer"),
    ]


def test_a_source_is_not_ready_before_its_first_certificate() -> None:
    status = CertificateStatus()

    assert not status.ready
    assert status.leaf is None
    assert status.in_sync is None


def test_a_bug_is_described_by_its_type_and_place_without_its_message() -> None:
    with pytest.raises(KeyError) as caught:
        dict[str, int]()["canary"]
    text = describe_bug(caught.value)

    assert text.startswith("a bug of evenspread, KeyError at test_source.py:")
    assert text.endswith("; please report it")
    assert "canary" not in text


def test_a_bug_without_a_traceback_has_no_place() -> None:
    assert describe_bug(LookupError()) == "a bug of evenspread, LookupError; please report it"
