import gc

import pytest

from webhook.cli.garbage import uncollected


def test_nothing_is_collected_meanwhile_and_again_afterwards() -> None:
    with uncollected():
        assert not gc.isenabled()

    assert gc.isenabled()


def test_an_error_changes_nothing_about_that() -> None:
    with pytest.raises(ValueError, match="wrong"), uncollected():
        raise ValueError("wrong")

    assert gc.isenabled()


def test_who_collects_nothing_does_not_begin_to() -> None:
    with uncollected():
        with uncollected():
            pass
        assert not gc.isenabled()
