"""Distributions as JSON objects: the class, and its parameters as numbers in lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from credo.data.error import ModelFileError, NetworkFileError
from credo.data.model_file.codec import Decoder, Encoder
from credo.data.model_file.registry import registered_classes
from credo.data.network_file.json_field import field_of
from credo.distributions.distribution import Distribution

__all__ = ["distribution_of_document", "document_of_distribution"]


def document_of_distribution(distribution: Distribution) -> dict[str, Any]:
    """Return a distribution of credo as a tree of classes and fields, and its arrays as lists.

    Raises
    ------
    NetworkFileError
        If the distribution, or a part of it, is not one of credo.

    Examples
    --------
    >>> from credo.distributions.normal import Normal
    >>> document_of_distribution(Normal(0.5, 2.0))["tree"]["class"]
    'Normal'
    """
    encoder = Encoder()
    try:
        tree = encoder.encode(distribution, type(distribution).__name__)
    except ModelFileError as error:
        raise NetworkFileError(str(error)) from error
    return {"tree": tree, "arrays": [array.tolist() for array in encoder.arrays]}


def distribution_of_document(record: Mapping[str, Any]) -> Distribution:
    """Return the distribution that a document describes.

    Raises
    ------
    NetworkFileError
        If it is none of credo's distributions.
    """
    tree = field_of(record, "tree", dict)
    module = registered_classes().get(str(tree.get("class")), "")
    try:
        if not module.startswith("credo.distributions."):
            raise ModelFileError(f"must be of credo.distributions; found {tree.get('class')!r}")
        arrays = [np.asarray(item) for item in field_of(record, "arrays", list)]
        made = Decoder(arrays).decode(tree)
    except (ModelFileError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise NetworkFileError(
            "a distribution must be written as credo writes it; found that it is not "
            f"({error}). Check that credo wrote the file."
        ) from error
    if not isinstance(made, Distribution):
        raise NetworkFileError(
            f"a distribution must be one of credo's; found a {type(made).__name__}. Check that "
            "credo wrote the file."
        )
    return made
