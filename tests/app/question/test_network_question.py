import pytest

from credo.app.question.network_question import (
    QuestionError,
    findings_text,
    typed_findings,
    typed_settings,
)
from credo.graphs.variable import Variable

VARIABLES = {
    "smoke": Variable("smoke", ("yes", "no")),
    "rain": Variable("rain", (False, True)),
    "grade": Variable("grade", (1, 2, 3)),
    "a=b": Variable("a=b", ("c=d", "x|y", "u:1")),
    "height": Variable("height"),
}


@pytest.mark.parametrize(
    ("typed", "name", "value"),
    [
        ("smoke=yes", "smoke", "yes"),
        ("rain=true", "rain", True),
        ("rain=False", "rain", False),
        ("grade=2", "grade", 2),
        ("grade=2.0", "grade", 2),
        ("height=1.75", "height", 1.75),
        ("a=b=c=d", "a=b", "c=d"),
        ("a=b=x|y", "a=b", "x|y"),
        ("a=b=u:1", "a=b", "u:1"),
        ("grade=1|3", "grade", {1, 3}),
        ("grade=1:0.9|2:0.3|3:0", "grade", {1: 0.9, 2: 0.3, 3: 0.0}),
    ],
)
def test_a_finding_gets_the_type_of_its_state(typed, name, value):
    found = typed_findings([typed], VARIABLES)
    assert found == {name: value}
    assert type(found[name]) is type(value)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("smoek=yes", ["`given` must name a variable", "'smoek'", "Did you mean 'smoke'?"]),
        ("smoke=yess", ["state of smoke must be one of ['yes', 'no']", "Did you mean 'yes'?"]),
        ("grade=4", ["state of grade must be one of [1, 2, 3]", "found '4'"]),
        ("grade=1|4", ["state of grade must be one of [1, 2, 3]", "found '4'"]),
        ("grade=1:much|2:0.3", ["must be a number", "'much'"]),
        ("smoke=yes:0.5", ["a likelihood of smoke must hold one number", "{'yes': 0.5}"]),
        ("smoke=yes:-1|no:1", ["not negative and not all zero", "{'yes': -1.0, 'no': 1.0}"]),
        ("smoke=yes:0|no:0", ["not negative and not all zero"]),
        ("smoke=yes:inf|no:1", ["must be finite"]),
        ("smoke", ["must be written as variable=state", "'smoke'"]),
        ("height=tall", ["height must be given a finite number", "'tall'"]),
    ],
)
def test_what_is_no_finding_is_told_with_what_is_near(typed, words):
    with pytest.raises(QuestionError) as raised:
        typed_findings([typed], VARIABLES)
    for word in words:
        assert word in str(raised.value)


def test_a_variable_may_be_given_only_once():
    with pytest.raises(QuestionError, match="'smoke' twice"):
        typed_findings(["smoke=yes", "smoke=no"], VARIABLES)


@pytest.mark.parametrize("typed", ["grade=1|3", "smoke=yes:0.8|no:0.2"])
def test_a_variable_is_set_to_one_state_only(typed):
    assert typed_settings(["grade=1"], VARIABLES) == {"grade": 1}
    with pytest.raises(QuestionError, match="`do` must set a variable to one state"):
        typed_settings([typed], VARIABLES)


def test_findings_are_told_as_people_write_them():
    given = {"smoke": "yes", "grade": {3, 1}, "rain": {True: 0.9, False: 0.1}}
    assert findings_text(given) == "smoke = yes, grade = 1 or 3, rain ~ True:0.9 False:0.1"
