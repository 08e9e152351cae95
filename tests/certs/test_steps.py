from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from certs.state import Authority, Validity
from certs.steps import RotationAction, RotationStep, advance

NOW = datetime(2030, 1, 1, tzinfo=UTC)
VALIDITY = Validity(start=NOW, end=NOW + timedelta(days=365))

OLD, SIGNER = (Authority(name=name, validity=VALIDITY, promoted=NOW) for name in ("old", "signer"))
PENDING = Authority(name="pending", validity=VALIDITY, published=NOW - timedelta(hours=1))

CHANGES = {
    "unpublish": (RotationAction.UNPUBLISH, replace(PENDING, published=None)),
    "record": (RotationAction.RECORD, replace(PENDING, published=NOW)),
    "promote": (RotationAction.PROMOTE, replace(PENDING, promoted=NOW)),
    "drop": (RotationAction.DROP, replace(PENDING, leaving=True)),
}


@pytest.mark.parametrize(("action", "changed"), CHANGES.values(), ids=CHANGES)
def test_a_step_changes_only_the_authorities_it_names(
    action: RotationAction, changed: Authority
) -> None:
    step = RotationStep(action, frozenset({"pending"}))

    assert advance(step, (SIGNER, PENDING), NOW) == (SIGNER, changed)


def test_a_forgotten_authority_is_removed_from_the_list() -> None:
    step = RotationStep(RotationAction.FORGET, frozenset({"old"}))

    assert advance(step, (OLD, SIGNER), NOW) == (SIGNER,)


NOT_WRITES = (
    RotationAction.WAIT,
    RotationAction.DISTRUST,
    RotationAction.SIGN_LEAF,
    RotationAction.INJECT,
    RotationAction.ADD_CA,
    RotationAction.ADD_FOREIGN,
)


@pytest.mark.parametrize("action", NOT_WRITES)
def test_other_steps_leave_the_list_alone(action: RotationAction) -> None:
    assert advance(RotationStep(action), (OLD, SIGNER), NOW) == (OLD, SIGNER)
