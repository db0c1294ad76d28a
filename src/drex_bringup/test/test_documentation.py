"""Every parameter, topic, service and action of the code is in docs/interfaces.md; no interface carries the truth."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from drex_bringup.nodes.recorder import recorded_topics
from drex_sim.robot.limits import SafetyLimits
from drex_sim.robot.names import HAND_DRIVERS

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = (ROOT / "docs" / "interfaces.md").read_text()
SOURCES = {file: file.read_text() for file in ROOT.glob("src/*/*/nodes/**/*.py")}
CONFIG = ROOT / "src" / "drex_bringup" / "config"


def found(pattern: str) -> set[str]:
    return {name for text in SOURCES.values() for name in re.findall(pattern, text)}


def test_every_parameter_is_documented():
    names = found(r'\bdeclare(?:_parameter)?\(\s*"([a-zA-Z_]+)"')
    assert len(names) > 30
    assert [name for name in sorted(names) if f"`{name}`" not in DOCUMENT] == []


def test_every_configured_parameter_exists():
    record = yaml.safe_load((CONFIG / "params.yaml").read_text())
    declared = found(r'\bdeclare(?:_parameter)?\(\s*"([a-zA-Z_]+)"')
    for node, content in record.items():
        assert f"`{node.rsplit('/', 1)[-1]}`" in DOCUMENT
        for name in content["ros__parameters"]:
            assert name in declared and f"`{name}`" in DOCUMENT, name


def test_every_topic_service_and_action_is_documented():
    names = found(r'(?:create_publisher|create_service|create_client|streams\.add)\(\s*[\w.]+,?\s*"([\w/]+)"')
    names |= found(r'ActionRunner\(\s*self,\s*\w+,\s*"([\w/]+)"') | found(r'streams\.add\(\s*"([\w/]+)"')
    for driver in HAND_DRIVERS:
        names |= {topic for topic, _, _ in recorded_topics(driver)}
    assert {"safety/status", "identify_and_grasp", "push_trial", "/joint_states"} <= names
    assert [name for name in sorted(names) if f"`{name}`" not in DOCUMENT] == []


def test_safety_file_is_valid():
    assert SafetyLimits.from_yaml(CONFIG / "safety.yaml").force > 0


@pytest.mark.parametrize("package", ["drex_identification", "drex_perception", "drex_policy"])
def test_no_estimator_can_read_the_truth(package):
    for file in (ROOT / "src" / package / package).rglob("*.py"):
        text = file.read_text()
        assert "mass_record" not in text and "truth.json" not in text and "DREX_SEALED" not in text, file


def test_only_rig_and_report_know_the_sealed_files():
    knowing = {
        file.relative_to(ROOT / "src").as_posix() for file in ROOT.glob("src/*/drex_*/**/*.py")
        if re.search(r'"truth\.json"|DREX_SEALED', file.read_text())
    }
    assert knowing <= {"drex_sim/drex_sim/rig/truth.py", "drex_sim/drex_sim/nodes/rig_node.py",
                       "drex_bringup/drex_bringup/report/run_data.py"}
    launch = (ROOT / "src/drex_bringup/launch/identify_and_grasp.launch.py").read_text()
    assert '"mass"' not in launch and "mass:=" not in launch


def test_no_message_field_or_parameter_carries_the_truth():
    for file in (ROOT / "src" / "drex_msgs").rglob("*.*"):
        if file.suffix in (".msg", ".srv", ".action"):
            fields = [line.split("#")[0] for line in file.read_text().splitlines()]
            assert not any(re.search(r"truth|true_mass|nominal", field) for field in fields), file
    assert not {name for name in found(r'\bdeclare(?:_parameter)?\(\s*"([a-zA-Z_]+)"') if "mass" in name}
