"""Variables, graphs and factors: separation, cliques, the algebra of tables and Gaussians."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from credo.graphs.conditional_spec import bind as bind
    from credo.graphs.conditional_spec import states_of as states_of
    from credo.graphs.conditional_table import ConditionalTable as ConditionalTable
    from credo.graphs.conditional_table import RoundedTableWarning as RoundedTableWarning
    from credo.graphs.factor import Factor as Factor
    from credo.graphs.variable import UnknownState as UnknownState
    from credo.graphs.variable import UnknownVariable as UnknownVariable
    from credo.graphs.variable import Variable as Variable

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "conditional_spec": ["bind", "states_of"],
        "conditional_table": ["ConditionalTable", "RoundedTableWarning"],
        "factor": ["Factor"],
        "variable": ["UnknownState", "UnknownVariable", "Variable"],
    },
)
