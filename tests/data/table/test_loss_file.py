import pytest
from numpy.testing import assert_array_equal

from credo.data.error import TableError
from credo.data.table.loss_file import read_losses

LABELS = ["no", "yes"]


def written(tmp_path, text):
    path = tmp_path / "costs.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "action,no,yes\nwait,0,10\ntreat,1,0\nask,2,2.5\n",
        "what,yes,no\nwait,10,0\ntreat,0,1\nask,2.5,2\n",
        ",no,yes\nwait,0,10\ntreat,1,0\nask,2,2.5\n",
        "action;yes;no\nwait;10;0\ntreat;0;1\nask;2,5;2\n",
    ],
)
def test_columns_are_put_into_the_order_of_the_classes(tmp_path, text):
    losses = read_losses(written(tmp_path, text), LABELS)
    assert_array_equal(losses.loss, [[0, 10], [1, 0], [2, 2.5]])
    assert_array_equal(losses.labels, LABELS)
    assert_array_equal(losses.actions, ["wait", "treat", "ask"])


def test_numbers_may_name_classes_and_actions(tmp_path):
    losses = read_losses(written(tmp_path, "action,0,1\n0,0,5\n1,1,0\n"), ["0", "1"])
    assert_array_equal(losses.actions, ["0", "1"])
    assert_array_equal(losses.loss, [[0, 5], [1, 0]])


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("action,no\nwait,0\ntreat,1\n", "each class, 'no', 'yes'; found none for 'yes'"),
        ("action,no,yes,maybe\na,0,1,2\nb,1,0,2\n", "losses for the unknown 'maybe'"),
        ("action,No,yes\na,0,1\nb,1,0\n", "none for 'no' and losses for the unknown 'No'"),
        ("no,yes\n0,1\n1,0\n", "names of the actions into a first column of their own"),
        ("action,no,yes\nwait,0,10\n", "at least 2 different actions.* found 'wait' alone"),
        ("action,no,yes\na,0,1\na,1,0\n", "found 'a' twice; name each action once"),
        ("action,no,yes\na,0,1\n,1,0\n", "no name in row 2"),
        ("action,no,yes\na,0,\nb,1,0\n", "found nothing for class 'yes' in row 1"),
        ("action,no,yes\na,0,much\nb,1,dear\n", "found 'much' for class 'yes' in row 1"),
        ("action,no,yes\na,0,inf\nb,1,0\n", "finite numbers; found inf"),
        ("", "empty"),
    ],
)
def test_a_file_that_is_no_table_of_losses_is_refused_in_one_sentence(tmp_path, text, part):
    with pytest.raises(TableError, match=part) as caught:
        read_losses(written(tmp_path, text), LABELS)
    message = str(caught.value)
    assert message.startswith(("costs.csv must", "column 'yes' of costs.csv must"))
    assert message.endswith(".")
    assert "\n" not in message
