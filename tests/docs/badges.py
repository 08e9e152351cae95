"""The badges of the README, drawn from the project's own metadata so that they stay true."""

import tomllib

from tests.controlplane.assets import known_versions
from tests.docs.markdown import ROOT

LETTER = 6.6  # pixels of an average letter at 11 px
MARGIN = 8  # pixels at both sides of a text
HEIGHT = 20  # pixels, as badges usually have

_BADGE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img">
  <title>{label}: {value}</title>
  <rect width="{width}" height="{height}" rx="3" fill="#46525e"/>
  <path d="M{split} 0h{right}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{right}z" fill="#0b7a6b"/>
  <g fill="#fff" text-anchor="middle" font-family="Verdana, sans-serif" font-size="11">
    <text x="{left_middle}" y="14">{label}</text>
    <text x="{right_middle}" y="14">{value}</text>
  </g>
</svg>
"""


def badges() -> dict[str, str]:
    """Draw the badges: name of the file below docs/ -> SVG."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = {
        "licence": ("licence", project["license"]),
        "python": ("Python", project["requires-python"].replace(">=", "") + " or newer"),
        "kubernetes": ("tested with Kubernetes", ", ".join(known_versions())),
    }
    return {f"pictures/badge-{name}.svg": draw_badge(*text) for name, text in texts.items()}


def draw_badge(label: str, value: str) -> str:
    """Draw one badge: the label on the left, the value on the right."""
    left, right = (round(len(text) * LETTER) + 2 * MARGIN for text in (label, value))
    return _BADGE.format(
        label=label,
        value=value,
        width=left + right,
        height=HEIGHT,
        split=left,
        right=right - 3,
        left_middle=left / 2,
        right_middle=left + right / 2,
    )
