import pytest

from credo.data import load_set, set_names, set_path


def test_concrete_holds_the_published_rows():
    concrete = load_set("concrete")
    assert concrete.shape == (1030, 9)
    assert concrete.iloc[0].tolist() == [540, 0, 0, 162, 2.5, 1040, 676, 28, 79.99]
    # Published ranges: cement 102-540 kg, age 1-365 days, strength 2.3-82.6 MPa.
    assert (concrete["cement"].min(), concrete["cement"].max()) == (102, 540)
    assert (concrete["age_days"].min(), concrete["age_days"].max()) == (1, 365)
    assert (concrete["strength"].min(), concrete["strength"].max()) == (2.33, 82.6)


def test_concrete_columns_mean_what_they_say():
    mixture = load_set("concrete").iloc[:, :7].sum(axis=1)
    # The parts are kg in one cubic meter of concrete, which weighs 2.2 to 2.6 tons.
    assert mixture.between(2150, 2600).all()
    assert load_set("concrete")["strength"].corr(load_set("concrete")["cement"]) > 0.4


def test_yacht_is_22_hulls_at_14_speeds():
    yacht = load_set("yacht")
    assert yacht.shape == (308, 7)
    speeds = sorted(yacht["froude_number"].unique())
    assert speeds == pytest.approx([0.125 + 0.025 * i for i in range(14)])
    assert len(yacht.iloc[:, :5].drop_duplicates()) == 22
    # Resistance grows with speed for every hull.
    assert yacht["resistance"].corr(yacht["froude_number"], method="spearman") > 0.95


def test_biopsy_holds_the_published_counts():
    biopsy = load_set("biopsy")
    assert biopsy.shape == (699, 10)
    assert biopsy["diagnosis"].value_counts().to_dict() == {"benign": 458, "malignant": 241}
    assert biopsy.isna().sum().sum() == biopsy["bare_nuclei"].isna().sum() == 16
    grades = biopsy.iloc[:, :9]
    assert (grades.min().min(), grades.max().max()) == (1, 10)
    # Every grade is higher in malignant samples.
    means = grades.groupby(biopsy["diagnosis"]).mean()
    assert (means.loc["malignant"] > means.loc["benign"]).all()


def test_air_passengers_are_twelve_years_that_grow():
    air = load_set("air_passengers")
    assert air.shape == (144, 3)
    # The published ends of Series G, and its largest month.
    assert air["passengers"].tolist()[:3] == [112, 118, 132]
    assert air["passengers"].tolist()[-2:] == [390, 432]
    assert air.loc[air["passengers"].idxmax()].tolist() == [1960, 7, 622]


def test_carbon_dioxide_has_a_season_and_a_trend():
    co2 = load_set("co2")
    assert co2.shape == (521, 3)
    assert co2.iloc[0].tolist() == [1958, 3, 316.1]
    # In years without a gap every year has more, most in May and least in September or October.
    whole = co2.groupby("year")["co2"].transform("count") == 12
    yearly = co2[whole].groupby("year")["co2"].mean()
    assert (yearly.diff().dropna() > 0).all()
    season = co2[whole].groupby("month")["co2"].mean()
    assert (season.idxmax(), season.idxmin()) in {(5, 9), (5, 10)}


def test_an_unknown_set_is_refused_with_the_known_ones():
    names = set_names()
    assert {"biopsy", "concrete", "yacht"} <= set(names)
    with pytest.raises(ValueError, match=f"{', '.join(map(repr, names))}; found 'iris'"):
        set_path("iris")


def test_the_geyser_and_the_galaxies_are_those_that_were_published():
    faithful, galaxies = load_set("faithful"), load_set("galaxies")
    assert faithful.shape == (272, 2)
    assert faithful.iloc[0].tolist() == [3.6, 79]
    # Known summaries: mean eruption 3.488 minutes, mean waiting time 70.9 minutes.
    assert faithful.mean().tolist() == pytest.approx([3.4878, 70.8971], abs=1e-4)
    speed = galaxies["velocity_km_s"]
    assert (len(speed), speed.min(), speed.max(), speed[77]) == (82, 9172, 34279, 26690)
