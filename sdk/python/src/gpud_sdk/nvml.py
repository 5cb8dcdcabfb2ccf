"""NVIDIA GPUs through the driver's management library (NVML). Grant: `nvml: true`.

How NVML's return codes arrive: 3 is `not-supported`, as is 13 and any function that the installed driver is too old
for; 15 is `source-lost`, 16 `needs-reset`, 4 `denied`, 10 `timed-out`, 12 and 9 (library or driver not there)
`not-found`, all others `other`. Codes of newer drivers count by their text: `not supported`, `gpu is lost`,
`gpu requires reset`. Each text says what was asked of which GPU; those of `other` and `not-found` end in `: ` and
NVML's own text (`nvmlDeviceGetTemperature of GPU 3 (GPU-…, 0000:0f:00.0): System is not in ready state`).

A call that does not come back is `timed-out` after 5 seconds while its thread waits on. Further calls to the same GPU
then fail at once, with the time since when it hangs and when it last answered, until the call comes back; other GPUs
are not held up. A GPU whose driver was unloaded is `not-found`.

Readings may be shared between checkers of one round, so they can be 3 seconds old, and the list of devices
10 seconds. Units and numbers are NVML's unless stated. Struct and enum facts: NVIDIA's `nvml.h`.
"""

# Written by tools/generate_nvml.py; not to be edited.

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Union

from gpud_sdk import _host
from gpud_sdk.errors import AccessError


@dataclass(frozen=True)
class Library_Loaded:
    pass


@dataclass(frozen=True)
class Library_NotFound:
    value: str


@dataclass(frozen=True)
class Library_Failed:
    value: str


@dataclass(frozen=True)
class Library_Other:
    value: str


Library = Union[Library_Loaded, Library_NotFound, Library_Failed, Library_Other]


@dataclass(frozen=True)
class Identity:
    """Who a GPU is."""

    index: int
    uuid: str
    name: str
    bus_id: str
    brand: int
    compute_capability: tuple[int, int]
    serial: str | None
    minor_number: int | None
    board_id: int | None
    extra: dict[str, str]


@dataclass(frozen=True)
class MemoryInfo:
    """Frame buffer, bytes."""

    total: int
    reserved: int
    free: int
    used: int


@dataclass(frozen=True)
class Utilization:
    """Percent of the last sample period."""

    gpu: int
    memory: int


class Clock(Enum):
    """Which clock."""

    GRAPHICS = 0
    SM = 1
    MEMORY = 2
    VIDEO = 3


@dataclass(frozen=True)
class Power:
    """Milliwatts; absent where not supported."""

    usage: int | None
    enforced_limit: int | None
    management_limit: int | None


class TemperatureSensor(Enum):
    """Which temperature."""

    CORE = 0
    MEMORY = 1


class TemperatureThreshold(Enum):
    """Which threshold."""

    SHUTDOWN = 0
    SLOWDOWN = 1
    MEMORY_MAX = 2
    GPU_MAX = 3


@dataclass(frozen=True)
class EccMode:
    """ECC switched on."""

    current: bool
    pending: bool


class EccError(Enum):
    """Corrected or uncorrected."""

    CORRECTED = 0
    UNCORRECTED = 1


class EccPeriod(Enum):
    """Since when errors are counted."""

    VOLATILE = 0
    AGGREGATE = 1


class MemoryLocation(Enum):
    """Where, by NVML's `nvmlMemoryLocation_t`."""

    L1_CACHE = 0
    L2_CACHE = 1
    DRAM = 2
    REGISTER_FILE = 3
    TEXTURE_MEMORY = 4
    TEXTURE_SHARED = 5
    CBU = 6
    SRAM = 7


@dataclass(frozen=True)
class RemappedRows:
    """Row remapping."""

    correctable: int
    uncorrectable: int
    pending: bool
    failed: bool


@dataclass(frozen=True)
class NvlinkErrors:
    """Error counters of one NVLink."""

    replay: int
    recovery: int
    crc: int


@dataclass(frozen=True)
class FabricInfo:
    """Membership in an NVLink fabric."""

    cluster_uuid: str
    clique_id: int
    state: int
    status: int
    health_mask: int | None
    health_summary: int | None


@dataclass(frozen=True)
class ComputeProcess:
    """One process that computes on a GPU."""

    pid: int
    used_memory: int | None
    sm_utilization: int | None


@dataclass(frozen=True)
class GpmMetric:
    """One GPM reading."""

    id: int
    value: float


@dataclass(frozen=True)
class RowHistogram:
    """Banks of memory by how many spare rows for remapping they have left."""

    max: int
    high: int
    partial: int
    low: int
    none: int


