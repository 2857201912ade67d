"""Arrays of the loop of a session, made from a mechanism, a channel, a coupler and limits."""

from __future__ import annotations

import numpy as np

from kane.engine.memory.fill import filled
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.realtime import LOOP_RULES
from kane.engine.memory.views import (
    DeviceCommand,
    DeviceSample,
    LoopRules,
    LoopScratch,
    coupler_inputs_at,
    coupler_inputs_size,
    device_command_at,
    device_command_size,
    device_sample_at,
    device_sample_size,
    handle_motion_at,
    log_row_size,
    loop_counts_at,
    loop_counts_size,
    loop_rules_at,
    loop_scratch_at,
    loop_scratch_size,
    loop_snapshot_at,
    loop_snapshot_size,
    loop_state_at,
    loop_state_size,
)
from kane.engine.realtime.loop_arrays import Circuit, HandlePrograms, MachineCalls, Messages, Port
from kane.errors import ModelError
from kane.haptics.coupling.handle import COUPLER_INPUT_NAMES, Coupled
from kane.haptics.coupling.prediction import copied_for_prediction, moreau_jean_program
from kane.haptics.coupling.rigid_coupler import AnyCoupler, RigidCoupler
from kane.haptics.devices.device import Channel, Traits
from kane.haptics.safety.force_limits import Safety
from kane.haptics.system_calls import system_calls
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import IntegratorState

# The force of a lost device ends within 40 ms: 20 ms to detect the loss, and 20 ms, less one tick, to fade [s].
STALE, END = 0.02, 0.02
FASTEST = 500.0  # 1/s, default rate of change of a force, relative to the largest force
MAX_KEPT_COMMANDS = 10_000  # commands of a session that are kept
FELT = 0.01  # largest error of a predicted pull, relative to the largest force
MISSED = 10  # ticks; a longer delay ends the force


def new_sample() -> DeviceSample:
    """Return a sample of zeros."""
    return device_sample_at(np.zeros(device_sample_size()), 0)


def new_device_command() -> DeviceCommand:
    """Return a command of zeros."""
    return device_command_at(np.zeros(device_command_size()), 0)


def new_scratch() -> LoopScratch:
    """Return the scratch memory of a tick."""
    return loop_scratch_at(np.zeros(loop_scratch_size()), 0)


def new_circuit(
    mechanism: tuple[Coupled, InitialValueProblem, IntegratorState], channel: Channel, rules: LoopRules, first: Vector
) -> Circuit:
    """Return the arrays of a loop that has not ticked yet.

    Args:
        mechanism: mechanism with its coupler, initial value problem, and integrator state.
        channel: channel of the device.
        rules: constants of the session.
        first: the first command.
    """
    coupled, problem, integration = mechanism
    counts = loop_counts_at(np.zeros(loop_counts_size()), 0)
    counts.own_slot[0], counts.exchanged_slot[0] = 0, 1  # Python owns slot 2
    arrays = channel.table, channel.settings, channel.memory
    port = Port(channel.read, channel.write, *arrays, new_sample(), new_device_command())
    n, nx = 1 + len(first), len(integration.x)
    messages = Messages(
        slots=np.tile(first, (3, 1)),
        taken=np.zeros((MAX_KEPT_COMMANDS, n)),
        snapshot=np.zeros(loop_snapshot_size(nx)),
        log=np.zeros((0, log_row_size())),
        script=np.zeros((0, n)),
        recorded=np.zeros((0, log_row_size())),
        running=np.zeros(2),
        offered=np.zeros(4),
    )
    loop_snapshot_at(messages.snapshot, 0, nx).x[:] = integration.x
    machine = system_calls()
    addresses = machine.step, machine.clock, machine.sleep, machine.fence, machine.exchange
    return Circuit(
        rules=rules,
        state=loop_state_at(np.zeros(loop_state_size()), 0),
        counts=counts,
        coupling=coupler_inputs_at(np.zeros(coupler_inputs_size()), 0),
        predicted=coupler_inputs_at(np.full(coupler_inputs_size(), np.nan), 0),  # no prediction yet
        port=port,
        handle=_handle_programs(coupled, problem),
        messages=messages,
        calls=MachineCalls(*addresses, np.zeros(2), new_scratch()),
        moreau_jean=moreau_jean_program(coupled.dyn),
        prediction=copied_for_prediction(integration, None)[2],
    )


def _handle_programs(coupled: Coupled, problem: InitialValueProblem) -> HandlePrograms:
    """Return the programs of the handle and of the energies with their arrays."""
    handle, energy, parameters = coupled.handle, coupled.energy, problem.parameters
    return HandlePrograms(
        motion_program=handle.address,
        energy_program=energy.address,
        constants=handle.stage(parameters).copy(),
        energy_constants=energy.stage(parameters).copy(),
        work=np.zeros(max(handle.n_work, energy.n_work)),
        motion=handle_motion_at(np.zeros(len(coupled.where)), 0),
        energy=np.zeros(2),
        orientation=np.zeros(4),
        reaction=np.zeros(6),
        inputs=len(problem.plan.names) - len(COUPLER_INPUT_NAMES),
    )


def rules_of(traits: Traits, coupler: AnyCoupler, safety: Safety, predict: bool) -> LoopRules:
    """Return the constants of a session.

    Raises:
        ModelError: ticks with a device that measures force are to be predicted.
    """
    if traits.measures_force and predict:
        raise ModelError("predict=True extrapolates positions of a device, and this one measures force; leave it out")
    T, largest = traits.period, np.minimum((safety.force, safety.torque), (traits.force, traits.torque))
    force_scale = np.array([coupler.force_scale, coupler.torque_scale])
    predicts = predict and not isinstance(coupler, RigidCoupler)
    memory = filled(
        LOOP_RULES,
        period=T,
        power=safety.power,
        reach=traits.reach,
        stale=max(STALE, 2 * T),
        ramp_down=max(END - T, 0.0),
        ramp_up=safety.soft,
        missed=MISSED,
        lead=coupler.lead,
        delay=traits.delay,
        scale=(coupler.scale, 1.0),
        force_scale=force_scale,
        largest=largest,
        slew=(FASTEST * safety.force if safety.rise is None else safety.rise, FASTEST * safety.torque),
        fast=(safety.speed, safety.turning_speed),
        leap=(safety.leap, safety.turning_leap),
        brake=(safety.brake, safety.turning_brake),
        crawl=(traits.quantum / T, traits.turning_quantum / T),
        tolerance=FELT * largest / force_scale if predicts else (-np.inf, -np.inf),
        axes=coupler.coupled_axes,
        measures=traits.measures_force,
    )
    return loop_rules_at(memory.view(np.float64), 0)
