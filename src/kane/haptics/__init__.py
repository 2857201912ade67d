"""Haptic interaction with a mechanism: real-time sessions, virtual couplers and their limits, devices."""

from kane.haptics.coupling.admittance_coupler import AdmittanceCoupler as AdmittanceCoupler
from kane.haptics.coupling.coupler import Coupler as Coupler
from kane.haptics.coupling.passive_midpoint import Ledger as Ledger
from kane.haptics.coupling.passive_midpoint import PassiveMidpoint as PassiveMidpoint
from kane.haptics.coupling.rigid_coupler import RigidCoupler as RigidCoupler
from kane.haptics.coupling.rigid_coupler import largest_inertia as largest_inertia
from kane.haptics.devices.device import Channel as Channel
from kane.haptics.devices.device import Device as Device
from kane.haptics.devices.device import Traits as Traits
from kane.haptics.devices.haply import Haply as Haply
from kane.haptics.devices.pointer import Pointer as Pointer
from kane.haptics.devices.recorded_device import RecordedDevice as RecordedDevice
from kane.haptics.devices.simulated import Arm as Arm
from kane.haptics.devices.simulated import Simulated as Simulated
from kane.haptics.loop.loop_series import SessionRevision as SessionRevision
from kane.haptics.loop.report import Report as Report
from kane.haptics.loop.snapshot import Snapshot as Snapshot
from kane.haptics.replay import replay as replay
from kane.haptics.safety.admittance_limits import AdmittanceLimits as AdmittanceLimits
from kane.haptics.safety.admittance_limits import admittance_limits as admittance_limits
from kane.haptics.safety.coupler_limits import Limits as Limits
from kane.haptics.safety.coupler_limits import coupler_limits as coupler_limits
from kane.haptics.safety.force_limits import Safety as Safety
from kane.haptics.session import Session as Session
