# D-REX for ROS 2. `make demo` and `make test` do all set-up they need.
SHELL := bash
TORCH ?= torch==2.13.0
ARGS ?=
export TORCH

.PHONY: setup demo test test-slow bench lint clean

setup:            ## what the demo needs (no torch)
	@bash tools/setup/setup.sh demo

demo: setup       ## the main job on the simulated rig; ARGS="--object cookie --seed 3"
	@source ./env.sh && drex demo $(ARGS)

test:             ## set-up with the learning set, then every test but the slow ones
	@bash tools/setup/setup.sh test
	@source ./env.sh && python -m pytest -q $(ARGS)

test-slow:        ## the longer tests
	@bash tools/setup/setup.sh test
	@source ./env.sh && python -m pytest -q -m slow $(ARGS)

bench: setup      ## 5 objects x 3 seeds of the main job
	@source ./env.sh && drex bench main-job $(ARGS)

lint:
	@bash tools/setup/setup.sh test
	@source ./env.sh && ruff check .

clean:            ## build products and environment; runs/ stays
	rm -rf build install log .venv .cache
