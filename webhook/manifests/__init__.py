"""
Read YAML and JSON documents from files as kubectl reads them, with their positions.

Entry points: ``read_documents`` for objects in files and folders, ``read_file`` and ``parse`` for
documents of any value. This package must not depend on any Kubernetes kind except ``List``.
"""

from webhook.manifests.document import Document, expand, parse
from webhook.manifests.files import (
    STDIN,
    SkippedSource,
    Unpacker,
    decode,
    encode,
    find_files,
    read_data,
    read_documents,
    read_file,
    read_text,
    select_objects,
    source_of,
)
from webhook.manifests.type_errors import TypeMismatch, find_type_mismatch
from webhook.manifests.yaml import format_yaml
from webhook.policy.paths import is_array, is_object

__all__ = [
    "STDIN",
    "Document",
    "SkippedSource",
    "TypeMismatch",
    "Unpacker",
    "decode",
    "encode",
    "expand",
    "find_files",
    "find_type_mismatch",
    "format_yaml",
    "is_array",
    "is_object",
    "parse",
    "read_data",
    "read_documents",
    "read_file",
    "read_text",
    "select_objects",
    "source_of",
]
