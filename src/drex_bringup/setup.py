from glob import glob

from setuptools import find_packages, setup

NAME = "drex_bringup"

setup(
    name=NAME,
    version="0.1.0",
    packages=find_packages(exclude=["test", "test.*"]),
    package_data={NAME: ["py.typed", "**/*.yaml", "**/*.html", "**/*.jinja"]},
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/" + NAME]),
        ("share/" + NAME, ["package.xml"]),
        ("share/" + NAME + "/launch", glob("launch/*.py")),
        ("share/" + NAME + "/config", glob("config/*")),
    ],
    zip_safe=True,
    maintainer="D-REX for ROS 2 maintainers",
    maintainer_email="maintainers@example.org",
    description="Launch files, coordinator and the drex command.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "lifecycle_manager = drex_bringup.nodes.lifecycle_manager:main",
            "supervisor = drex_bringup.nodes.supervisor:main",
            "coordinator = drex_bringup.nodes.coordinator:main",
            "recorder = drex_bringup.nodes.recorder:main",
            "run_job = drex_bringup.nodes.run_job:main",
            "drex = drex_bringup.cli:main",
        ],
    },
)
