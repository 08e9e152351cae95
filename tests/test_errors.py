import pickle

import pytest

from webhook import errors
from webhook.errors import (
    ApiError,
    CombinedConfigError,
    ConfigError,
    EvenspreadError,
    ExpiredError,
    GateError,
    ManifestError,
    NotSyncedError,
    OverloadError,
    ReviewError,
    SourceError,
    VersionError,
)

SENTENCES: dict[str, tuple[EvenspreadError, str]] = {
    "an error of the operator": (ConfigError("port is no number"), "port is no number"),
    "an error with a place": (
        ConfigError("port is no number", "evenspread.yaml:3: port"),
        "evenspread.yaml:3: port: port is no number",
    ),
    "a gate": (GateError("A", "has no value"), "feature gate 'A' has no value"),
    "an unknown gate": (
        GateError("A", "is not known", ["B", "C"]),
        "feature gate 'A' is not known; known gates: B, C",
    ),
    "a version": (
        VersionError("x"),
        "'x' is no Kubernetes version: write 1.16 or later, as in 1.33",
    ),
    "several errors": (CombinedConfigError([ConfigError("a"), ConfigError("b", "c")]), "a\nc: b"),
    "a review": (ReviewError("the body is empty", 411), "the body is empty"),
    "too much at once": (OverloadError("in-flight"), "busy (in-flight): call again in a second"),
    "a cache": (
        NotSyncedError("Service"),
        "the cache of Service is not filled yet: call again in a second",
    ),
    "a source": (SourceError("dir", "cannot be read"), "dir: cannot be read"),
    "a document": (ManifestError("a.yaml", 7, "is no mapping"), "a.yaml:7: is no mapping"),
    "an API server": (ApiError("https://a", "refused it", "refused", 403), "https://a: refused it"),
    "a resource version": (ExpiredError("https://a", "is too old"), "https://a: is too old"),
}


@pytest.mark.parametrize(("error", "sentence"), SENTENCES.values(), ids=SENTENCES.keys())
def test_an_error_is_a_sentence(error: EvenspreadError, sentence: str) -> None:
    assert str(error) == sentence


@pytest.mark.parametrize("error", [error for error, _ in SENTENCES.values()], ids=SENTENCES.keys())
def test_an_error_survives_being_sent_to_another_process(error: EvenspreadError) -> None:
    received = pickle.loads(pickle.dumps(error))

    assert type(received) is type(error)
    assert str(received) == str(error)
    assert received.__dict__.keys() == error.__dict__.keys()
    assert str(type(error)(*error.args)) == str(error)


def test_every_error_is_tested() -> None:
    tested = {type(error) for error, _ in SENTENCES.values()}
    raised = {
        found
        for found in vars(errors).values()
        if isinstance(found, type) and issubclass(found, EvenspreadError)
    }

    assert tested == raised - {EvenspreadError}


FAULTS: dict[str, tuple[type[EvenspreadError], type[EvenspreadError]]] = {
    "a gate is the operator's": (GateError, ConfigError),
    "a version is the operator's": (VersionError, ConfigError),
    "several errors are the operator's": (CombinedConfigError, ConfigError),
    "an empty cache is ours": (NotSyncedError, OverloadError),
    "a document is a source's": (ManifestError, SourceError),
    "a resource version is an API server's": (ExpiredError, ApiError),
}


@pytest.mark.parametrize(("error", "whose"), FAULTS.values(), ids=FAULTS.keys())
def test_the_fault_of(error: type[EvenspreadError], whose: type[EvenspreadError]) -> None:
    assert issubclass(error, whose)


def test_what_errors_hold_is_there_for_programs() -> None:
    gate, api = GateError("A", "x", ["B"]), ApiError("s", "p", "refused", 403)

    assert (gate.gate, gate.known, gate.problem) == ("A", ("B",), "x")
    assert (api.source, api.problem, api.reason, api.status) == ("s", "p", "refused", 403)
    assert ReviewError("x").status == 400
    assert NotSyncedError("Node").bound == "not-synced"
    assert ExpiredError("s", "p").status == 410
