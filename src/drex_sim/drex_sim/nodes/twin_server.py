"""Owns which object the graph works on."""

from __future__ import annotations

import sys
from typing import Any

from drex_msgs.msg import LoadedObject
from drex_msgs.srv import LoadObject
from drex_sim.errors import DrexError, TwinError, UnknownObjectError
from drex_sim.nodes.support import LATCHED, DrexNode, call_service, run_node
from drex_sim.twin import load_twin

RIG_TIMEOUT = 30.0
"""Seconds of steady time the simulated rig has to build itself anew around an object."""


class TwinServer(DrexNode):
    """Node `twin_server`: service `load_object`, latched topic `loaded_object`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("twin_server", stream_rate=20.0, **kwargs)

    def setup(self) -> None:
        """Parameters and interfaces."""
        self._twin_path = self.declare("twin_path", "", "folders of twins, separated like PATH")
        self._initial = self.declare("object_id", "", "object to load on activation; empty: none")
        self._publisher = self.create_publisher(LoadedObject, "loaded_object", LATCHED)
        self._service = self.create_service(LoadObject, "load_object", self._on_load, callback_group=self.group)
        self._rig = self.create_client(LoadObject, "sim/load", callback_group=self.group)

    def start(self) -> None:
        """Load the object asked for at start; the simulated rig has been told the same one."""
        if self._initial:
            self._announce(self._initial)

    def teardown(self) -> None:
        """Give up the interfaces."""
        self.destroy_service(self._service)
        self.destroy_client(self._rig)
        self.destroy_publisher(self._publisher)

    def _announce(self, object_id: str) -> LoadedObject:
        twin = load_twin(object_id, self._twin_path or None)
        loaded = LoadedObject(object_id=twin.id, twin_hash=twin.hash)
        self._publisher.publish(loaded)
        self.get_logger().info(f"loaded {twin.id} (twin {twin.hash})")
        return loaded

    def _on_load(self, request: LoadObject.Request, response: LoadObject.Response) -> LoadObject.Response:
        if not self.active:
            response.error_code, response.message = LoadObject.Request.INACTIVE, "twin_server is not active"
            return response
        try:
            load_twin(request.object_id, self._twin_path or None)
            if self._rig.service_is_ready():  # only a simulated rig offers it
                placed = call_service(self._rig, LoadObject.Request(object_id=request.object_id), timeout=RIG_TIMEOUT)
                if not placed.success:
                    response.error_code, response.message = LoadObject.Request.RIG_REFUSED, placed.message
                    return response
            response.loaded = self._announce(request.object_id)
        except UnknownObjectError as error:
            response.error_code, response.message = LoadObject.Request.UNKNOWN_OBJECT, str(error)
        except TwinError as error:
            response.error_code, response.message = LoadObject.Request.BAD_TWIN, str(error)
        except DrexError as error:
            response.error_code, response.message = LoadObject.Request.RIG_REFUSED, str(error)
        else:
            response.success, response.message = True, f"{request.object_id} is loaded"
        return response


def main() -> None:
    """Entry point."""
    sys.exit(run_node(TwinServer))
