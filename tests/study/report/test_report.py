import copy
import dataclasses
import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from credo.app.console.flag import with_flags
from credo.distributions import Normal, Predictive
from credo.study.compare_job import compare_table
from credo.study.job import fit_table
from credo.study.report.compare_report import comparison_page
from credo.study.report.content import Card, Page, Section, Sentences
from credo.study.report.number_report import MAX_POINTS, N_WORST, drawn_rows, profile_pictures
from credo.study.report.page import page_html, svg_picture
from credo.study.report.report import report_page
from credo.study.result.effect import strongest_effects
from credo.study.result.result import FitSettings
from credo.study.result.wording import score_cells

HOSTILE = "<script>alert('x')</script>"
VOID = {"meta", "br", "img", "hr", "input", "link"}


class Tags(HTMLParser):
    """Collects tags, and checks that each one opened is closed in order."""

    def __init__(self):
        super().__init__()
        self.seen, self.open, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parsed(page):
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    return tags


@pytest.fixture(scope="module")
def page(result):
    return report_page(result)


def test_the_page_is_well_formed_and_answers_in_its_title(page, result):
    tags = parsed(page)
    text = " ".join(" ".join(tags.text).split())
    assert "Predictions of 'outcome' are off by" in text
    for part in (
        "What to believe, and what not to",
        "The candidates",
        "Predictions on test rows",
        "What moves the prediction",
        "The data",
        "Column 'patient_id' is left out: it numbers the rows.",
        "missing values of 'age' in the training rows were averaged over",
        result.data.fingerprint,
    ):
        assert part in text
    for score in result.scores:
        assert f"{score.log_evidence:,.1f}" in text


def test_the_page_loads_nothing_from_elsewhere(page):
    names = re.findall(r"(?:https?:)?//[^\s\"'<>)]+", page)
    # Namespaces are names, not places.
    assert set(names) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    for tag, attributes in parsed(page).seen:
        assert tag not in ("link", "script", "iframe", "img", "object", "embed")
        for name in ("href", "xlink:href", "src"):
            assert attributes.get(name, "#").startswith("#")
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


def test_every_picture_has_a_name_and_ids_of_its_own(page):
    seen = parsed(page).seen
    pictures = [attributes for tag, attributes in seen if tag == "svg"]
    assert len(pictures) >= 7
    ids = [attributes["id"] for _, attributes in seen if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {a["xlink:href"][1:] for _, a in seen if "xlink:href" in a}
    assert links <= set(ids)
    assert set(re.findall(r"url\(#([^)]+)\)", page)) <= set(ids)


def test_names_that_hold_html_or_formulas_are_shown_as_they_are():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    frame = pd.DataFrame(
        {
            HOSTILE: x[:, 0],
            '"onload="x" & $x_{1$': x[:, 1],
            "kind": np.where(x[:, 0] > 0, "<u>bold</u>", "]]><svg>"),
            "constant </td>": 1.0,
            "target <i>": x[:, 0] + 0.1 * rng.normal(size=60),
        }
    )
    page = report_page(fit_table(frame, "target <i>"))
    tags = parsed(page)
    assert not {"script", "u", "i"} & {tag for tag, _ in tags.seen}
    assert not any("onload" in attributes for _, attributes in tags.seen)
    text = "".join(tags.text)
    for name in (HOSTILE, '"onload="x" & $x_{1$', "target <i>", "constant </td>"):
        assert name in text


def test_classes_actions_and_files_that_hold_html_are_shown_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    well, ill = "<s>well</s>", HOSTILE.replace("/", "")
    frame = pd.DataFrame({"x": x, "y": np.where(x + rng.normal(size=80) > 0, ill, well)})
    path = tmp_path / "<i>table.csv"
    frame.to_csv(path, index=False)
    loss = tmp_path / "loss.csv"
    loss.write_text(f"action,{well},{ill}\n<u>treat,1,0\nwait,0,5\n")
    page = report_page(fit_table(path, "y", FitSettings(loss=loss)))
    tags = parsed(page)
    assert not {"script", "s", "i", "u"} & {tag for tag, _ in tags.seen}
    text = "".join(tags.text)
    for name in (well, ill, "<i>table.csv", "<u>treat"):
        assert name in text
    assert HOSTILE.replace("/", "") not in page


def test_a_comparison_of_a_hostile_table_is_shown_as_it_is():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["x", HOSTILE])
    found = compare_table(frame, HOSTILE, ["constant", "linear"])
    tags = parsed(comparison_page(found))
    assert "script" not in {tag for tag, _ in tags.seen}
    assert HOSTILE in "".join(tags.text)


