from typing import Literal

import pytest
from msgspec.structs import replace

from tests.audit.renderers.test_comparison import changed
from tests.audit.world import finding, report
from tests.axe import find_violations
from tests.chromium import launched, needs_browser
from webhook.audit.compare import compare_reports
from webhook.audit.renderers import comparisonpage
from webhook.audit.renderers.comparison import render_comparison


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1600])
def test_axe_finds_no_violation_and_nothing_overflows(
    width: int, scheme: Literal["light", "dark"]
) -> None:
    with launched() as browser:
        page = browser.new_page(viewport={"width": width, "height": 2000}, color_scheme=scheme)
        page.set_content(render_comparison(changed(), "html"))

        assert find_violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_texts_of_manifests_are_no_markup() -> None:
    compared = compare_reports(report(), report(finding(problem="<img src=x>"), name="<b>"))

    text = render_comparison(compared, "html")

    assert "<img" not in text
    assert "shop/<b>" not in text


def test_without_changes_the_page_says_so() -> None:
    assert "Nothing changed." in render_comparison(compare_reports(report(), report()), "html")


def test_of_too_many_workloads_the_others_are_counted() -> None:
    compared = changed()
    number = comparisonpage.MOST_WORKLOADS + 2
    many = replace(compared, workloads=compared.workloads * number)

    assert "Left out: 2 more workloads." in render_comparison(many, "html")