@dataclass(frozen=True)
class SramEccStatus:
    """Numbers of errors of on-chip memory (SRAM), by NVML's `nvmlEccSramErrorStatus_t` (version 1)."""

    aggregate_uncorrectable_parity: int
    aggregate_uncorrectable_sec_ded: int
    aggregate_correctable: int
    volatile_uncorrectable_parity: int
    volatile_uncorrectable_sec_ded: int
    volatile_correctable: int
    aggregate_uncorrectable_l2: int
    aggregate_uncorrectable_sm: int
    aggregate_uncorrectable_pcie: int
    aggregate_uncorrectable_microcontroller: int
    aggregate_uncorrectable_other: int
    threshold_exceeded: bool


@dataclass(frozen=True)
class Nvlink:
    """One NVLink."""

    link: int
    active: bool
    errors: NvlinkErrors | None


@dataclass(frozen=True)
class ProcessUtilization:
    """What a process used lately, percent."""

    pid: int
    time: int
    sm: int
    memory: int
    encoder: int
    decoder: int


@dataclass(frozen=True)
class MigDevice:
    """A MIG device: a part of a GPU with an identity of its own."""

    index: int
    uuid: str
    name: str
    gpu_instance: int | None
    compute_instance: int | None
    memory: MemoryInfo | None
    multiprocessors: int | None
    extra: dict[str, str]


@dataclass(frozen=True)
class PcieLink:
    """PCIe; absent where not supported."""

    generation: int | None
    width: int | None
    max_generation: int | None
    max_width: int | None


@dataclass(frozen=True)
class GpmReading:
    """GPM readings of one GPU."""

    uuid: str
    metrics: list[GpmMetric] | AccessError


