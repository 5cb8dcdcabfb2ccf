/* NVIDIA GPUs through the driver's management library (NVML). Part of gpud.h. Grant: nvml: true.
 *
 *     gpud_nvml_device *gpus;
 *     size_t count;
 *     gpud_error error = gpud_nvml_devices(&gpus, &count);
 *     if (error.code) return error;
 *     for (size_t i = 0; i < count; i++) {
 *         uint32_t celsius;
 *         error = gpud_nvml_temperature(gpus[i], GPUD_NVML_CORE, &celsius);
 *         ...
 *
 * Units and numbers are NVML's unless stated; facts of structs and enums: NVIDIA's nvml.h. Readings may be 3 seconds
 * old, the list of devices 10 seconds.
 *
 * Errors: GPUD_DENIED without the grant; GPUD_NOT_FOUND where there is no library or no driver, or the driver was
 * unloaded; GPUD_NOT_SUPPORTED for what the GPU or an older driver cannot do; GPUD_SOURCE_LOST for a GPU that is gone;
 * GPUD_NEEDS_RESET for one that wants a reset; GPUD_TIMED_OUT for a call that did not come back within 5 seconds, and
 * then at once until it does, for that GPU alone; GPUD_OTHER with NVML's own text for the rest. After an error nothing
 * has been written to the pointers.
 */
#ifndef GPUD_NVML_H
#define GPUD_NVML_H

#include "gpud.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A number that not every GPU or driver has. */
typedef struct gpud_optional {
    bool known;
    uint64_t value; /* 0 when it is not known. */
} gpud_optional;

/* ---- the library ------------------------------------------------------------------------------------------------ */

/* What is known of the library. */
typedef enum gpud_nvml_status {
    GPUD_NVML_LOADED,    /* Loaded, and devices could be enumerated. */
    GPUD_NVML_NOT_FOUND, /* No library or no driver on this machine. */
    GPUD_NVML_FAILED,    /* Loaded, but initialisation or enumeration failed. */
    GPUD_NVML_OTHER      /* Nothing can be said yet: the driver is being started. Or GPUD_DENIED, in words. */
} gpud_nvml_status;

/* The same with words for a person: what was looked for, or NVML's text; empty when it is loaded. */
typedef struct gpud_nvml_library {
    gpud_nvml_status status;
    const char *detail;
} gpud_nvml_library;

/* Is NVML there? */
gpud_nvml_library gpud_nvml_library_status(void);
/* Driver version, for example 570.133.20. */
gpud_error gpud_nvml_driver_version(const char **version);
/* CUDA version that the driver supports, as major * 1000 + minor * 10. */
gpud_error gpud_nvml_cuda_version(uint32_t *version);
/* Product name of the first GPU as NVML gives it, for example "NVIDIA H100 80GB HBM3"; empty without GPUs. */
gpud_error gpud_nvml_product_name(const char **name);

/* ---- GPUs ------------------------------------------------------------------------------------------------------- */

/* One GPU, by UUID. Good until the call ends, copies too; it may outlive the GPU, whose readings are errors then. */
typedef struct gpud_nvml_device {
    int32_t handle;
} gpud_nvml_device;

/* All GPUs, in NVML's order: those that are there, and those that were since the driver was started. What has gone
 * answers GPUD_SOURCE_LOST to every question. A GPU that could not be opened even once has the UUID unknown-gpu-INDEX
 * and no name; its questions answer why. Devices named exactly "DGX Display" or "NVIDIA DGX Display" are left out. */
gpud_error gpud_nvml_devices(gpud_nvml_device **devices, size_t *count);

/* The identity of a GPU. */
typedef struct gpud_nvml_gpu {
    uint32_t index;             /* Position in NVML's order. */
    const char *uuid;           /* GPU-… */
    const char *name;           /* Product name. */
    const char *bus_id;         /* PCI id in lower case with a four-digit domain, 0000:0f:00.0. */
    uint32_t brand;             /* NVML's brand number. */
    uint32_t compute_major;     /* CUDA compute capability. */
    uint32_t compute_minor;
    const char *serial;         /* Of the board; NULL where there is none. */
    gpud_optional minor_number; /* Of the device node /dev/nvidiaN. */
    gpud_optional board_id;
    const gpud_pair *extra;     /* Further facts, each only where the GPU has it: vbios, inforom-image, chassis-serial,
                                 * board-part-number, gsp-firmware (its version, while it runs), gsp-mode and
                                 * gsp-default-mode (enabled or disabled). */
    size_t extra_count;
} gpud_nvml_gpu;

/* Its identity; known since the GPUs were listed, so this does not fail. */
gpud_nvml_gpu gpud_nvml_identity(gpud_nvml_device device);

