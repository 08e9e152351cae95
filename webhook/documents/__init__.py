"""Documents of YAML and JSON, read from files as kubectl reads them, each with its place."""

from webhook.documents.document import Document, expand, parse
from webhook.documents.dump import as_yaml
from webhook.documents.files import Skipped, Unpack, read_documents, read_file, read_text, walk
from webhook.documents.lines import Path, render_path
from webhook.documents.mistypes import Mistype, mistype
from webhook.documents.yaml import is_object

__all__ = [
    "Document",
    "Mistype",
    "Path",
    "Skipped",
    "Unpack",
    "as_yaml",
    "expand",
    "is_object",
    "mistype",
    "parse",
    "read_documents",
    "read_file",
    "read_text",
    "render_path",
    "walk",
]
