"""
The exceptions of evenspread, by whose fault they are.

* ``EvenspreadError``
    * ``ConfigError`` - an error of the operator; the process exits with 2
        * ``GateError`` - a feature gate cannot be set to a value
        * ``VersionError`` - a text is no Kubernetes version
        * ``CombinedConfigError`` - several of these, reported together
    * ``ReviewError`` - an error of the API server (or an impostor); answered with a 4xx
    * ``OverloadError`` - the server is busy for a moment; answered with 503 and ``Retry-After``
        * ``NotSyncedError`` - a cache is not filled yet
    * ``SourceError`` - facts are missing: an unreadable file, an unreachable cluster; exit 3
        * ``ManifestError`` - one document of one file is invalid
        * ``ApiError`` - the API server gave no answer, or an unexpected one; try again
            * ``ExpiredError`` - the API server no longer knows our resource version; list again

An object that breaks a rule is not an error: its verdict is a denial (``webhook.policy.verdict``).
An error holds data, and ``__str__`` builds its message. ``args`` are the arguments of its
constructor, so that it can be sent to another process.
"""

from collections.abc import Sequence


class EvenspreadError(Exception):
    """The base class of evenspread's exceptions; never raised itself."""


class ConfigError(EvenspreadError):
    """
    A setting or a configuration file is invalid.

    Attributes:
        problem: The problem and what to write instead, a sentence without its full stop.
        where: File, line and path of the setting, as far as known; may be empty.
    """

    def __init__(self, problem: str, where: str = "") -> None:
        """Name the problem and its place."""
        super().__init__(problem, where)
        self.problem = problem
        self.where = where

    def __str__(self) -> str:
        """Put the place before the problem."""
        return f"{self.where}: {self.problem}" if self.where else self.problem


class GateError(ConfigError):
    """
    A feature gate cannot be set to the requested value.

    Attributes:
        gate: Its name as written.
        known: The names of known gates; empty where they do not help.
    """

    def __init__(self, gate: str, problem: str, known: Sequence[str] = ()) -> None:
        """Name the gate, the problem, and the known gates."""
        super().__init__(problem)
        self.args = (gate, problem, known)
        self.gate = str(gate)
        self.known = tuple(known)

    def __str__(self) -> str:
        """Put the gate before the problem, and list the known gates."""
        sentence = f"feature gate {self.gate!r} {self.problem}"
        return f"{sentence}; known gates: {', '.join(self.known)}" if self.known else sentence


_NO_VERSION = "is no Kubernetes version: write 1.16 or later, as in 1.33"


class VersionError(ConfigError):
    """
    A text is no Kubernetes version, or one from before topology spread constraints.

    Attributes:
        text: The text as written.
    """

    def __init__(self, text: str, problem: str = _NO_VERSION) -> None:
        """Name the text and the problem."""
        super().__init__(f"{text!r} {problem}")
        self.args = (text, problem)
        self.text = text


class CombinedConfigError(ConfigError):
    """
    Several configuration errors, so that the user can fix them together.

    Attributes:
        errors: At least one, in the order of the files.
    """

    def __init__(self, errors: Sequence[ConfigError]) -> None:
        """Combine the errors."""
        super().__init__(f"{len(errors)} errors")
        self.args = (errors,)
        self.errors = tuple(errors)

    def __str__(self) -> str:
        """Write one error per line."""
        return "\n".join(map(str, self.errors))


class ReviewError(EvenspreadError):
    """
    A request that no API server would send.

    Attributes:
        status: The HTTP status to answer with, 400 to 499.
        problem: One sentence for the caller; it never echoes the request.
    """

    def __init__(self, problem: str, status: int = 400) -> None:
        """Name the problem and the status of the answer."""
        super().__init__(problem, status)
        self.problem = problem
        self.status = status

    def __str__(self) -> str:
        """Give the problem alone."""
        return self.problem


class OverloadError(EvenspreadError):
    """
    The server cannot take another request at the moment.

    Attributes:
        bound: The limit that was reached, a label of ``evenspread_admission_rejected_total``.
    """

    def __init__(self, bound: str) -> None:
        """Name the limit."""
        super().__init__(bound)
        self.bound = bound

    def __str__(self) -> str:
        """Request another call from the caller."""
        return f"busy ({self.bound}): call again in a second"


class NotSyncedError(OverloadError):
    """
    The cache of a kind has not been filled for the first time yet.

    Attributes:
        kind: The kind of the objects in the cache.
    """

    def __init__(self, kind: str) -> None:
        """Name the kind."""
        super().__init__("not-synced")
        self.args = (kind,)
        self.kind = kind

    def __str__(self) -> str:
        """Name the cache."""
        return f"the cache of {self.kind} is not filled yet: call again in a second"


class SourceError(EvenspreadError):
    """
    Facts, or some of them, cannot be read.

    Attributes:
        source: A file, a folder or a server.
        problem: The problem, a sentence without its full stop.
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
        line: The line of the document, or of the error in it; from 1.
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
    The API server gave no answer, or an unexpected one.

    Attributes:
        reason: The reason in one or two words, a label of ``evenspread_watch_restarts_total``.
        status: Of HTTP; 0 if there was none.
        retry_after: Seconds to wait before the next request; 0 if the API server names none.
    """

    def __init__(
        self, source: str, problem: str, reason: str, status: int = 0, retry_after: float = 0
    ) -> None:
        """Name server and problem, with reason, status and pause for programs."""
        super().__init__(source, problem)
        self.args = (source, problem, reason, status, retry_after)
        self.reason = reason
        self.status = status
        self.retry_after = retry_after


class ExpiredError(ApiError):
    """The API server no longer knows the requested resource version."""

    def __init__(self, source: str, problem: str) -> None:
        """Name server and problem."""
        super().__init__(source, problem, "expired", 410)
        self.args = (source, problem)
