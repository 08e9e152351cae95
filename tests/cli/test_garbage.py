import gc

import pytest

from webhook.cli.garbage import pause_garbage_collection


def test_garbage_collection_is_off_in_the_context_and_on_afterwards() -> None:
    with pause_garbage_collection():
        assert not gc.isenabled()

    assert gc.isenabled()


def test_garbage_collection_is_on_again_after_an_error() -> None:
    with pytest.raises(ValueError, match="wrong"), pause_garbage_collection():
        raise ValueError("wrong")

    assert gc.isenabled()


def test_garbage_collection_stays_off_if_it_was_off() -> None:
    with pause_garbage_collection():
        with pause_garbage_collection():
            pass
        assert not gc.isenabled()
