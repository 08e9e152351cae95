"""Values of plain YAML scalars."""

from typing import Any

import pytest

from webhook.manifests.scalars import resolve

# plain scalar, its value
SCALARS: dict[str, tuple[str, Any]] = {
    "a word is a string": ("abc", "abc"),
    "nothing is null": ("", None),
    "a tilde is null": ("~", None),
    "yes is a boolean": ("yes", True),
    "y is a boolean": ("y", True),
    "off is a boolean": ("off", False),
    "nope is a string": ("nope", "nope"),
    "an integer": ("42", 42),
    "more digits than any number has are a string": ("1" * 5000, "1" * 5000),
    "a negative integer": ("-1", -1),
    "a positive integer": ("+1", 1),
    "underscores are left out": ("1_000", 1000),
    "a leading zero is octal": ("0755", 0o755),
    "a leading zero before an eight is decimal": ("08", 8),
    "0o is octal": ("0o17", 15),
    "0x is hexadecimal": ("-0x1F", -31),
    "0b is binary": ("0b11", 3),
    "the largest integer of Go": ("18446744073709551615", 2**64 - 1),
    "a larger hexadecimal integer": ("0x10000000000000000", 2**64),
    "a larger decimal integer is a float": ("9223372036854775807000", 9.223372036854776e21),
    "a float": ("1.5", 1.5),
    "a float that starts with its point": (".5", 0.5),
    "an exponent makes a float": ("15e-1", 1.5),
    "a whole float is an integer": ("1.0", 1),
    "a whole float with an exponent is one too": ("1e3", 1000),
    "a huge float stays one": ("1e21", 1e21),
    "a float beyond all bounds is a string": ("1e999", "1e999"),
    "a date is a string": ("2001-12-14", "2001-12-14"),
    "base 60 is a string": ("22:30", "22:30"),
    "a version is a string": ("1.2.3", "1.2.3"),
    "a sign is a string": ("-", "-"),
    "a quantity is a string": ("500m", "500m"),
}


@pytest.mark.parametrize(("text", "value"), SCALARS.values(), ids=SCALARS.keys())
def test_a_plain_scalar_means_what_it_means_to_kubectl(text: str, value: Any) -> None:
    assert resolve(text) == value
    assert type(resolve(text)) is type(value)
