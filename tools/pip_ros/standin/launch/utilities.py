"""Helpers under the names where the genuine package has them."""

from .substitutions import normalize_to_list_of_substitutions, perform_substitutions
from .unsupported import refuse_names

__all__ = ["normalize_to_list_of_substitutions", "perform_substitutions"]

__getattr__ = refuse_names("launch.utilities")
