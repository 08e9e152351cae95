"""Documents of YAML and JSON, read from files as kubectl reads them, each with its place."""

from webhook.documents.document import Document, expand, parse
from webhook.documents.dump import as_yaml
from webhook.documents.files import (
    STDIN,
    Skipped,
    Unpack,
    objects_of,
    read_data,
    read_documents,
    read_file,
    read_text,
    source_of,
    walk,
)
from webhook.documents.lines import Path, render_path
from webhook.documents.mistypes import Mistype, mistype
from webhook.documents.texts import decode, encode
from webhook.documents.yaml import is_array, is_object

__all__ = [
    "STDIN",
    "Document",
    "Mistype",
    "Path",
    "Skipped",
    "Unpack",
    "as_yaml",
    "decode",
    "encode",
    "expand",
    "is_array",
    "is_object",
    "mistype",
    "objects_of",
    "parse",
    "read_data",
    "read_documents",
    "read_file",
    "read_text",
    "render_path",
    "source_of",
    "walk",
]