/* Says that a state or an event is about this GPU, by its UUID, serial number and PCI id. */
void gpud_state_gpu(gpud_state *state, const gpud_nvml_gpu *gpu);
void gpud_event_gpu(gpud_event *event, const gpud_nvml_gpu *gpu);

/* Is it still there? GPUD_SOURCE_LOST, GPUD_NEEDS_RESET, GPUD_TIMED_OUT or GPUD_NOT_FOUND (the driver was unloaded) if
 * not, GPUD_DENIED only without the grant. */
gpud_error gpud_nvml_presence(gpud_nvml_device device);

/* ---- memory and load -------------------------------------------------------------------------------------------- */

/* Frame buffer, bytes. */
typedef struct gpud_nvml_memory {
    uint64_t total;
    uint64_t reserved; /* Kept by the driver; 0 where it does not say. */
    uint64_t free;
    uint64_t used;
} gpud_nvml_memory;

gpud_error gpud_nvml_memory_info(gpud_nvml_device device, gpud_nvml_memory *memory);

/* Percent of the last sample period. */
typedef struct gpud_nvml_usage {
    uint32_t gpu;    /* A kernel was running. */
    uint32_t memory; /* Memory was being read or written. */
} gpud_nvml_usage;

gpud_error gpud_nvml_utilization(gpud_nvml_device device, gpud_nvml_usage *usage);

/* One process that computes on a GPU. */
typedef struct gpud_nvml_process {
    uint32_t pid;
    gpud_optional used_memory;    /* Bytes. */
    gpud_optional sm_utilization; /* Percent of SM time in its newest sample of the last minute. */
} gpud_nvml_process;

gpud_error gpud_nvml_compute_processes(gpud_nvml_device device, gpud_nvml_process **processes, size_t *count);

/* What a process used lately, percent. */
typedef struct gpud_nvml_process_usage {
    uint32_t pid;
    gpud_millis time; /* When the driver took the sample. */
    uint32_t sm;      /* Of SM time. */
    uint32_t memory;  /* Of memory time. */
    uint32_t encoder;
    uint32_t decoder;
} gpud_nvml_process_usage;

/* The newest sample of each process in the last minute. None when none used anything. */
gpud_error gpud_nvml_process_utilization(gpud_nvml_device device, gpud_nvml_process_usage **processes, size_t *count);

/* One GPM reading. */
typedef struct gpud_nvml_gpm_metric {
    uint32_t id; /* nvmlGpmMetricId_t. */
    double value;
} gpud_nvml_gpm_metric;

/* GPM readings over a sample period of 10 to 10,000 milliseconds, which is how long it takes. More than 64 ids are
 * GPUD_INVALID_ARGUMENT; metrics that the GPU does not have are left out; before Hopper it is GPUD_NOT_SUPPORTED. */
gpud_error gpud_nvml_gpm_metrics(gpud_nvml_device device, const uint32_t *ids, size_t id_count, uint32_t period_ms,
                                 gpud_nvml_gpm_metric **metrics, size_t *count);

/* GPM readings of one GPU. */
typedef struct gpud_nvml_gpm_reading {
    const char *uuid;
    gpud_nvml_gpm_metric *metrics; /* None after an error. */
    size_t count;
    gpud_error error;              /* Why there are none. */
} gpud_nvml_gpm_reading;

/* The same of all GPUs in one call, which takes little longer than for one. */
gpud_error gpud_nvml_gpm_metrics_of_all(const uint32_t *ids, size_t id_count, uint32_t period_ms,
                                        gpud_nvml_gpm_reading **readings, size_t *count);

/* ---- clocks, power, temperature --------------------------------------------------------------------------------- */

/* Which clock. */
typedef enum gpud_nvml_clock {
    GPUD_NVML_GRAPHICS_CLOCK,
    GPUD_NVML_SM_CLOCK,
    GPUD_NVML_MEMORY_CLOCK,
    GPUD_NVML_VIDEO_CLOCK
} gpud_nvml_clock;

/* Current clock, MHz. */
gpud_error gpud_nvml_clock_mhz(gpud_nvml_device device, gpud_nvml_clock which, uint32_t *mhz);
/* Bit mask nvmlClocksEventReasons. */
gpud_error gpud_nvml_clock_event_reasons(gpud_nvml_device device, uint64_t *mask);
/* Persistence mode on? */
gpud_error gpud_nvml_persistence_mode(gpud_nvml_device device, bool *on);

