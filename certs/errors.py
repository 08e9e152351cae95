"""
Exceptions of this package, sorted by their cause.

* ``CertError``
    * ``PairError`` - operator error: a certificate, a key or a CA that cannot be used; the served
      one stays
    * ``StateError`` - operator error: the state folder cannot be read or written
    * ``StoreError`` - cluster error: the Secret or a webhook configuration could not be read or
      written; retried
        * ``ConflictError`` - another client wrote first; read again, then decide again
        * ``AbsentError`` - the object does not exist

A message must never contain a byte of a key.
"""


class CertError(Exception):
    """
    Base class of this package's exceptions; never raised itself.

    Attributes:
        where: The file, folder or object.
        problem: The problem and its remedy, a sentence without its full stop.
    """

    def __init__(self, where: str, problem: str) -> None:
        """Store the location and the problem."""
        super().__init__(where, problem)
        self.where = where
        self.problem = problem

    def __str__(self) -> str:
        """Return the location, then the problem."""
        return f"{self.where}: {self.problem}"


class PairError(CertError):
    """A certificate, its key or its CA cannot be used."""


class StateError(CertError):
    """The state folder cannot be read or written."""


class StoreError(CertError):
    """The cluster did not answer, or returned an error."""


class ConflictError(StoreError):
    """Another client changed the object after it was read."""


class AbsentError(StoreError):
    """The object does not exist."""
