"""The site builds without warnings, runs its examples, and needs no other site to be shown."""

import re
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the built site; strict, so that a broken link fails."""
    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


def test_no_page_asks_another_host_for_anything(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assets = re.findall(r"<(?:link|script|img|iframe)[^>]*>", text)
        assert assets
        assert [tag for tag in assets if re.search(r"(?:https?:)?//", tag)] == [], page.name
    for sheet in site.rglob("*.css"):
        assert not re.search(
            r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", sheet.read_text("utf-8")
        )


def test_the_tutorial_shows_what_its_examples_printed_and_drew(site):
    page = (site / "regression.html").read_text(encoding="utf-8")
    assert page.count('class="output"') >= 3
    pictures = re.findall(r'src="(regression_\d+\.png)"', page)
    assert pictures
    assert all((site / name).read_bytes().startswith(b"\x89PNG") for name in pictures)


def test_sources_of_the_site_are_not_published(site):
    assert not [path.name for path in site.rglob("*") if path.suffix in {".py", ".toml", ".md"}]