/* Power, milliwatts. */
typedef struct gpud_nvml_milliwatts {
    gpud_optional usage;            /* Drawn now. */
    gpud_optional enforced_limit;   /* Limit in force. */
    gpud_optional management_limit; /* Limit set by management. */
} gpud_nvml_milliwatts;

gpud_error gpud_nvml_power(gpud_nvml_device device, gpud_nvml_milliwatts *power);

/* Which temperature. */
typedef enum gpud_nvml_sensor { GPUD_NVML_CORE, GPUD_NVML_MEMORY } gpud_nvml_sensor;

/* Degrees Celsius. */
gpud_error gpud_nvml_temperature(gpud_nvml_device device, gpud_nvml_sensor sensor, uint32_t *celsius);

/* Which threshold. */
typedef enum gpud_nvml_threshold {
    GPUD_NVML_SHUTDOWN,
    GPUD_NVML_SLOWDOWN,
    GPUD_NVML_MEMORY_MAX,
    GPUD_NVML_GPU_MAX
} gpud_nvml_threshold;

/* Degrees Celsius. */
gpud_error gpud_nvml_temperature_threshold(gpud_nvml_device device, gpud_nvml_threshold threshold, uint32_t *celsius);
/* Degrees Celsius left until slowdown; may be negative. GPUD_NOT_SUPPORTED before driver 570. */
gpud_error gpud_nvml_temperature_margin(gpud_nvml_device device, int32_t *celsius);

/* ---- memory errors ---------------------------------------------------------------------------------------------- */

/* ECC switched on. */
typedef struct gpud_nvml_ecc {
    bool current;
    bool pending; /* After the next reset. */
} gpud_nvml_ecc;

gpud_error gpud_nvml_ecc_mode(gpud_nvml_device device, gpud_nvml_ecc *mode);

/* Corrected or not. */
typedef enum gpud_nvml_ecc_error { GPUD_NVML_CORRECTED, GPUD_NVML_UNCORRECTED } gpud_nvml_ecc_error;

/* Since when errors are counted. */
typedef enum gpud_nvml_ecc_period {
    GPUD_NVML_VOLATILE, /* Since the last reset. */
    GPUD_NVML_AGGREGATE /* Over the life of the board. */
} gpud_nvml_ecc_period;

/* Where, by NVML's nvmlMemoryLocation_t. */
typedef enum gpud_nvml_location {
    GPUD_NVML_L1_CACHE,
    GPUD_NVML_L2_CACHE,
    GPUD_NVML_DRAM, /* Device memory as well. */
    GPUD_NVML_REGISTER_FILE,
    GPUD_NVML_TEXTURE_MEMORY,
    GPUD_NVML_TEXTURE_SHARED,
    GPUD_NVML_CBU,
    GPUD_NVML_SRAM
} gpud_nvml_location;

/* Total ECC errors. */
gpud_error gpud_nvml_ecc_total(gpud_nvml_device device, gpud_nvml_ecc_error error, gpud_nvml_ecc_period period,
                               uint64_t *count);
/* ECC errors at one place. */
gpud_error gpud_nvml_ecc_count(gpud_nvml_device device, gpud_nvml_ecc_error error, gpud_nvml_ecc_period period,
                               gpud_nvml_location location, uint64_t *count);

/* Row remapping. */
typedef struct gpud_nvml_remapping {
    uint32_t correctable;   /* Rows remapped after corrected errors. */
    uint32_t uncorrectable; /* Rows remapped after uncorrectable errors. */
    bool pending;           /* A remapping waits for a reset. */
    bool failed;            /* A remapping failed. */
} gpud_nvml_remapping;

gpud_error gpud_nvml_remapped_rows(gpud_nvml_device device, gpud_nvml_remapping *rows);

/* Banks of memory by how many spare rows for remapping they have left. */
typedef struct gpud_nvml_spare_rows {
    uint32_t max;     /* All of them. */
    uint32_t high;    /* Many. */
    uint32_t partial; /* Some. */
    uint32_t low;     /* Few. */
    uint32_t none;    /* None. */
} gpud_nvml_spare_rows;

gpud_error gpud_nvml_row_histogram(gpud_nvml_device device, gpud_nvml_spare_rows *banks);

/* Errors of on-chip memory (SRAM). */
typedef struct gpud_nvml_sram_ecc {
    uint64_t aggregate_uncorrectable_parity;          /* Over the life of the board. */
    uint64_t aggregate_uncorrectable_sec_ded;         /* By SEC-DED: corrects one bit, detects two. */
    uint64_t aggregate_correctable;
    uint64_t volatile_uncorrectable_parity;           /* Since the last reset. */
    uint64_t volatile_uncorrectable_sec_ded;
    uint64_t volatile_correctable;
    uint64_t aggregate_uncorrectable_l2;              /* By unit, over the life of the board. */
    uint64_t aggregate_uncorrectable_sm;              /* Streaming multiprocessors. */
    uint64_t aggregate_uncorrectable_pcie;
    uint64_t aggregate_uncorrectable_microcontroller;
    uint64_t aggregate_uncorrectable_other;
    bool threshold_exceeded; /* They passed the driver's threshold: have the board looked at. */
} gpud_nvml_sram_ecc;

