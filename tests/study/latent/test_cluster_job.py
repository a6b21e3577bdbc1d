import numpy as np
import pandas as pd
import pytest

from credo.data.error import TableError
from credo.study.latent.cluster_job import cluster_table


def agreement(found, true):
    """Return the share of rows in the cluster that most rows of their group are in."""
    table = pd.crosstab(found, true).to_numpy()
    return table.max(axis=1).sum() / len(true)


@pytest.fixture(scope="module")
def planted():
    """A mixed table of three groups, with gaps, an outlier, an identifier and skew."""
    rng = np.random.default_rng(3)
    n = 240
    group = np.repeat([0, 1, 2], [120, 80, 40])
    frame = pd.DataFrame(
        {
            "id": np.arange(1, n + 1),
            "height": rng.normal(np.array([150.0, 170.0, 190.0])[group], 4.0),
            "income": np.exp(rng.normal(np.array([6.0, 9.0, 9.0])[group], 0.5)),
            "color": np.where(
                rng.uniform(size=n) < 0.9, np.array(["red", "blue", "blue"])[group], "green"
            ),
        }
    )
    frame.loc[5, "height"] = 9e5
    frame.loc[rng.choice(n, 25, replace=False), "height"] = np.nan
    frame.loc[rng.choice(n, 25, replace=False), "color"] = None
    return frame, group


@pytest.fixture(scope="module")
def found(planted):
    return cluster_table(planted[0])


def test_planted_groups_of_a_mixed_table_are_found(planted, found):
    assert found.n_clusters == 3
    assert agreement(found.label, planted[1]) > 0.95
    assert found.density.choice.of(3).probability > 0.5


def test_the_answer_names_the_number_and_its_probability(found):
    answer = found.remarks[0]
    assert answer.tone == "answer"
    assert answer.text.startswith("3 clusters, with probability")


def test_cells_far_out_are_said_and_make_no_cluster(found):
    said = " ".join(remark.text for remark in found.remarks)
    assert "1 cell lies far from all others ('height')" in said
    assert min(profile.n_rows for profile in found.profiles) > 20


def test_the_identifier_is_left_aside_and_kept_beside_the_probabilities(planted, found):
    assert any("'id' is left out" in note for note in found.joint.notes)
    frame = found.frame
    assert frame["id"].tolist() == planted[0]["id"].tolist()
    shares = frame[[f"probability of cluster {k}" for k in (1, 2, 3)]].to_numpy()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares.argmax(axis=1) + 1 == frame["cluster"]).all()


def test_profiles_say_what_is_special_of_a_cluster(planted, found):
    smallest = found.profiles[-1]
    assert abs(smallest.n_rows - 40) < 8
    assert "high height (19" in smallest.sentence or "high height (18" in smallest.sentence
    largest = found.profiles[0]
    assert "low income" in largest.sentence
    assert "color 'red'" in largest.sentence


def test_one_cloud_is_one_cluster():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        rng.normal(size=(150, 3)) @ rng.normal(size=(3, 3)), columns=list("xyz")
    )
    found = cluster_table(frame)
    assert found.n_clusters == 1
    assert found.remarks[0].text.startswith("No clusters")


def test_the_number_may_be_asked_for():
    rng = np.random.default_rng(5)
    found = cluster_table(pd.DataFrame({"x": rng.normal(size=40)}), n_clusters=2)
    assert found.n_clusters == 2
    assert "as asked for" in found.remarks[0].text
    assert any("One cluster is as good" in remark.text for remark in found.remarks)


@pytest.mark.parametrize(
    ("frame", "n", "message"),
    [
        (pd.DataFrame({"x": [1.0]}), None, "at least 2 rows"),
        (pd.DataFrame({"x": [1.0, 1.0, 1.0]}), None, "none that can be used"),
        (pd.DataFrame({"x": [1.0, 2.0, 4.5]}), 9, "`clusters` must be at most .* 3; found 9"),
    ],
)
def test_what_cannot_be_clustered_is_said_in_one_sentence(frame, n, message):
    with pytest.raises(TableError, match=message):
        cluster_table(frame, n)


def test_two_rows_and_a_column_without_values_are_enough():
    frame = pd.DataFrame({"x": [1.0, 2.5], "y": [None, None], "color": ["a", "b"]})
    found = cluster_table(frame)
    assert found.n_clusters == 1
    assert any("'y' is left out" in note for note in found.joint.notes)
