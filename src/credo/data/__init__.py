"""Tables and model files, in and out; typed columns; embedded data sets."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from credo.data.columns import Column as Column
    from credo.data.columns import TableSchema as TableSchema
    from credo.data.columns import column_kinds as column_kinds
    from credo.data.error import DataError as DataError
    from credo.data.error import ModelFileError as ModelFileError
    from credo.data.error import NetworkFileError as NetworkFileError
    from credo.data.error import OutputError as OutputError
    from credo.data.error import TableError as TableError
    from credo.data.example_network import example_network_names as example_network_names
    from credo.data.example_network import example_network_path as example_network_path
    from credo.data.example_network import load_example_network as load_example_network
    from credo.data.letter import letter_image as letter_image
    from credo.data.loss_file import read_losses as read_losses
    from credo.data.model_file import ModelFileInfo as ModelFileInfo
    from credo.data.model_file import load as load
    from credo.data.model_file import model_file_info as model_file_info
    from credo.data.model_file import save as save
    from credo.data.network_file import NETWORK_EXTENSIONS as NETWORK_EXTENSIONS
    from credo.data.network_file import load_network as load_network
    from credo.data.network_file import save_network as save_network
    from credo.data.networkx_network import from_networkx as from_networkx
    from credo.data.networkx_network import to_networkx as to_networkx
    from credo.data.output import atomic_file as atomic_file
    from credo.data.output import require_writable as require_writable
    from credo.data.preparation import PreparedTable as PreparedTable
    from credo.data.preparation import TablePreparation as TablePreparation
    from credo.data.sets import load_set as load_set
    from credo.data.sets import set_names as set_names
    from credo.data.sets import set_path as set_path
    from credo.data.table import Table as Table
    from credo.data.table import as_table as as_table
    from credo.data.table import read_table as read_table
    from credo.data.table_classification import TableClassification as TableClassification
    from credo.data.table_regression import TableRegression as TableRegression
    from credo.data.target import Target as Target
    from credo.data.target import prepare_target as prepare_target
    from credo.data.uai_findings import load_uai_findings as load_uai_findings

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "columns": ["Column", "TableSchema", "column_kinds"],
        "error": [
            "DataError",
            "ModelFileError",
            "NetworkFileError",
            "OutputError",
            "TableError",
        ],
        "example_network": [
            "example_network_names",
            "example_network_path",
            "load_example_network",
        ],
        "letter": ["letter_image"],
        "loss_file": ["read_losses"],
        "model_file": ["ModelFileInfo", "load", "model_file_info", "save"],
        "network_file": ["NETWORK_EXTENSIONS", "load_network", "save_network"],
        "networkx_network": ["from_networkx", "to_networkx"],
        "output": ["atomic_file", "require_writable"],
        "preparation": ["PreparedTable", "TablePreparation"],
        "sets": ["load_set", "set_names", "set_path"],
        "table": ["Table", "as_table", "read_table"],
        "table_classification": ["TableClassification"],
        "table_regression": ["TableRegression"],
        "target": ["Target", "prepare_target"],
        "uai_findings": ["load_uai_findings"],
    },
)