/* GPUD_NOT_SUPPORTED before Ampere, where ECC is off, and before driver 550; GPUD_DENIED to a daemon without root. */
gpud_error gpud_nvml_sram_ecc_status(gpud_nvml_device device, gpud_nvml_sram_ecc *errors);

/* ---- links ------------------------------------------------------------------------------------------------------ */

/* Error counters of one NVLink. */
typedef struct gpud_nvml_link_errors {
    uint64_t replay;
    uint64_t recovery;
    uint64_t crc; /* Of flow-control digits. */
} gpud_nvml_link_errors;

/* One NVLink. */
typedef struct gpud_nvml_link {
    uint32_t link;                /* Its number, from 0. */
    bool active;                  /* Up? */
    bool has_errors;              /* Some counter can be read. */
    gpud_nvml_link_errors errors; /* 0 for a counter that cannot be read. */
} gpud_nvml_link;

/* All NVLinks that the GPU has; GPUD_NOT_SUPPORTED when it has none. Links that fail in another way are left out. */
gpud_error gpud_nvml_nvlinks(gpud_nvml_device device, gpud_nvml_link **links, size_t *count);
/* Link up? Links count from 0; at most 18. */
gpud_error gpud_nvml_nvlink_active(gpud_nvml_device device, uint32_t link, bool *active);
/* Error counters of a link. */
gpud_error gpud_nvml_nvlink_errors(gpud_nvml_device device, uint32_t link, gpud_nvml_link_errors *errors);
/* nvmlGpuP2PStatus_t over NVLink to another GPU: 0 is OK. */
gpud_error gpud_nvml_nvlink_p2p_status(gpud_nvml_device device, gpud_nvml_device other, uint32_t *status);

/* Membership in an NVLink fabric. */
typedef struct gpud_nvml_fabric {
    const char *cluster_uuid; /* Hyphenated, lower case. */
    uint32_t clique_id;
    uint8_t state;   /* nvmlGpuFabricState_t: 0 not supported, 1 not started, 2 in progress, 3 completed. */
    uint32_t status; /* NVML's return code of the registration. */
    gpud_optional health_mask;    /* Where version 2 or later of NVML's call works. */
    gpud_optional health_summary; /* Where version 3 works. */
} gpud_nvml_fabric;

gpud_error gpud_nvml_fabric_info(gpud_nvml_device device, gpud_nvml_fabric *fabric);

/* PCIe. */
typedef struct gpud_nvml_pcie {
    gpud_optional generation;     /* Now. Drops while the GPU is idle. */
    gpud_optional width;          /* Lanes now. */
    gpud_optional max_generation; /* Highest that GPU and slot can do. */
    gpud_optional max_width;      /* Most lanes that GPU and slot can do. */
} gpud_nvml_pcie;

gpud_error gpud_nvml_pcie_link(gpud_nvml_device device, gpud_nvml_pcie *link);

/* ---- the rest --------------------------------------------------------------------------------------------------- */

/* MIG mode on? */
gpud_error gpud_nvml_mig_enabled(gpud_nvml_device device, bool *enabled);

/* A MIG device: a part of a GPU with an identity of its own. */
typedef struct gpud_nvml_mig_device {
    uint32_t index;   /* Below its GPU; there may be holes. */
    const char *uuid; /* MIG-… */
    const char *name; /* Product and profile. */
    gpud_optional gpu_instance;
    gpud_optional compute_instance;
    bool has_memory;  /* memory is known. */
    gpud_nvml_memory memory;
    gpud_optional multiprocessors;
} gpud_nvml_mig_device;

/* None without any; GPUD_NOT_SUPPORTED where the GPU has no MIG. */
gpud_error gpud_nvml_mig_devices(gpud_nvml_device device, gpud_nvml_mig_device **parts, size_t *count);

/* A value of nvmlFieldValue_t by field and scope id, as a number. Ids 251 to 273 mean other things from driver 580.82
 * on (NVIDIA's known issue); they are passed on as they are. */
gpud_error gpud_nvml_field_value(gpud_nvml_device device, uint32_t field, uint32_t scope, double *value);

#ifdef __cplusplus
}
#endif
#endif
