"""Digital copies of objects: format, library, loading."""

from drex_sim.twin.format import Twin
from drex_sim.twin.store import list_twins, load_twin, read_twin, write_twin

__all__ = ["Twin", "list_twins", "load_twin", "read_twin", "write_twin"]
