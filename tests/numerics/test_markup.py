from html.parser import HTMLParser

from credo.numerics.markup import html_page, html_table


class Tags(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text.append(data)


def read(page):
    tags = Tags()
    tags.feed(page)
    return tags


def test_every_text_of_a_page_is_escaped():
    bad = "<script>alert('a' & \"b\")</script>"
    page = read(html_page(bad, html_table([bad, bad], [[bad, bad]]), lines=[bad]))
    assert "script" not in page.tags
    assert page.text.count(bad) == 6


def test_a_table_has_its_cells_in_order():
    page = read(html_table(["name", "mean"], [["a", "1"], ["b", "2"]]))
    assert page.text == ["name", "mean", "a", "1", "b", "2"]
    assert page.tags.count("tr") == 3
