from glob import glob

from setuptools import find_packages, setup

NAME = "drex_identification"

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
    description="Push executor and mass estimator of D-REX.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "push_executor = drex_identification.nodes.push_executor:main",
            "mass_estimator = drex_identification.nodes.mass_estimator:main",
        ],
    },
)