class Device:
    """One GPU. A handle names the GPU by UUID and may outlive it: calls then answer `source-lost` or `not-found`."""

    def __init__(self, resource: Any) -> None:
        self._resource = resource

    def identity(self) -> Identity:
        """Who it is; known since enumeration, so this does not fail."""
        return _host.method(self._resource, "identity", (), globals())

    def memory_info(self) -> MemoryInfo:
        """Frame buffer."""
        return _host.method(self._resource, "memory_info", (), globals())

    def utilization(self) -> Utilization:
        """Busy or not."""
        return _host.method(self._resource, "utilization", (), globals())

    def clock_mhz(self, which: Clock) -> int:
        """Current clock, MHz."""
        return _host.method(self._resource, "clock_mhz", (which,), globals())

    def clock_event_reasons(self) -> int:
        """Bit mask `nvmlClocksEventReasons`."""
        return _host.method(self._resource, "clock_event_reasons", (), globals())

    def power(self) -> Power:
        """Power, milliwatts."""
        return _host.method(self._resource, "power", (), globals())

    def persistence_mode(self) -> bool:
        """Persistence mode on?"""
        return _host.method(self._resource, "persistence_mode", (), globals())

    def temperature(self, sensor: TemperatureSensor) -> int:
        """Degrees Celsius."""
        return _host.method(self._resource, "temperature", (sensor,), globals())

    def temperature_threshold(self, threshold: TemperatureThreshold) -> int:
        """Degrees Celsius."""
        return _host.method(self._resource, "temperature_threshold", (threshold,), globals())

    def temperature_margin(self) -> int:
        """Degrees Celsius left until slowdown; may be negative. `not-supported` before driver 570."""
        return _host.method(self._resource, "temperature_margin", (), globals())

    def ecc_mode(self) -> EccMode:
        """ECC on or off."""
        return _host.method(self._resource, "ecc_mode", (), globals())

    def ecc_total(self, error: EccError, period: EccPeriod) -> int:
        """Total ECC errors."""
        return _host.method(
            self._resource,
            "ecc_total",
            (
                error,
                period,
            ),
            globals(),
        )

    def ecc_count(self, error: EccError, period: EccPeriod, location: MemoryLocation) -> int:
        """ECC errors at one place."""
        return _host.method(
            self._resource,
            "ecc_count",
            (
                error,
                period,
                location,
            ),
            globals(),
        )

    def remapped_rows(self) -> RemappedRows:
        """Row remapping."""
        return _host.method(self._resource, "remapped_rows", (), globals())

    def nvlink_active(self, link: int) -> bool:
        """Link up? Links count from 0; at most 18."""
        return _host.method(self._resource, "nvlink_active", (link,), globals())

    def nvlink_errors(self, link: int) -> NvlinkErrors:
        """Error counters of a link."""
        return _host.method(self._resource, "nvlink_errors", (link,), globals())

    def nvlink_p2p_status(self, other: Device) -> int:
        """`nvmlGpuP2PStatus_t` over NVLink to another GPU: 0 is OK."""
        return _host.method(self._resource, "nvlink_p2p_status", (other,), globals())

    def fabric_info(self) -> FabricInfo:
        """Fabric membership."""
        return _host.method(self._resource, "fabric_info", (), globals())

    def compute_processes(self) -> list[ComputeProcess]:
        """Processes that compute."""
        return _host.method(self._resource, "compute_processes", (), globals())

    def gpm_metrics(self, ids: list[int], period_ms: int) -> list[GpmMetric]:
        """GPM readings over a sample period in milliseconds (10 to 10,000), at most 64 ids; `not-supported` before
        Hopper. Takes as long as the period. Metrics that the GPU does not have are left out.
        """
        return _host.method(
            self._resource,
            "gpm_metrics",
            (
                ids,
                period_ms,
            ),
            globals(),
        )

    def mig_enabled(self) -> bool:
        """MIG mode on?"""
        return _host.method(self._resource, "mig_enabled", (), globals())

    def field_value(self, field: int, scope: int) -> float:
        """A value of `nvmlFieldValue_t` by field and scope id, as a number. Ids 251 to 273 mean other things from
        driver 580.82 on (NVIDIA's known issue); they are passed on as they are.
        """
        return _host.method(
            self._resource,
            "field_value",
            (
                field,
                scope,
            ),
            globals(),
        )

    def presence(self) -> None:
        """Is it still there? `source-lost`, `needs-reset`, `timed-out` or `not-found` (the driver was unloaded) if not,
        as found by the list of devices or by a question that needs the hardware's driver. `denied` only without a
        grant.
        """
        return _host.method(self._resource, "presence", (), globals())

    def nvlinks(self) -> list[Nvlink]:
        """All NVLinks that the GPU has: from 0 until the first that is not supported. `not-supported` when that is the
        first one. Links that fail in another way are left out.
        """
        return _host.method(self._resource, "nvlinks", (), globals())

    def process_utilization(self) -> list[ProcessUtilization]:
        """What processes used, the newest sample of each in the last minute. Empty when none used anything."""
        return _host.method(self._resource, "process_utilization", (), globals())

    def mig_devices(self) -> list[MigDevice]:
        """Its MIG devices; empty without any, `not-supported` where the GPU has no MIG."""
        return _host.method(self._resource, "mig_devices", (), globals())

    def pcie_link(self) -> PcieLink:
        """PCIe now and at best."""
        return _host.method(self._resource, "pcie_link", (), globals())

    def row_histogram(self) -> RowHistogram:
        """Spare rows for remapping."""
        return _host.method(self._resource, "row_histogram", (), globals())

    def sram_ecc_status(self) -> SramEccStatus:
        """Errors of on-chip memory, and whether they are too many. `not-supported` before Ampere, where ECC is off, and
        before driver 550; `denied` to a daemon without root.
        """
        return _host.method(self._resource, "sram_ecc_status", (), globals())


def library_status() -> Library:
    """Is NVML there?"""
    return _host.call("nvml", "library_status", (), globals())


def driver_version() -> str:
    """Driver version, for example `570.133.20`."""
    return _host.call("nvml", "driver_version", (), globals())


def cuda_version() -> int:
    """CUDA version that the driver supports, as major × 1000 + minor × 10."""
    return _host.call("nvml", "cuda_version", (), globals())


def product_name() -> str:
    """Product name of the first GPU as NVML gives it, for example `NVIDIA H100 80GB HBM3`; empty without GPUs."""
    return _host.call("nvml", "product_name", (), globals())


def devices() -> list[Device]:
    """All GPUs, in NVML's order: those that are there, and those that were since the driver was started. What has gone
    answers `source-lost` to every question. A GPU that could not be opened even once has the UUID
    `unknown-gpu-‹index›` and no name; its questions answer why. Devices named exactly `DGX Display` or
    `NVIDIA DGX Display` are left out.
    """
    return _host.call("nvml", "devices", (), globals())


def gpm_metrics_of_all(ids: list[int], period_ms: int) -> list[GpmReading]:
    """GPM readings of all GPUs in one call, which takes little longer than for one: a GPU's sample period runs beside
    the others'. Arguments as `device.gpm-metrics`.
    """
    return _host.call(
        "nvml",
        "gpm_metrics_of_all",
        (
            ids,
            period_ms,
        ),
        globals(),
    )
