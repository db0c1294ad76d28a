"""What every D-REX node is built from."""

from drex_sim.nodes.support.actions import ActionRunner, GoalContext
from drex_sim.nodes.support.node import DrexNode, run_node
from drex_sim.nodes.support.qos import LATCHED, RELIABLE, SENSOR_PUBLISHER, STREAM, TRIALS
from drex_sim.nodes.support.streams import StreamReader
from drex_sim.nodes.support.waiting import GoalOutcome, SteadyActionClient, call_service, run_action_goal, wait_for

__all__ = [
    "LATCHED",
    "RELIABLE",
    "SENSOR_PUBLISHER",
    "STREAM",
    "TRIALS",
    "ActionRunner",
    "DrexNode",
    "GoalContext",
    "GoalOutcome",
    "SteadyActionClient",
    "StreamReader",
    "call_service",
    "run_action_goal",
    "run_node",
    "wait_for",
]
