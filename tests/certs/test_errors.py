import pickle

import pytest

from certs.errors import AbsentError, CertError, ConflictError, PairError, StateError, StoreError

KINDS = {
    "a pair": PairError,
    "the state folder": StateError,
    "an object": StoreError,
    "a changed object": ConflictError,
    "an absent object": AbsentError,
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_an_error_names_the_place_and_then_the_problem(kind: type[CertError]) -> None:
    error = kind("/tls", "is empty")

    assert (error.where, error.problem) == ("/tls", "is empty")
    assert str(error) == "/tls: is empty"


def test_an_error_survives_a_copy() -> None:
    error = pickle.loads(pickle.dumps(ConflictError("Secret ns/ca", "was changed")))

    assert isinstance(error, StoreError)
    assert str(error) == "Secret ns/ca: was changed"
