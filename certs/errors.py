"""
Everything this package raises on purpose, sorted by whose fault it is.

* ``CertError``
    * ``PairError`` - the operator's: a certificate, a key or a CA that cannot be used; the one
      that is served stays
    * ``StateError`` - the operator's: the state folder cannot be read or written
    * ``StoreError`` - the cluster's: the Secret or a webhook configuration could not be read or
      written; retried
        * ``ConflictError`` - somebody else wrote first; read again, then decide again
        * ``AbsentError`` - the object does not exist

No sentence here ever holds a byte of a key.
"""


class CertError(Exception):
    """
    The root of what this package raises on purpose; never raised itself.

    Attributes:
        where: The file, folder or object.
        problem: What is wrong and what to do instead, a sentence without its full stop.
    """

    def __init__(self, where: str, problem: str) -> None:
        """Name the place and the problem."""
        super().__init__(where, problem)
        self.where = where
        self.problem = problem

    def __str__(self) -> str:
        """Put the place before the problem."""
        return f"{self.where}: {self.problem}"


class PairError(CertError):
    """A certificate, its key or its CA cannot be used."""


class StateError(CertError):
    """The state folder cannot be read or written."""


class StoreError(CertError):
    """The cluster did not answer, or not as it should."""


class ConflictError(StoreError):
    """The object was changed by somebody else since it was read."""

    def __init__(self, where: str) -> None:
        """Name the object."""
        super().__init__(where, "was changed by somebody else, read it again")
        self.args = (where,)


class AbsentError(StoreError):
    """The object does not exist."""

    def __init__(self, where: str) -> None:
        """Name the object."""
        super().__init__(where, "does not exist")
        self.args = (where,)
