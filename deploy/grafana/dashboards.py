#!/usr/bin/env python3
"""Writes the Grafana dashboards of this folder, or with --check fails if a file differs from what would be written.

A dashboard is a list of rows, a row a list of panels: title, kind, unit and queries. What Grafana needs besides (ids,
positions, the data source as a variable) is added here, so that a panel is three lines and all panels look alike.
"""

import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).parent
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
# Healthy, degraded, unhealthy; calm colours for what is well.
HEALTH = [
    {"type": "value", "options": {"0": {"text": "Healthy", "color": "green"}}},
    {"type": "value", "options": {"1": {"text": "Degraded", "color": "orange"}}},
    {"type": "value", "options": {"2": {"text": "Unhealthy", "color": "red"}}},
]
NODE = 'instance=~"$instance"'


def panel(title, kind, unit, *queries, about="", width=12, mappings=None):
    """One panel; a query is (expression, legend)."""
    instant = kind in ("table", "stat")
    targets = [
        {
            "refId": chr(ord("A") + number),
            "datasource": SOURCE,
            "expr": expression,
            "legendFormat": legend,
            **({"instant": True, "range": False} if instant else {}),
            **({"format": "table"} if kind == "table" else {}),
        }
        for number, (expression, legend) in enumerate(queries)
    ]
    return {
        "title": title,
        "description": about,
        "type": kind,
        "datasource": SOURCE,
        "targets": targets,
        "gridPos": {"w": width, "h": 5 if kind == "stat" else 8},
        "fieldConfig": {"defaults": {"unit": unit, "mappings": mappings or []}, "overrides": []},
    }


def variable(name, label, query):
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": SOURCE,
        "query": query,
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "current": {"text": "All", "value": "$__all"},
    }


INSTANCE = variable("instance", "Node", "label_values(gpud_build_info, instance)")
GPU = variable("uuid", "GPU", f"label_values(accelerator_nvidia_memory_total_bytes{{{NODE}}}, uuid)")
OF_GPU = NODE + ', uuid=~"$uuid"'
AMD_GPU = variable("bus_id", "GPU", f"label_values(accelerator_amd_memory_total_bytes{{{NODE}}}, bus_id)")
OF_AMD_GPU = NODE + ', bus_id=~"$bus_id"'
# How a line of a GPU of AMD is called.
ON_BUS = "{{instance}} {{bus_id}}"

