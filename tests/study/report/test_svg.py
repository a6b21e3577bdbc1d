import pytest

from credo.study.report.svg import svg_picture


@pytest.mark.filterwarnings("error")
def test_letters_that_no_font_has_stay_text_and_warn_of_nothing():
    text = svg_picture("letters", (2.0, 1.0), lambda axes: axes.set_xlabel("日本語"))
    assert "日本語" in text
