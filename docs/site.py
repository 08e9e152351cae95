"""
What mkdocs does not do by itself: pages that stand beside docs/, and links to them.

In a checkout a page links to others by where they are in the repository; on the site all pages are
in one folder. So such links are written anew here; one to a file that is no page becomes its path.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]

ELSEWHERE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "MAINTAINERS.md": "maintainers.md",
    "ROADMAP.md": "roadmap.md",
    "SECURITY.md": "security.md",
    "deploy/monitoring/runbooks.md": "runbooks.md",
}
"""Pages beside docs/: where they are in the repository, and on the site."""

_SOURCE = {site: source for source, site in ELSEWHERE.items()}
_PICTURE = r"!\[[^]]*\]\([^)]*\)"
_LINK = re.compile(
    rf"(?P<picture>!?)\[(?P<text>(?:{_PICTURE}|[^]])+)\]"
    r"\((?P<target>(?!https?://|#)[^)\s#]+)(?P<anchor>#\S+?)?\)"
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that stand elsewhere."""
    for source, site in ELSEWHERE.items():
        files.append(File.generated(config, site, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead the links of a page to where things are on the site."""
    del config
    source = _SOURCE.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def led(link: re.Match[str]) -> str:
        text = _LINK.sub(led, link["text"])  # a picture may be a link
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link["target"]))
        target = ELSEWHERE.get(path, path.removeprefix("docs/"))
        if files.get_file_from_path(target):
            return f"{link['picture']}[{text}]({target}{link['anchor'] or ''})"
        if (ROOT / path).exists():
            return f"{text} (`{path}`)"
        return link[0]  # broken: mkdocs reports it

    return _LINK.sub(led, markdown)
