/* A machine's GPUs, for native unit tests of a checker. Part of gpud_testing.h.
 *
 *     gpud_test_gpu *gpu = gpud_test_add_gpu("GPU-1", "NVIDIA H100 80GB HBM3");
 *     GPUD_TEST_GIVE(gpu->temperature[GPUD_NVML_CORE], 91);
 *     GPUD_TEST_GIVE(gpu->ecc_mode, (gpud_nvml_ecc){.current = true});
 *     gpu->power.error = GPUD_TIMED_OUT;
 *
 * Without a GPU and gpud_test_driver there is no driver, and gpud_nvml_devices answers GPUD_NOT_FOUND. With one, what
 * was not given answers GPUD_NOT_SUPPORTED.
 */
#ifndef GPUD_TESTING_GPUS_H
#define GPUD_TESTING_GPUS_H

#include "gpud_nvml.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a question answers: the error, if it is not GPUD_OK; the value, if it is given; or GPUD_NOT_SUPPORTED. */
#define GPUD_TEST_READING(type) \
    struct {                    \
        gpud_code error;        \
        bool given;             \
        type value;             \
    }
#define GPUD_TEST_LIST(type) \
    struct {                 \
        gpud_code error;     \
        bool given;          \
        const type *items;   \
        size_t count;        \
    }
/* Gives a reading its value, or a list its items. Texts and items are not copied: they have to live until the test's
 * last check. */
#define GPUD_TEST_GIVE(reading, ...) ((reading).given = true, (reading).value = (__VA_ARGS__))
#define GPUD_TEST_GIVE_LIST(list, from, length) ((list).given = true, (list).items = (from), (list).count = (length))

/* One of gpud_nvml_field_value. */
typedef struct gpud_test_field {
    uint32_t field;
    uint32_t scope;
    double value;
} gpud_test_field;

/* A GPU: its readings, by the names of gpud_nvml_*. Change them as you like, also between two checks. */
typedef struct gpud_test_gpu {
    gpud_nvml_gpu identity;
    gpud_code error; /* What every question answers, for example GPUD_SOURCE_LOST. */
    GPUD_TEST_READING(gpud_nvml_memory) memory_info;
    GPUD_TEST_READING(gpud_nvml_usage) utilization;
    GPUD_TEST_LIST(gpud_nvml_process) compute_processes;
    GPUD_TEST_LIST(gpud_nvml_process_usage) process_utilization;
    GPUD_TEST_LIST(gpud_nvml_gpm_metric) gpm_metrics; /* Of these, those that are asked for. */
    GPUD_TEST_READING(uint32_t) clock_mhz[GPUD_NVML_VIDEO_CLOCK + 1];
    GPUD_TEST_READING(uint64_t) clock_event_reasons;
    GPUD_TEST_READING(bool) persistence_mode;
    GPUD_TEST_READING(gpud_nvml_milliwatts) power;
    GPUD_TEST_READING(uint32_t) temperature[GPUD_NVML_MEMORY + 1];
    GPUD_TEST_READING(uint32_t) temperature_threshold[GPUD_NVML_GPU_MAX + 1];
    GPUD_TEST_READING(int32_t) temperature_margin;
    GPUD_TEST_READING(gpud_nvml_ecc) ecc_mode;
    GPUD_TEST_READING(uint64_t) ecc_total[GPUD_NVML_UNCORRECTED + 1][GPUD_NVML_AGGREGATE + 1];
    GPUD_TEST_READING(uint64_t) ecc_count[GPUD_NVML_UNCORRECTED + 1][GPUD_NVML_AGGREGATE + 1][GPUD_NVML_SRAM + 1];
    GPUD_TEST_READING(gpud_nvml_remapping) remapped_rows;
    GPUD_TEST_READING(gpud_nvml_spare_rows) row_histogram;
    GPUD_TEST_READING(gpud_nvml_sram_ecc) sram_ecc_status;
    GPUD_TEST_LIST(gpud_nvml_link) nvlinks; /* gpud_nvml_nvlink_active and gpud_nvml_nvlink_errors look here, too. */
    GPUD_TEST_READING(uint32_t) nvlink_p2p_status; /* To any other. */
    GPUD_TEST_READING(gpud_nvml_fabric) fabric_info;
    GPUD_TEST_READING(gpud_nvml_pcie) pcie_link;
    GPUD_TEST_READING(bool) mig_enabled;
    GPUD_TEST_LIST(gpud_nvml_mig_device) mig_devices;
    GPUD_TEST_LIST(gpud_test_field) field_value;
} gpud_test_gpu;

/* Adds a GPU after those that are there. It is freed by gpud_test_end. */
gpud_test_gpu *gpud_test_add_gpu(const char *uuid, const char *name);
/* The driver's versions; CUDA's as gpud_nvml_cuda_version gives it. */
void gpud_test_driver(const char *version, uint32_t cuda_version);
/* What gpud_nvml_library_status says. Unless it is GPUD_NVML_LOADED, gpud_nvml_devices and other questions to the
 * library answer GPUD_NOT_FOUND (for that status) or GPUD_OTHER. */
void gpud_test_library(gpud_nvml_status status, const char *detail);

#ifdef __cplusplus
}
#endif
#endif
