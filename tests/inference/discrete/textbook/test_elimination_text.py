import numpy as np

from credo.graphs import Factor, Variable
from credo.inference import explain_elimination
from naive import roof_factors

ROOF = roof_factors()

EXPLANATION = """\
P(C | L1=True, L2=True) is proportional to
  F1(C) [sum_G F2(G) [sum_A F3(C, G, A) F4(A) F5(A)]]

Step 1. Sum out A: F3(C, G, A) F4(A) F5(A) -> F6(C, G)
  C      G      A=True   A=False   sum
  True   True   0.58212  1.6e-06   0.5821216
  True   False  0.57024  3.2e-06   0.5702432
  False  True   0.1188   6.4e-05   0.118864
  False  False  0.04752  7.36e-05  0.0475936
  16 multiplications, 4 additions

Step 2. Sum out G: F2(G) F6(C, G) -> F7(C)
  C      G=True      G=False     sum
  True   0.11642432  0.45619456  0.57261888
  False  0.0237728   0.03807488  0.06184768
  4 multiplications, 2 additions

Answer: F1(C) F7(C)
  C      product      P(C | L1=True, L2=True)
  True   0.028630944  0.327636754
  False  0.058755296  0.672363246
  sum    0.08738624

22 multiplications by elimination, 32 by full enumeration."""


def test_roof_climbers_are_written_out_as_on_paper():
    found = explain_elimination(ROOF, "C", {"L1": True, "L2": True}, order=["A", "G"])
    assert found == EXPLANATION


def test_a_variable_without_a_say_is_pointed_out():
    text = explain_elimination(ROOF, "C", {"L1": True}, order=["L2", "A", "G"])
    assert "all ones, so L2 has no say" in text


def test_joint_targets_have_a_column_each_in_the_order_asked():
    text = explain_elimination(ROOF, ["G", "C"], {"A": True}, order=["L1", "L2"])
    answer = text[text.index("Answer:") :].splitlines()
    assert answer[1].split()[:3] == ["G", "C", "product"]
    joint = [float(line.split()[2]) for line in answer[2:6]]
    assert np.allclose(joint, [0.0098, 0.038, 0.0384, 0.0608])


def test_long_tables_are_cut():
    a, b, c = (Variable(name, tuple(range(8))) for name in "abc")
    factors = [Factor([a, b], np.ones((8, 8))), Factor([b, c], np.ones((8, 8)))]
    text = explain_elimination(factors, ["a", "c"])
    assert "... and 32 more rows" in text
