"""The twin server over DDS: what it loads, what it refuses, and that the simulated rig is told."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from drex_msgs.msg import LoadedObject
from drex_msgs.srv import LoadObject
from drex_sim.nodes.support import LATCHED, call_service, wait_for
from drex_sim.nodes.twin_server import TwinServer
from drex_sim.twin import load_twin, write_twin


@pytest.fixture
def graph(monkeypatch, tmp_path):
    monkeypatch.setenv("ROS_DOMAIN_ID", "43")
    broken = write_twin(load_twin("lego"), tmp_path)
    (broken / "visual.obj").unlink()
    rclpy.init()
    server = TwinServer(parameter_overrides=[
        Parameter("object_id", value="cookie"), Parameter("twin_path", value=str(tmp_path)),
    ])
    peer, latched = Node("peer"), []
    peer.create_subscription(LoadedObject, "loaded_object", latched.append, LATCHED)
    client = peer.create_client(LoadObject, "load_object")
    executor = MultiThreadedExecutor(num_threads=6)
    executor.add_node(server)
    executor.add_node(peer)
    thread = threading.Thread(target=executor.spin)
    thread.start()
    yield SimpleNamespace(server=server, peer=peer, latched=latched, client=client)
    executor.shutdown(timeout_sec=2.0)
    thread.join(timeout=3.0)
    server.destroy_node()
    peer.destroy_node()
    rclpy.shutdown()


def load(graph, object_id: str) -> LoadObject.Response:
    return call_service(graph.client, LoadObject.Request(object_id=object_id))


def test_loads_on_activation_and_on_request_and_refuses_with_reasons(graph):
    assert graph.server.trigger_configure().name == "SUCCESS"
    assert load(graph, "ketchup").error_code == LoadObject.Request.INACTIVE
    assert graph.server.trigger_activate().name == "SUCCESS"
    assert wait_for(lambda: [m.object_id for m in graph.latched] == ["cookie"], 3.0)
    answer = load(graph, "ketchup")
    assert answer.success and answer.loaded.twin_hash == load_twin("ketchup").hash
    assert wait_for(lambda: graph.latched[-1].object_id == "ketchup", 3.0)
    unknown = load(graph, "teapot")
    assert not unknown.success and unknown.error_code == LoadObject.Request.UNKNOWN_OBJECT
    assert "ketchup" in unknown.message
    bad = load(graph, "lego")
    assert bad.error_code == LoadObject.Request.BAD_TWIN and "visual.obj" in bad.message
    assert graph.latched[-1].object_id == "ketchup"


def test_the_simulated_rig_is_told_and_may_refuse(graph):
    told = []

    def on_load(request: LoadObject.Request, response: LoadObject.Response) -> LoadObject.Response:
        told.append(request.object_id)
        response.success, response.message = request.object_id != "spam", "no room on the table"
        return response

    graph.peer.create_service(LoadObject, "sim/load", on_load, callback_group=ReentrantCallbackGroup())
    assert graph.server.trigger_configure().name == "SUCCESS"
    assert graph.server.trigger_activate().name == "SUCCESS"
    assert wait_for(graph.server._rig.service_is_ready, 5.0)
    assert load(graph, "domino").success
    refused = load(graph, "spam")
    assert refused.error_code == LoadObject.Request.RIG_REFUSED and "no room" in refused.message
    assert told == ["domino", "spam"]
    assert graph.latched[-1].object_id == "domino"
