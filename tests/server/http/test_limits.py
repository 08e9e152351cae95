"""Every limit of the server, reached by a real client on a real socket."""

from dataclasses import fields

from tests.docs.limits import limit_rows
from webhook.server.http.limits import MIB, Limits

SPECIFIED = {
    "body": 32 * MIB,
    "body_read": 10,
    "bodies": 64 * MIB,
    "handshake": 5,
    "keep_alive": 120,
    "connections": 512,
    "idle": 90,
    "constraints": 1000,
    "in_flight": 256,
    "retry_after": 1,
    "request": 5,
    "request_share": 0.8,
    "drain_least": 10,
    "drain_quiet": 5,
    "drain_most": 45,
}


def test_the_bounds_are_those_that_were_agreed() -> None:
    values = {row.name: row.value for row in limit_rows()}

    assert {name: values[name] for name in SPECIFIED} == SPECIFIED


def test_no_review_takes_as_long_as_an_answered_connection_is_idle() -> None:
    assert Limits().answered > Limits().body_read + Limits().request


def test_every_bound_has_a_unit_and_a_reason() -> None:
    rows = list(limit_rows())

    assert len(rows) == len(fields(Limits)) + 1
    assert all(row.unit and row.reason for row in rows)
