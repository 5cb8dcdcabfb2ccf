#!/usr/bin/env python3
"""Walks the mock through NVIDIA's Python binding (package nvidia-ml-py), whose structs and version tags are NVIDIA's own.

Usage: pynvml_walk.py <library>. Ends with 0 if all answers are those of the scenario written here.
"""

import ctypes
import os
import sys
import tempfile

SCENARIO = """
product: gb200
all: {temperature: {gpu: 44}, recovery_action: 1, mig: {enabled: false}}
gpu:
  1:
    compute_processes: [{pid: 7, used_memory: 4096, sm: 12}, {pid: 8}]
    nvlink: {link: {2: {active: false, crc_flit: 5}}}
    remapped_rows: {uncorrectable: 2, pending: true}
    ecc: {aggregate_uncorrected: {sram: 3, dram: 4}}
"""


def main():
    import pynvml as p

    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(SCENARIO)
        file.flush()
        os.environ["GPUD_NVML_MOCK_SCENARIO"] = file.name
        p.nvmlLib = ctypes.CDLL(sys.argv[1])
        # The binding looks for the library in the system's places only, so it is handed over.
        p._LoadNvmlLibrary = lambda: None
        p.nvmlInit()
        walk(p)
        p.nvmlShutdown()


def walk(p):
    same("driver", p.nvmlSystemGetDriverVersion(), "580.95.05")
    same("count", p.nvmlDeviceGetCount(), 4)
    gpu, other = p.nvmlDeviceGetHandleByIndex(1), p.nvmlDeviceGetHandleByIndex(0)
    same("name", p.nvmlDeviceGetName(gpu), "NVIDIA GB200")
    same("by uuid", p.nvmlDeviceGetIndex(p.nvmlDeviceGetHandleByUUID(p.nvmlDeviceGetUUID(gpu))), 1)
    pci = p.nvmlDeviceGetPciInfo(gpu)
    same("pci", (pci.busId, pci.domain, pci.bus), ("00000009:01:00.0", 9, 1))
    same("temperature", p.nvmlDeviceGetTemperature(gpu, 0), 44)
    same("temperature v", p.nvmlDeviceGetTemperatureV(gpu, 0), 44)
    same("margin", p.nvmlDeviceGetMarginTemperature(gpu), 50)
    total = 189471 << 20
    memory = p.nvmlDeviceGetMemoryInfo(gpu, version=p.nvmlMemory_v2)
    same("memory", (memory.total, memory.reserved + memory.used + memory.free), (total, total))
    same("memory 1", p.nvmlDeviceGetMemoryInfo(gpu).total, total)
    same("rows", list(p.nvmlDeviceGetRemappedRows(gpu)), [0, 2, 1, 0])
    same("histogram", p.nvmlDeviceGetRowRemapperHistogram(gpu).max, 4096)
    same("ecc", p.nvmlDeviceGetTotalEccErrors(gpu, 1, 1), 7)
    same("ecc sram", p.nvmlDeviceGetMemoryErrorCounter(gpu, 1, 1, 7), 3)
    same("link", p.nvmlDeviceGetNvLinkState(gpu, 2), 0)
    same("link errors", p.nvmlDeviceGetNvLinkErrorCounter(gpu, 2, 2), 5)
    same("p2p", p.nvmlDeviceGetP2PStatus(other, gpu, 2), 0)
    processes = p.nvmlDeviceGetComputeRunningProcesses(gpu)
    same("processes", [(q.pid, q.usedGpuMemory) for q in processes], [(7, 4096), (8, None)])
    samples = p.nvmlDeviceGetProcessUtilization(gpu, 0)
    same("process samples", [(s.pid, s.smUtil) for s in samples], [(7, 12)])
    fields = p.nvmlDeviceGetFieldValues(gpu, [p.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, p.NVML_FI_DEV_MEMORY_TEMP, (p.NVML_FI_DEV_NVLINK_ERROR_DL_CRC, 2)])
    same("fields", [(f.nvmlReturn, f.value.uiVal) for f in fields], [(0, 1), (0, 38), (0, 5)])
    for structure in (p.c_nvmlGpuFabricInfo_v2_t(), p.c_nvmlGpuFabricInfo_v3_t()):
        p.nvmlDeviceGetGpuFabricInfoV(gpu, ctypes.byref(structure))
        same("fabric", (structure.state, structure.status, structure.cliqueId, structure.healthMask), (3, 0, 32766, 0x1AA))
        same("cluster", bytes(ctypes.string_at(ctypes.addressof(structure) + 4, 4)).hex(), "a1b2c3d4")
    platform = p.c_nvmlPlatformInfo_v2_t()
    platform.version = p.nvmlPlatformInfo_v2
    p.nvmlDeviceGetPlatformInfo(gpu, ctypes.byref(platform))
    same("platform", bytes(platform)[36:41], bytes([12, 4, 1, 1, 2]))
    gpm(p, gpu)
    refused(p, "link 20", lambda: p.nvmlDeviceGetNvLinkState(gpu, 20), p.NVML_ERROR_INVALID_ARGUMENT)
    refused(p, "fans", lambda: p.nvmlDeviceGetNumFans(gpu), p.NVML_ERROR_NOT_SUPPORTED)


def gpm(p, gpu):
    same("gpm support", p.nvmlGpmQueryDeviceSupport(gpu).isSupportedDevice, 1)
    first, second = p.nvmlGpmSampleAlloc(), p.nvmlGpmSampleAlloc()
    p.nvmlGpmSampleGet(gpu, first)
    p.nvmlGpmSampleGet(gpu, second)
    get = p.c_nvmlGpmMetricsGet_t()
    get.version, get.numMetrics, get.sample1, get.sample2 = 1, 2, first, second
    get.metrics[0].metricId, get.metrics[1].metricId = p.NVML_GPM_METRIC_SM_UTIL, 400
    p.nvmlGpmMetricsGet(get)
    same("gpm", [(m.nvmlReturn, m.value) for m in get.metrics[:2]], [(0, 30.0), (3, 0.0)])
    p.nvmlGpmSampleFree(first)
    p.nvmlGpmSampleFree(second)


def same(what, got, want):
    if got != want:
        sys.exit(f"{what}: {got!r}, not {want!r}")


def refused(p, what, call, code):
    try:
        call()
    except p.NVMLError as error:
        return same(what, error.value, code)
    sys.exit(f"{what}: no error")


if __name__ == "__main__":
    main()
