from typing import Any

from webhook.cli.inputs.combining import combine_options


def test_options_become_one_argument() -> None:
    @combine_options("size", lambda values: (values.pop("width"), values.pop("height")))
    def draw(**values: Any) -> dict[str, Any]:
        """Draw."""
        return values

    assert draw(width=1, height=2, colour="red") == {"size": (1, 2), "colour": "red"}
    assert draw.__doc__ == "Draw."
