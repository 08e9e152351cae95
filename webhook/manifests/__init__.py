"""
Read YAML and JSON documents from files as kubectl reads them, with their positions.

Entry points: ``read_documents`` for objects in files and folders, ``read_objects`` for objects in a
text, ``parse`` for documents of any value. This package must not depend on any Kubernetes kind
except ``List``.
"""

from webhook.manifests.document import Document, expand, parse, read_objects
from webhook.manifests.files import SkippedSource, read_documents
from webhook.manifests.type_errors import find_type_mismatch, find_type_mismatches
from webhook.manifests.yaml import format_yaml

__all__ = [
    "Document",
    "SkippedSource",
    "expand",
    "find_type_mismatch",
    "find_type_mismatches",
    "format_yaml",
    "parse",
    "read_documents",
    "read_objects",
]