DASHBOARDS = {
    "fleet": (
        "gpud: fleet",
        [],
        [
            [
                panel("Nodes", "stat", "short", ("count(gpud_build_info)", "nodes"), width=6),
                panel(
                    "Unhealthy nodes",
                    "stat",
                    "short",
                    ("count(instance:gpud_node_health:worst == 2) or vector(0)", "unhealthy"),
                    width=6,
                ),
                panel(
                    "Degraded nodes",
                    "stat",
                    "short",
                    ("count(instance:gpud_node_health:worst == 1) or vector(0)", "degraded"),
                    width=6,
                ),
                panel("GPUs", "stat", "short", ("sum(instance:gpud_gpus:count) or vector(0)", "GPUs"), width=6),
            ],
            [
                panel(
                    "Nodes by health",
                    "state-timeline",
                    "short",
                    ("instance:gpud_node_health:worst", "{{instance}}"),
                    about="The worst health of any check of a node.",
                    mappings=HEALTH,
                ),
                panel(
                    "Checks that fail",
                    "timeseries",
                    "short",
                    ('sum by (gpud_component) (gpud_component_health{health="Unhealthy"})', "{{gpud_component}}"),
                    about="On how many nodes a check is Unhealthy.",
                ),
            ],
            [
                panel("Power of all GPUs", "timeseries", "watt", ("sum(instance:gpud_gpu_power_watts:sum)", "power")),
                panel(
                    "Utilisation of GPUs",
                    "timeseries",
                    "percent",
                    ("instance:gpud_gpu_utilization_percent:avg", "{{instance}}"),
                ),
            ],
            [
                panel(
                    "Versions",
                    "table",
                    "short",
                    ("count by (version) (gpud_build_info)", "{{version}}"),
                    width=24,
                ),
            ],
        ],
    ),
    "node": (
        "gpud: node",
        [INSTANCE],
        [
            [
                panel(
                    "Health of checks",
                    "state-timeline",
                    "short",
                    (
                        f'max by (gpud_component) (2 * gpud_component_health{{{NODE}, health="Unhealthy"}}) '
                        f'+ max by (gpud_component) (gpud_component_health{{{NODE}, health="Degraded"}})',
                        "{{gpud_component}}",
                    ),
                    width=24,
                    mappings=HEALTH,
                ),
            ],
            [
                panel(
                    "Time since the last check",
                    "timeseries",
                    "s",
                    (f"time() - gpud_component_last_check_timestamp_seconds{{{NODE}}}", "{{gpud_component}}"),
                ),
                panel("Free space", "timeseries", "bytes", (f"disk_free_bytes{{{NODE}}}", "{{mount_point}}")),
            ],
            [
                panel("Processor", "timeseries", "percent", (f"cpu_used_percent{{{NODE}}}", "used")),
                panel("Memory", "timeseries", "bytes", (f"memory_used_bytes{{{NODE}}}", "used"),
                      (f"memory_total_bytes{{{NODE}}}", "total")),
            ],
        ],
    ),
    "gpu": (
        "gpud: GPUs",
        [INSTANCE, GPU],
        [
            [
                panel(
                    "Utilisation",
                    "timeseries",
                    "percent",
                    (f"accelerator_nvidia_utilization_gpu_util_percent{{{OF_GPU}}}", "{{instance}} {{uuid}}"),
                ),
                panel(
                    "Memory in use",
                    "timeseries",
                    "percent",
                    (f"accelerator_nvidia_memory_used_percent{{{OF_GPU}}}", "{{instance}} {{uuid}}"),
                ),
            ],
            [
                panel(
                    "Temperature",
                    "timeseries",
                    "celsius",
                    (f"accelerator_nvidia_temperature_current_celsius{{{OF_GPU}}}", "{{instance}} {{uuid}}"),
                    (
                        f"min(accelerator_nvidia_temperature_slowdown_threshold_celsius{{{OF_GPU}}})",
                        "slowdown",
                    ),
                ),
                panel(
                    "Power",
                    "timeseries",
                    "watt",
                    (f"accelerator_nvidia_power_current_usage_milli_watts{{{OF_GPU}}} / 1000", "{{instance}} {{uuid}}"),
                    (f"max(accelerator_nvidia_power_enforced_limit_milli_watts{{{OF_GPU}}}) / 1000", "limit"),
                ),
            ],
            [
                panel(
                    "ECC errors since the last reset",
                    "timeseries",
                    "short",
                    (f"accelerator_nvidia_ecc_volatile_total_uncorrected{{{OF_GPU}}}", "uncorrected {{uuid}}"),
                    (f"accelerator_nvidia_ecc_volatile_total_corrected{{{OF_GPU}}}", "corrected {{uuid}}"),
                ),
                panel(
                    "Remapped rows",
                    "timeseries",
                    "short",
                    (
                        f"accelerator_nvidia_remapped_rows_due_to_uncorrectable_errors{{{OF_GPU}}}",
                        "uncorrectable {{uuid}}",
                    ),
                    (f"accelerator_nvidia_remapped_rows_remapping_pending{{{OF_GPU}}}", "pending {{uuid}}"),
                ),
            ],
            [
                panel(
                    "PCIe lanes",
                    "timeseries",
                    "short",
                    (f"accelerator_nvidia_pcie_link_width{{{OF_GPU}}}", "{{instance}} {{uuid}}"),
                ),
                panel(
                    "NVLink errors per second",
                    "timeseries",
                    "short",
                    (f"deriv(accelerator_nvidia_nvlink_crc_errors{{{OF_GPU}}}[5m])", "CRC {{uuid}}"),
                    (f"deriv(accelerator_nvidia_nvlink_replay_errors{{{OF_GPU}}}[5m])", "replay {{uuid}}"),
                ),
            ],
            [
                panel(
                    "SM occupancy",
                    "timeseries",
                    "percent",
                    (f"accelerator_nvidia_gpm_gpu_sm_occupancy_percent{{{OF_GPU}}}", "{{instance}} {{uuid}}"),
                ),
                panel(
                    "Slowed down by hardware",
                    "timeseries",
                    "short",
                    (f"accelerator_nvidia_clock_hw_slowdown{{{OF_GPU}}}", "{{instance}} {{uuid}}"),
                ),
            ],
        ],
    ),
    "gpu-amd": (
        "gpud: AMD GPUs",
        [INSTANCE, AMD_GPU],
        [
            [
                panel(
                    "Utilisation",
                    "timeseries",
                    "percent",
                    (f"accelerator_amd_utilization_gpu_percent{{{OF_AMD_GPU}}}", ON_BUS),
                ),
                panel(
                    "Memory in use",
                    "timeseries",
                    "percent",
                    (f"accelerator_amd_memory_used_percent{{{OF_AMD_GPU}}}", ON_BUS),
                ),
            ],
            [
                panel(
                    "Temperature",
                    "timeseries",
                    "celsius",
                    (f"accelerator_amd_temperature_celsius{{{OF_AMD_GPU}}}", ON_BUS + " {{sensor}}"),
                    (
                        f"min by (sensor) (accelerator_amd_temperature_critical_celsius{{{OF_AMD_GPU}}})",
                        "critical {{sensor}}",
                    ),
                ),
                panel(
                    "Power",
                    "timeseries",
                    "watt",
                    (f"accelerator_amd_power_watts{{{OF_AMD_GPU}}}", ON_BUS),
                    (f"max(accelerator_amd_power_cap_watts{{{OF_AMD_GPU}}})", "limit"),
                ),
            ],
            [
                panel(
                    "Memory errors since the driver was loaded",
                    "timeseries",
                    "short",
                    (
                        f"accelerator_amd_ecc_uncorrected_errors{{{OF_AMD_GPU}}}",
                        "uncorrected {{instance}} {{bus_id}} {{block}}",
                    ),
                    (
                        f"accelerator_amd_ecc_deferred_errors{{{OF_AMD_GPU}}}",
                        "deferred {{instance}} {{bus_id}} {{block}}",
                    ),
                    (
                        f"accelerator_amd_ecc_corrected_errors{{{OF_AMD_GPU}}}",
                        "corrected {{instance}} {{bus_id}} {{block}}",
                    ),
                    about="Of all parts of a GPU that count errors (RAS); umc is the memory.",
                ),
                panel(
                    "Bad pages",
                    "timeseries",
                    "short",
                    (f"accelerator_amd_ecc_bad_pages{{{OF_AMD_GPU}}}", "{{state}} {{instance}} {{bus_id}}"),
                    about="Pages of memory that were taken out of use, that wait for it, or for which it failed.",
                ),
            ],
            [
                panel(
                    "PCIe lanes",
                    "timeseries",
                    "short",
                    (f"accelerator_amd_pcie_link_width{{{OF_AMD_GPU}}}", ON_BUS),
                    about="An idle GPU may give up lanes to save power.",
                ),
                panel(
                    "XGMI errors",
                    "timeseries",
                    "short",
                    (
                        f"accelerator_amd_xgmi_uncorrected_errors{{{OF_AMD_GPU}}}",
                        "uncorrected {{instance}} {{bus_id}}",
                    ),
                    (f"accelerator_amd_xgmi_corrected_errors{{{OF_AMD_GPU}}}", "corrected {{instance}} {{bus_id}}"),
                    about="Errors of the links between GPUs, since the driver was loaded.",
                ),
            ],
            [
                panel(
                    "GPUs",
                    "timeseries",
                    "short",
                    (f"accelerator_amd_gpu_counts_found{{{NODE}}}", "with a driver {{instance}}"),
                    (f"accelerator_amd_gpu_counts_on_bus{{{NODE}}}", "on the PCI bus {{instance}}"),
                ),
                panel(
                    "Kernel messages of faults",
                    "timeseries",
                    "short",
                    (f"sum by (instance, kind) (accelerator_amd_errors_recent{{{NODE}}})", "{{instance}} {{kind}}"),
                    about="Events of the last hour, or of the window that accelerator-amd-errors is configured with.",
                ),
            ],
        ],
    ),
    "infiniband": (
        "gpud: InfiniBand",
        [INSTANCE],
        [
            [
                panel(
                    name.replace("_", " ").capitalize(),
                    "timeseries",
                    "short",
                    (f"accelerator_nvidia_infiniband_{name}{{{NODE}}}", "{{instance}} {{device}}/{{port}}"),
                )
                for name in pair
            ]
            for pair in [
                ("link_downed", "link_error_recovery"),
                ("symbol_error", "local_link_integrity_errors"),
                ("port_rcv_errors", "port_xmit_discards"),
            ]
        ],
    ),
    "checks": (
        "gpud: cost of checks",
        [INSTANCE],
        [
            [
                panel(
                    "Processor time of checks",
                    "timeseries",
                    "percentunit",
                    (f"rate(gpud_checker_seconds_total{{{NODE}}}[5m])", "{{checker}}"),
                    about="A check's time on a processor, waits included, as a share of one core.",
                ),
                panel(
                    "Most memory of a check",
                    "timeseries",
                    "bytes",
                    (f"gpud_checker_memory_high_water_bytes{{{NODE}}}", "{{checker}}"),
                ),
            ],
            [
                panel(
                    "Host calls",
                    "timeseries",
                    "short",
                    (f"rate(gpud_checker_host_calls_total{{{NODE}}}[5m])", "{{checker}}"),
                ),
                panel(
                    "Traps and time-outs",
                    "timeseries",
                    "short",
                    (f"gpud_checker_traps_total{{{NODE}}}", "traps {{checker}}"),
                    (f"gpud_checker_timeouts_total{{{NODE}}}", "time-outs {{checker}}"),
                ),
            ],
            [
                panel(
                    "The daemon's processor time",
                    "timeseries",
                    "percentunit",
                    (f'rate(process_cpu_seconds_total{{{NODE}, job="gpud"}}[5m])', "{{instance}}"),
                ),
                panel(
                    "The daemon's memory",
                    "timeseries",
                    "bytes",
                    (f'process_resident_memory_bytes{{{NODE}, job="gpud"}}', "{{instance}}"),
                ),
            ],
            [
                panel("Database", "timeseries", "bytes", (f"gpud_sqlite_db_size_bytes{{{NODE}}}", "{{instance}}")),
                panel(
                    "Open files",
                    "timeseries",
                    "short",
                    (f'process_open_fds{{{NODE}, job="gpud"}}', "{{instance}}"),
                ),
            ],
        ],
    ),
}


def dashboard(name):
    title, variables, rows = DASHBOARDS[name]
    panels, down = [], 0
    for row in rows:
        left = 0
        for one in row:
            place = {"x": left, "y": down, **one["gridPos"]}
            panels.append({"id": len(panels) + 1, **one, "gridPos": place})
            left += place["w"]
        down += max(one["gridPos"]["h"] for one in row)
    source = {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
    return {
        "uid": f"gpud-{name}",
        "title": title,
        "tags": ["gpud"],
        "schemaVersion": 39,
        "editable": True,
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "30s",
        "templating": {"list": [source, *variables]},
        "panels": panels,
    }


def main():
    stale = []
    for name in DASHBOARDS:
        text = json.dumps(dashboard(name), indent=1) + "\n"
        path = FOLDER / f"{name}.json"
        if sys.argv[1:] == ["--check"]:
            if not path.is_file() or path.read_text() != text:
                stale.append(path.name)
        else:
            path.write_text(text)
    if stale:
        sys.exit(f"{', '.join(stale)}: not what dashboards.py writes; run deploy/grafana/dashboards.py")


main()
