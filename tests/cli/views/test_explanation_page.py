from tests.cli.views.test_explanation import constraint, explanation
from webhook.cli.views.explanation_page import HEIGHT, MOST_COLUMNS, render_page
from webhook.policy.explain.explanation import DomainRow


def domains(number: int) -> list[DomainRow]:
    """Domains with 0, 1, 2 and more pods."""
    return [DomainRow(f"d{i:03}", 1, 0, i, skew=i, fits=True) for i in range(number)]


def test_a_diagram_has_a_column_for_each_domain() -> None:
    page = render_page([(explanation(constraint(*domains(3))), None)])

    assert page.startswith("<!doctype html>")
    assert page.count("<svg") == 1
    assert page.count("<g") == 3
    assert f'height="{HEIGHT:.1f}"' in page  # of the fullest domain


def test_a_diagram_keeps_the_fullest_domains() -> None:
    page = render_page([(explanation(constraint(*domains(MOST_COLUMNS + 5))), None)])

    assert page.count("<g") == MOST_COLUMNS
    assert "5 emptier domains are not drawn." in page


def test_a_constraint_without_domains_has_an_empty_diagram() -> None:
    soft = constraint(when_unsatisfiable="ScheduleAnyway")

    assert "<g" not in render_page([(explanation(soft), None)])


def test_a_diagram_of_nothing_has_no_height() -> None:
    zero = constraint(*domains(1), max_skew=0, global_minimum=0)

    assert 'height="0.0"' in render_page([(explanation(zero), None)])


def test_text_of_objects_is_escaped() -> None:
    page = render_page([(explanation(subject="Pod <script>\x1b"), None)])

    assert "<script" not in page
    assert "Pod &lt;script&gt;\\x1b" in page
