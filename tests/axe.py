"""
axe-core, which finds what keeps people with disabilities from using a page.

``python -m tests.axe`` takes it once from an npm package.
"""

from playwright.sync_api import Page

from tests import npmpackage
from tests.npmpackage import Part

PACKAGE = "axe-core@4.14.1"
SCRIPT = Part(
    "package/axe.min.js",
    "axe-4.14.1.min.js",
    "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c",
)

_RUN = """async () => {
  const result = await axe.run(document);
  const undecided = result.incomplete.filter(found => found.id !== "color-contrast");
  return [...result.violations, ...undecided].map(found =>
    `${found.id}: ${found.nodes[0].html.slice(0, 200)}: ${found.nodes[0].failureSummary}`);
}"""


def find_violations(page: Page) -> list[str]:
    """
    Find violations of all rules of axe-core on a page, and what it cannot decide.

    It may leave undecided the contrast of single characters, and of text in drawings.

    Args:
        page: As it is laid out now: size, colours and medium count.
    """
    page.evaluate(npmpackage.needed(SCRIPT).read_text(encoding="utf-8"))
    found: list[str] = page.evaluate(_RUN)
    return found


if __name__ == "__main__":
    raise SystemExit(npmpackage.take(PACKAGE, [SCRIPT]))
