"""The form of conformance cases and answers: one JSON object a line."""

from typing import Any, TypeAlias

Case: TypeAlias = dict[str, Any]
"""One line: ``id``, the input of its suite, and perhaps ``expect``."""

Answer: TypeAlias = dict[str, Any]
"""The same keys as ``expect``."""
