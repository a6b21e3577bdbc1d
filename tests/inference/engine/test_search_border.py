from credo.inference.engine.search_border import settings_at_edge


def test_settings_at_either_end_are_found_and_told_where_to_go_on():
    grid = {"alpha": [10.0, 0.1, 1.0], "degree": [1, 2, 3], "kind": ["a", "b", "c"]}
    low, high = settings_at_edge({"alpha": 0.1, "degree": 3, "kind": "a"}, grid)
    assert (low.name, low.low, low.high) == ("alpha", 0.1, 10.0)
    assert "smallest tried (0.1 to 10): extend the search below" in low.sentence
    assert "largest tried (1 to 3): extend the search above" in high.sentence


def test_inner_values_switches_and_pairs_of_values_are_no_edge():
    assert not settings_at_edge({"alpha": 1.0}, {"alpha": [0.1, 1.0, 10.0]})
    assert not settings_at_edge({"alpha": 0.1}, {"alpha": [0.1, 1.0]})
    assert not settings_at_edge({"flag": True}, {"flag": [True, False, None]})
    assert not settings_at_edge({"other": 1.0}, {"alpha": [0.1, 1.0, 10.0]})


def test_several_grids_are_one_range():
    grids = [{"k": [1, 2, 3]}, {"k": [3, 4, 5]}]
    assert not settings_at_edge({"k": 3}, grids)
    assert settings_at_edge({"k": 5}, grids)[0].low == 1
