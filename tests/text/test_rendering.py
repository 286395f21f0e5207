"""Small pieces of text."""

from coplay.text.rendering import spans


def test_spans_of_numbers() -> None:
    assert spans([0, 1, 2, 5, 7, 8]) == "0 to 2, 5, 7, 8"
    assert spans([]) == "" and spans([4]) == "4"
