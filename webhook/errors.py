"""
Everything evenspread raises on purpose, sorted by whose fault it is.

* ``EvenspreadError``
    * ``ConfigError`` - the operator's mistake; the process exits with 2
        * ``GateError`` - a feature gate cannot be set as asked
        * ``VersionError`` - a text that is no Kubernetes version
        * ``CombinedConfigError`` - several of these, told together
    * ``ReviewError`` - the API server's (or an impostor's) mistake; answered with a 4xx
    * ``OverloadError`` - ours, for a moment; answered with 503 and ``Retry-After``
        * ``NotSyncedError`` - a cache was not filled yet
    * ``SourceError`` - facts could not be had: an unreadable file, an unreachable cluster; exit 3
        * ``ManifestError`` - one document of one file
        * ``ApiError`` - the API server gave no answer, or not the one that was asked for; try again
            * ``ExpiredError`` - it forgot our resource version; list again

An object that breaks a rule is not an error: its verdict is a denial (``webhook.policy.verdict``).
Each error holds data; its sentence is made in ``__str__``. ``args`` are what it is made of, so
that it can be sent to another process.
"""

from collections.abc import Sequence


class EvenspreadError(Exception):
    """The root of what evenspread raises on purpose; never raised itself."""


class ConfigError(EvenspreadError):
    """
    What an operator wrote cannot be used.

    Attributes:
        problem: What is wrong and what to write instead, a sentence without its full stop.
        where: File, line and path of the setting, as far as they are known; may be empty.
    """

    def __init__(self, problem: str, where: str = "") -> None:
        """Say what is wrong, and where."""
        super().__init__(problem, where)
        self.problem = problem
        self.where = where

    def __str__(self) -> str:
        """Put the place before the problem."""
        return f"{self.where}: {self.problem}" if self.where else self.problem


class GateError(ConfigError):
    """
    A feature gate cannot be set as asked.

    Attributes:
        gate: Its name, as it was written.
        known: Names that could have been written; empty where that does not help.
    """

    def __init__(self, gate: str, problem: str, known: Sequence[str] = ()) -> None:
        """Name the gate, the problem, and the gates there are."""
        super().__init__(problem)
        self.args = (gate, problem, known)
        self.gate = str(gate)
        self.known = tuple(known)

    def __str__(self) -> str:
        """Name the gate before the problem, and list the gates there are."""
        sentence = f"feature gate {self.gate!r} {self.problem}"
        return f"{sentence}; known gates: {', '.join(self.known)}" if self.known else sentence


_NO_VERSION = "is no Kubernetes version: write 1.16 or later, as in 1.33"


class VersionError(ConfigError):
    """
    A text is no Kubernetes version, or one from before topology spread constraints.

    Attributes:
        text: What was written.
    """

    def __init__(self, text: str, problem: str = _NO_VERSION) -> None:
        """Keep the text that is no version, and say what it is instead."""
        super().__init__(f"{text!r} {problem}")
        self.args = (text, problem)
        self.text = text


class CombinedConfigError(ConfigError):
    """
    Several mistakes, so that they can be mended in one go.

    Attributes:
        errors: At least one, in the order in which they stand in the files.
    """

    def __init__(self, errors: Sequence[ConfigError]) -> None:
        """Keep the mistakes together."""
        super().__init__(f"{len(errors)} mistakes")
        self.args = (errors,)
        self.errors = tuple(errors)

    def __str__(self) -> str:
        """Write one mistake a line."""
        return "\n".join(map(str, self.errors))


class ReviewError(EvenspreadError):
    """
    A request that no API server would send.

    Attributes:
        status: The HTTP status to answer with, 400 to 499.
        problem: One sentence for the caller; it never repeats what the caller sent.
    """

    def __init__(self, problem: str, status: int = 400) -> None:
        """Say what is wrong, and the status to answer with."""
        super().__init__(problem, status)
        self.problem = problem
        self.status = status

    def __str__(self) -> str:
        """Give the sentence alone."""
        return self.problem


class OverloadError(EvenspreadError):
    """
    The server has no room for one more request at the moment.

    Attributes:
        bound: Which bound was met, a label of ``evenspread_admission_rejected_total``.
    """

    def __init__(self, bound: str) -> None:
        """Name the bound."""
        super().__init__(bound)
        self.bound = bound

    def __str__(self) -> str:
        """Ask for another call."""
        return f"busy ({self.bound}): call again in a second"


class NotSyncedError(OverloadError):
    """
    The cache of a kind has not been filled for the first time yet.

    Attributes:
        kind: The kind whose objects are not known.
    """

    def __init__(self, kind: str) -> None:
        """Name the kind."""
        super().__init__("not-synced")
        self.args = (kind,)
        self.kind = kind

    def __str__(self) -> str:
        """Say what is waited for."""
        return f"the cache of {self.kind} is not filled yet: call again in a second"


class SourceError(EvenspreadError):
    """
    Facts could not be had, or not all of them.

    Attributes:
        source: A file, a folder or a server.
        problem: What went wrong, a sentence without its full stop.
    """

    def __init__(self, source: str, problem: str) -> None:
        """Name the source and the problem."""
        super().__init__(source, problem)
        self.source = source
        self.problem = problem

    def __str__(self) -> str:
        """Put the source before the problem."""
        return f"{self.source}: {self.problem}"


class ManifestError(SourceError):
    """
    One document of one file cannot be read.

    Attributes:
        line: Where the document, or the mistake in it, stands; from 1.
    """

    def __init__(self, source: str, line: int, problem: str) -> None:
        """Name file, line and problem."""
        super().__init__(source, problem)
        self.args = (source, line, problem)
        self.line = line

    def __str__(self) -> str:
        """Write the place as compilers do."""
        return f"{self.source}:{self.line}: {self.problem}"


class ApiError(SourceError):
    """
    The API server gave no answer, or not the one that was asked for.

    Attributes:
        reason: Why in one or two words, a label of ``evenspread_watch_restarts_total``.
        status: Of HTTP; 0 if there was none.
    """

    def __init__(self, source: str, problem: str, reason: str, status: int = 0) -> None:
        """Name server and problem, and what programs tell them by."""
        super().__init__(source, problem)
        self.args = (source, problem, reason, status)
        self.reason = reason
        self.status = status


class ExpiredError(ApiError):
    """The API server no longer knows the resource version that was asked for."""

    def __init__(self, source: str, problem: str) -> None:
        """Name server and problem."""
        super().__init__(source, problem, "expired", 410)
        self.args = (source, problem)
