"""Estimates masses from recorded pushes: services, the IdentifyObject action, estimate.json."""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drex_identification.conversions import estimate_to_msg, trial_from_msg
from drex_identification.estimators import MassEstimateResult, TipConfig, Verdict, get_estimator, write_estimate
from drex_identification.estimators.config import NUMERIC_FIELDS
from drex_identification.nodes.bag_trials import read_bag_trials
from drex_identification.nodes.identify_object import identify_object
from drex_identification.trials import PushTrial, TrialStore
from drex_msgs.action import Calibrate, ExecutePush, IdentifyObject
from drex_msgs.msg import LoadedObject, MassEstimate
from drex_msgs.msg import PushTrial as PushTrialMsg
from drex_msgs.srv import DeleteTrials, IdentifyMass, ListTrials
from drex_sim.errors import ConfigError, DrexError, PushError, TrialError, UnknownObjectError
from drex_sim.nodes.support import LATCHED, TRIALS, ActionRunner, DrexNode, GoalContext, SteadyActionClient, run_node
from drex_sim.twin import load_twin


class MassEstimator(DrexNode):
    """Node `mass_estimator`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("mass_estimator", stream_rate=50.0, **kwargs)

    def setup(self) -> None:
        """Read parameters and create all interfaces."""
        self._loaded = self.declare("object_id", "", "object when a request names none and nothing is loaded")
        self._twin_path = self.declare("twin_path", "", "folders of twins, separated like PATH; empty: DREX_TWIN_PATH")
        folder = self.declare("run_folder", "", "trials/*.npz and estimate.json go here; empty: a temporary folder")
        self._config = self._declare_config()
        self._scratch = None if folder else tempfile.TemporaryDirectory(prefix="drex-trials-")
        self.run_folder = Path(folder or self._scratch.name)  # type: ignore[union-attr]
        self.store = TrialStore(self.run_folder / "trials")
        for trial_id, problem in self.store.damaged.items():
            self.get_logger().warning(f"trial {trial_id} is skipped: {problem}")
        self._estimating = threading.Lock()
        self.streams.add("loaded_object", LoadedObject, self._on_loaded, qos=LATCHED)
        self.streams.add("push_trial", PushTrialMsg, self._on_trial, qos=TRIALS)
        self._publisher = self.create_publisher(MassEstimate, "mass_estimate", LATCHED)
        self._served = [
            self.create_service(kind, name, callback, callback_group=self.group)
            for kind, name, callback in (
                (IdentifyMass, "identify_mass", self._on_identify), (ListTrials, "list_trials", self._on_list),
                (DeleteTrials, "delete_trials", self._on_delete),
            )
        ]
        self.push_client = SteadyActionClient(self, ExecutePush, "execute_push", callback_group=self.group)
        self._runners = [
            ActionRunner(self, IdentifyObject, "identify_object", lambda context: identify_object(self, context)),
            ActionRunner(self, Calibrate, "calibrate", _refuse_calibration),
        ]

    def _declare_config(self) -> TipConfig:
        """What is known of the rig, one parameter per setting of the estimator."""
        calibration = self.declare("calibration_id", "", "force calibration in use; empty: none")
        # Without a calibration the sensor's own accuracy is what is known of the scale.
        scale = 0.01 if calibration else 0.03
        defaults = TipConfig(force_scale_sigma=scale)
        values = {
            name: self.declare(f"estimator.{name}", float(getattr(defaults, name)), f"see TipConfig.{name}")
            for name in NUMERIC_FIELDS
        }
        return TipConfig(calibration_id=calibration, **values)

    def start(self) -> None:
        """Accept goals."""
        for runner in self._runners:
            runner.resume()

    def stop(self) -> None:
        """Cancel what runs."""
        for runner in self._runners:
            runner.stop()

    def teardown(self) -> None:
        """Give up all interfaces."""
        if not hasattr(self, "_runners"):
            return
        for runner in self._runners:
            runner.destroy()
        for service in self._served:
            self.destroy_service(service)
        self.streams.remove("loaded_object")
        self.streams.remove("push_trial")
        self.push_client.destroy()
        self.destroy_publisher(self._publisher)
        if self._scratch is not None:
            self._scratch.cleanup()
        del self._runners

    # What the callbacks and IdentifyObject share ----------------------------------------------------------
    def object_of(self, object_id: str) -> str:
        """The object asked for, else the loaded one.

        Raises:
          UnknownObjectError: neither is known.
        """
        if chosen := object_id or self._loaded:
            return chosen
        raise UnknownObjectError("no object is loaded and the request names none; call load_object first")

    def estimate(
        self, object_id: str, trials: Sequence[PushTrial], method: str = "auto", config: TipConfig | None = None
    ) -> tuple[MassEstimateResult, MassEstimate]:
        """Estimate, write estimate.json, publish, and return both forms.

        Raises:
          UnknownObjectError, TwinError, TrialError, ConfigError: see the estimator.
        """
        twin = load_twin(object_id, self._twin_path or None)
        with self._estimating:
            result = get_estimator(method).estimate(trials, twin, config or self._config)
            stamp = self.get_clock().now()
            write_estimate(result, self.run_folder / "estimate.json", stamp.nanoseconds * 1e-9)
            message = estimate_to_msg(result, stamp.to_msg())
            self._publisher.publish(message)
        return result, message

    # Callbacks --------------------------------------------------------------------------------------------
    def _on_loaded(self, message: LoadedObject) -> None:
        self._loaded = message.object_id

    def _on_trial(self, message: PushTrialMsg) -> None:
        if (self.run_folder / "trials" / "deleted" / f"{message.trial_id}.npz").exists():
            return
        trial = trial_from_msg(message)
        if self.store.add(trial):
            self.get_logger().info(f"trial {trial.trial_id}: {trial.outcome}, {trial.duration:.1f} s")

    def _on_identify(self, request: IdentifyMass.Request, response: IdentifyMass.Response) -> IdentifyMass.Response:
        if not self.active:
            return _failed(response, request.INACTIVE, "mass_estimator is not active")
        try:
            get_estimator(request.method)
        except ConfigError as error:
            return _failed(response, request.UNKNOWN_METHOD, str(error))
        try:
            config = self._config.override(request.parameter_names, request.parameter_values)
            object_id = self.object_of(request.object_id)
            load_twin(object_id, self._twin_path or None)
            trials = self._trials(request, object_id)
            if not trials:
                return _failed(response, request.NO_TRIALS,
                               f"no trials of {object_id} are recorded; push it first (action execute_push)")
            result, response.estimate = self.estimate(object_id, trials, request.method, config)
        except UnknownObjectError as error:
            return _failed(response, request.UNKNOWN_OBJECT, str(error))
        except TrialError as error:
            return _failed(response, request.BAD_TRIAL, str(error))
        except ConfigError as error:
            return _failed(response, request.BAD_PARAMETER, str(error))
        except DrexError as error:
            return _failed(response, request.INTERNAL, str(error))
        except Exception as error:
            self.report_exception("identify_mass failed", error)
            text = f"{type(error).__name__}: {error}; see the log of mass_estimator"
            return _failed(response, request.INTERNAL, text)
        response.success = result.verdict is Verdict.IDENTIFIED
        response.error_code = request.NONE if response.success else request.NOT_IDENTIFIED
        response.message = describe(result)
        return response

    def _trials(self, request: IdentifyMass.Request, object_id: str) -> list[PushTrial]:
        if not request.bag_uri:
            return self.store.select(object_id, request.trial_ids)
        trials = read_bag_trials(request.bag_uri)
        if request.trial_ids:
            known = {trial.trial_id: trial for trial in trials}
            missing = [trial_id for trial_id in request.trial_ids if trial_id not in known]
            if missing:
                raise TrialError(f"trial {', '.join(missing)} is not in {request.bag_uri}; there: {', '.join(known)}")
            return [known[trial_id] for trial_id in request.trial_ids]
        return [trial for trial in trials if trial.object_id == object_id]

    def _on_list(self, request: ListTrials.Request, response: ListTrials.Response) -> ListTrials.Response:
        if not self.active:
            response.error_code, response.message = request.INACTIVE, "mass_estimator is not active"
            return response
        trials = self.store.list(request.object_id)
        response.trial_ids = [trial.trial_id for trial in trials]
        response.object_ids = [trial.object_id for trial in trials]
        response.outcomes = [trial.outcome for trial in trials]
        response.durations = [trial.duration for trial in trials]
        response.message = f"{len(trials)} trial(s) in {self.store.folder}"
        return response

    def _on_delete(self, request: DeleteTrials.Request, response: DeleteTrials.Response) -> DeleteTrials.Response:
        if not self.active:
            response.error_code, response.message = request.INACTIVE, "mass_estimator is not active"
            return response
        try:
            response.deleted = self.store.delete(request.trial_ids)
        except TrialError as error:
            response.error_code, response.message = request.UNKNOWN_TRIAL, str(error)
        else:
            response.message = f"{response.deleted} trial(s) moved to {self.store.folder / 'deleted'}"
        return response


def describe(result: MassEstimateResult) -> str:
    """One line for people."""
    if result.verdict is Verdict.IDENTIFIED:
        return (
            f"{result.object_id}: {result.mass:.4f} kg +- {result.mass_stddev:.4f} (95 %: {result.ci95[0]:.4f} .."
            f" {result.ci95[1]:.4f}), {result.reason}"
        )
    return f"{result.object_id}: {result.verdict.name}, {result.reason}; next: {result.next_action}"


def _failed(response: IdentifyMass.Response, code: int, message: str) -> IdentifyMass.Response:
    response.success, response.error_code, response.message = False, code, message
    nan = float("nan")
    response.estimate = MassEstimate(mass=nan, mass_stddev=nan, ci95_low=nan, ci95_high=nan,
                                     verdict=MassEstimate.UNIDENTIFIABLE, reason=message)
    return response


def _refuse_calibration(_: GoalContext) -> Calibrate.Result:
    raise PushError(
        "calibration of the wrist force is not available in this release; set calibration_id and"
        " estimator.force_scale_sigma from the sensor's certificate", "NOT_SUPPORTED"
    )


def main() -> int:
    """Entry point."""
    return run_node(MassEstimator)


if __name__ == "__main__":
    sys.exit(main())
