"""Project files of tests."""

from pathlib import Path

from webhook.config.project import PROJECT_FILE

HEAD = "apiVersion: evenspread.io/v1alpha1\nkind: SpreadProject\n"


def write(folder: Path, text: str = "") -> Path:
    """Write a project file into a folder, after its version and kind."""
    file = folder / PROJECT_FILE
    file.write_text(HEAD + text)
    return file