def test_arguments_in_notes_are_options_of_the_command_line():
    said = Sentences((("fact", "pass `task='regression'` <b>"),))
    section = Section("", "", (Card("", "", (said,)),))
    content = Page("", "", "", (), (section,), "")
    typed = page_html(content, wording=with_flags)
    assert '<li class="fact">pass --task regression &lt;b&gt;</li>' in typed
    assert "pass `task=&#39;regression&#39;` &lt;b&gt;" in page_html(content)


def test_the_same_result_gives_the_same_page(result, page):
    assert report_page(result) == page


def test_a_target_nothing_explains_gets_a_page_that_says_so():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    text = " ".join(parsed(report_page(fit_table(frame, "c"))).text)
    assert "The columns say nothing certain about 'c'" in text


def test_a_page_of_many_test_rows_stays_small():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.uniform(size=8000)})
    page = report_page(fit_table(frame.assign(y=frame["x"] + rng.normal(size=8000)), "y"))
    assert len(page) < 600_000


def test_the_chart_of_candidates_says_what_the_table_says(page, result):
    chart = page[page.index("Probability of each candidate") : page.index("Log score of each")]
    for score in result.candidates:
        assert score_cells(score)[2] in unescape(chart)
        assert f"log evidence {score.log_evidence:.1f}" in chart
    assert "%" not in re.sub(r"<[^>]*>", "", chart)
    assert "difference" not in chart


def test_a_page_of_very_few_test_rows_shows_no_share_large(result, table):
    def tiles(page):
        return page[page.index('class="tiles"') : page.index("</header>")]

    assert " %" in tiles(report_page(result))
    few = fit_table(table.head(20), "outcome")
    assert " %" not in tiles(report_page(few))


def with_linear(result, share):
    """Return the result as if the linear candidate had that probability."""
    average = copy.copy(result.training)
    place = average.names_.index("linear")
    average.probability_ = np.where(
        np.arange(len(average.names_)) == place, share, average.probability_ * (1 - share)
    )
    return dataclasses.replace(result, training=average)


def test_weights_of_a_candidate_out_of_the_question_explain_nothing(result):
    page = report_page(with_linear(result, 9e-4))
    assert "Strongest weights of" not in page
    assert "One column at a time" in page


def test_sentence_and_chart_put_the_largest_effect_first(result):
    likely = with_linear(result, 0.01)
    page = report_page(likely)
    told = strongest_effects(likely.training, 12, result.settings.coverage)
    sizes = [abs(effect.mean) for effect in told.effects]
    assert sizes == sorted(sizes, reverse=True)
    chart = unescape(page[page.index("Strongest weights of") :])
    places = [chart.index(f">{effect.term}<") for effect in told.effects]
    assert places == sorted(places)
    assert "the largest first" in chart


def test_rows_with_the_largest_errors_are_drawn_among_many(result):
    n = 2000
    y, mean = np.zeros(n), np.zeros(n)
    y[[3, 1501]] = 77.0, -88.0
    spread = np.ones(n)
    predictive = Predictive(Normal(mean, spread), np.zeros(n), spread)
    held_out = dataclasses.replace(result.held_out, y=y, predictive=predictive)
    many = dataclasses.replace(result, held_out=held_out)
    rows = drawn_rows(many)
    assert {3, 1501} <= set(rows)
    assert len(rows) <= MAX_POINTS + N_WORST


def test_doubt_without_end_does_not_set_the_scale_of_the_profiles(result):
    first = result.profiles[0]
    mean, doubt = first.predictive.mean(), first.predictive.epistemic_std.copy()
    doubt[0] = np.inf
    endless = Predictive(Normal(mean, np.ones_like(mean)), doubt, np.ones_like(mean))
    odd = dataclasses.replace(first, predictive=endless)
    assert np.isinf(odd.band()).any()
    shown = profile_pictures(dataclasses.replace(result, profiles=(odd, *result.profiles[1:])))
    assert len(shown) == len(result.profiles)
    drawn = [svg_picture(one.name, one.size, one.drawing.draw) for one in shown[1:]]
    assert not any("nan" in picture or "inf" in picture for picture in drawn)
