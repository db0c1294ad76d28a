"""Masses of the objects, for the simulator and the report only. Estimators never import this module.

Library masses: the paper's ground truth (Tables 1 and Fig. 7); cube and bulb as printed there.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from drex_sim.errors import TwinError
from drex_sim.twin.store import find_folder

LIBRARY_MASSES: dict[str, float] = {
    "lego": 0.059, "domino": 0.106, "cookie": 0.210, "letter_a": 0.134, "letter_u": 0.125, "ketchup": 0.726,
    "lightbulb": 0.037, "cube": 0.120, "spam": 0.365, "nutella": 0.414, "spray": 0.548,
}
"""Nominal masses [kg]."""


def check_mass(mass: object, what: str) -> float:
    """The mass as a float.

    Raises:
      TwinError: not a positive number below 20 kg.
    """
    if not isinstance(mass, int | float) or not 0.0 < mass < 20.0:
        raise TwinError(f"{what}: mass is {mass!r}; a number between 0 and 20 kg is needed (kilograms, not grams)")
    return float(mass)


def nominal_mass(object_id: str, twin_path: str | None = None) -> float | None:
    """Mass written with a twin [kg]; None when its object.yaml has none.

    Raises:
      TwinError: the mass on disk is not a positive number.
    """
    folder = find_folder(object_id, twin_path)
    if folder is None:
        return LIBRARY_MASSES.get(object_id)
    file = Path(folder) / "object.yaml"
    record = yaml.safe_load(file.read_text()).get("mass")
    if record is None:
        return None
    value = record.get("value") if isinstance(record, dict) else record
    return check_mass(value, f"{file}: mass.value")
