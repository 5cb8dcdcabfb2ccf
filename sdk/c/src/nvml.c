/* NVIDIA GPUs: gpud_nvml.h over the generated bindings. Handles of devices are left to the end of the instance. */
#include "gpud_nvml.h"
#include "wit.h"

typedef gpud_plugin_nvml_borrow_device_t borrowed;

static borrowed of(gpud_nvml_device device) { return (borrowed){device.handle}; }

/* The contract's absent numbers, of whatever width. */
#define OPTIONAL(from) ((gpud_optional){(from).is_some, (from).is_some ? (from).val : 0})

gpud_nvml_library gpud_nvml_library_status(void) {
    gpud_plugin_nvml_library_t found;
    gpud_plugin_nvml_library_status(&found);
    /* The statuses stand in the order of the contract's cases; all but the first have a text. */
    if (found.tag == GPUD_PLUGIN_NVML_LIBRARY_LOADED) return (gpud_nvml_library){GPUD_NVML_LOADED, ""};
    return (gpud_nvml_library){(gpud_nvml_status)found.tag, gpud_from_wit(found.val.other)};
}

gpud_error gpud_nvml_driver_version(const char **version) {
    gpud_wit_string_t text;
    ANSWER(gpud_plugin_nvml_driver_version(&text, &failed));
    *version = gpud_from_wit(text);
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_cuda_version(uint32_t *version) {
    ANSWER(gpud_plugin_nvml_cuda_version(version, &failed));
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_product_name(const char **name) {
    gpud_wit_string_t text;
    ANSWER(gpud_plugin_nvml_product_name(&text, &failed));
    *name = gpud_from_wit(text);
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_devices(gpud_nvml_device **devices, size_t *count) {
    gpud_plugin_nvml_list_own_device_t found;
    ANSWER(gpud_plugin_nvml_devices(&found, &failed));
    gpud_nvml_device *out = gpud_alloc(found.len * sizeof *out);
    for (size_t i = 0; i < found.len; i++) out[i].handle = found.ptr[i].__handle;
    *devices = out;
    *count = found.len;
    return GPUD_NO_ERROR;
}

gpud_nvml_gpu gpud_nvml_identity(gpud_nvml_device device) {
    gpud_plugin_nvml_identity_t found;
    gpud_plugin_nvml_method_device_identity(of(device), &found);
    gpud_pair *extra = gpud_alloc(found.extra.len * sizeof *extra);
    for (size_t i = 0; i < found.extra.len; i++)
        extra[i] = (gpud_pair){gpud_from_wit(found.extra.ptr[i].f0), gpud_from_wit(found.extra.ptr[i].f1)};
    return (gpud_nvml_gpu){.index = found.index,
                           .uuid = gpud_from_wit(found.uuid),
                           .name = gpud_from_wit(found.name),
                           .bus_id = gpud_from_wit(found.bus_id),
                           .brand = found.brand,
                           .compute_major = found.compute_capability.f0,
                           .compute_minor = found.compute_capability.f1,
                           .serial = found.serial.is_some ? gpud_from_wit(found.serial.val) : NULL,
                           .minor_number = OPTIONAL(found.minor_number),
                           .board_id = OPTIONAL(found.board_id),
                           .extra = extra,
                           .extra_count = found.extra.len};
}

gpud_error gpud_nvml_presence(gpud_nvml_device device) {
    ANSWER(gpud_plugin_nvml_method_device_presence(of(device), &failed));
    return GPUD_NO_ERROR;
}

static gpud_nvml_memory memory_from_wit(const gpud_plugin_nvml_memory_info_t *from) {
    return (gpud_nvml_memory){
        .total = from->total, .reserved = from->reserved, .free = from->free, .used = from->used};
}

gpud_error gpud_nvml_memory_info(gpud_nvml_device device, gpud_nvml_memory *memory) {
    gpud_plugin_nvml_memory_info_t found;
    ANSWER(gpud_plugin_nvml_method_device_memory_info(of(device), &found, &failed));
    *memory = memory_from_wit(&found);
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_utilization(gpud_nvml_device device, gpud_nvml_usage *usage) {
    gpud_plugin_nvml_utilization_t found;
    ANSWER(gpud_plugin_nvml_method_device_utilization(of(device), &found, &failed));
    *usage = (gpud_nvml_usage){.gpu = found.gpu, .memory = found.memory};
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_compute_processes(gpud_nvml_device device, gpud_nvml_process **processes, size_t *count) {
    gpud_plugin_nvml_list_compute_process_t found;
    ANSWER(gpud_plugin_nvml_method_device_compute_processes(of(device), &found, &failed));
    gpud_nvml_process *out = gpud_alloc(found.len * sizeof *out);
    for (size_t i = 0; i < found.len; i++)
        out[i] = (gpud_nvml_process){.pid = found.ptr[i].pid,
                                     .used_memory = OPTIONAL(found.ptr[i].used_memory),
                                     .sm_utilization = OPTIONAL(found.ptr[i].sm_utilization)};
    *processes = out;
    *count = found.len;
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_process_utilization(gpud_nvml_device device, gpud_nvml_process_usage **processes, size_t *count) {
    gpud_plugin_nvml_list_process_utilization_t found;
    ANSWER(gpud_plugin_nvml_method_device_process_utilization(of(device), &found, &failed));
    gpud_nvml_process_usage *out = gpud_alloc(found.len * sizeof *out);
    for (size_t i = 0; i < found.len; i++)
        out[i] = (gpud_nvml_process_usage){.pid = found.ptr[i].pid,
                                           .time = found.ptr[i].time,
                                           .sm = found.ptr[i].sm,
                                           .memory = found.ptr[i].memory,
                                           .encoder = found.ptr[i].encoder,
                                           .decoder = found.ptr[i].decoder};
    *processes = out;
    *count = found.len;
    return GPUD_NO_ERROR;
}

static gpud_nvml_gpm_metric *metrics_from_wit(const gpud_plugin_nvml_list_gpm_metric_t *from) {
    gpud_nvml_gpm_metric *out = gpud_alloc(from->len * sizeof *out);
    for (size_t i = 0; i < from->len; i++)
        out[i] = (gpud_nvml_gpm_metric){.id = from->ptr[i].id, .value = from->ptr[i].value};
    return out;
}

gpud_error gpud_nvml_gpm_metrics(gpud_nvml_device device, const uint32_t *ids, size_t id_count, uint32_t period_ms,
                                 gpud_nvml_gpm_metric **metrics, size_t *count) {
    gpud_wit_list_u32_t asked = {(uint32_t *)ids, id_count};
    gpud_plugin_nvml_list_gpm_metric_t found;
    ANSWER(gpud_plugin_nvml_method_device_gpm_metrics(of(device), &asked, period_ms, &found, &failed));
    *metrics = metrics_from_wit(&found);
    *count = found.len;
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_gpm_metrics_of_all(const uint32_t *ids, size_t id_count, uint32_t period_ms,
                                        gpud_nvml_gpm_reading **readings, size_t *count) {
    gpud_wit_list_u32_t asked = {(uint32_t *)ids, id_count};
    gpud_plugin_nvml_list_gpm_reading_t found;
    ANSWER(gpud_plugin_nvml_gpm_metrics_of_all(&asked, period_ms, &found, &failed));
    gpud_nvml_gpm_reading *out = gpud_alloc(found.len * sizeof *out);
    for (size_t i = 0; i < found.len; i++) {
        out[i] = (gpud_nvml_gpm_reading){.uuid = gpud_from_wit(found.ptr[i].uuid)};
        if (found.ptr[i].metrics.is_err) {
            out[i].error = gpud_error_from_wit(&found.ptr[i].metrics.val.err);
        } else {
            out[i].metrics = metrics_from_wit(&found.ptr[i].metrics.val.ok);
            out[i].count = found.ptr[i].metrics.val.ok.len;
        }
    }
    *readings = out;
    *count = found.len;
    return GPUD_NO_ERROR;
}

/* Enumerations are passed on as they are: their values stand in the order of the contract's cases. */

gpud_error gpud_nvml_clock_mhz(gpud_nvml_device device, gpud_nvml_clock which, uint32_t *mhz) {
    ANSWER(gpud_plugin_nvml_method_device_clock_mhz(of(device), (gpud_plugin_nvml_clock_t)which, mhz, &failed));
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_clock_event_reasons(gpud_nvml_device device, uint64_t *mask) {
    ANSWER(gpud_plugin_nvml_method_device_clock_event_reasons(of(device), mask, &failed));
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_persistence_mode(gpud_nvml_device device, bool *on) {
    ANSWER(gpud_plugin_nvml_method_device_persistence_mode(of(device), on, &failed));
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_power(gpud_nvml_device device, gpud_nvml_milliwatts *power) {
    gpud_plugin_nvml_power_t found;
    ANSWER(gpud_plugin_nvml_method_device_power(of(device), &found, &failed));
    *power = (gpud_nvml_milliwatts){.usage = OPTIONAL(found.usage),
                                    .enforced_limit = OPTIONAL(found.enforced_limit),
                                    .management_limit = OPTIONAL(found.management_limit)};
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_temperature(gpud_nvml_device device, gpud_nvml_sensor sensor, uint32_t *celsius) {
    gpud_plugin_nvml_temperature_sensor_t which = (gpud_plugin_nvml_temperature_sensor_t)sensor;
    ANSWER(gpud_plugin_nvml_method_device_temperature(of(device), which, celsius, &failed));
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_temperature_threshold(gpud_nvml_device device, gpud_nvml_threshold threshold, uint32_t *celsius) {
    gpud_plugin_nvml_temperature_threshold_t which = (gpud_plugin_nvml_temperature_threshold_t)threshold;
    ANSWER(gpud_plugin_nvml_method_device_temperature_threshold(of(device), which, celsius, &failed));
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_temperature_margin(gpud_nvml_device device, int32_t *celsius) {
    ANSWER(gpud_plugin_nvml_method_device_temperature_margin(of(device), celsius, &failed));
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_ecc_mode(gpud_nvml_device device, gpud_nvml_ecc *mode) {
    gpud_plugin_nvml_ecc_mode_t found;
    ANSWER(gpud_plugin_nvml_method_device_ecc_mode(of(device), &found, &failed));
    *mode = (gpud_nvml_ecc){.current = found.current, .pending = found.pending};
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_ecc_total(gpud_nvml_device device, gpud_nvml_ecc_error error, gpud_nvml_ecc_period period,
                               uint64_t *count) {
    ANSWER(gpud_plugin_nvml_method_device_ecc_total(of(device), (gpud_plugin_nvml_ecc_error_t)error,
                                                    (gpud_plugin_nvml_ecc_period_t)period, count, &failed));
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_ecc_count(gpud_nvml_device device, gpud_nvml_ecc_error error, gpud_nvml_ecc_period period,
                               gpud_nvml_location location, uint64_t *count) {
    ANSWER(gpud_plugin_nvml_method_device_ecc_count(
        of(device), (gpud_plugin_nvml_ecc_error_t)error, (gpud_plugin_nvml_ecc_period_t)period,
        (gpud_plugin_nvml_memory_location_t)location, count, &failed));
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_remapped_rows(gpud_nvml_device device, gpud_nvml_remapping *rows) {
    gpud_plugin_nvml_remapped_rows_t found;
    ANSWER(gpud_plugin_nvml_method_device_remapped_rows(of(device), &found, &failed));
    *rows = (gpud_nvml_remapping){.correctable = found.correctable,
                                  .uncorrectable = found.uncorrectable,
                                  .pending = found.pending,
                                  .failed = found.failed};
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_row_histogram(gpud_nvml_device device, gpud_nvml_spare_rows *banks) {
    gpud_plugin_nvml_row_histogram_t found;
    ANSWER(gpud_plugin_nvml_method_device_row_histogram(of(device), &found, &failed));
    *banks = (gpud_nvml_spare_rows){.max = found.max,
                                    .high = found.high,
                                    .partial = found.partial,
                                    .low = found.low,
                                    .none = found.none};
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_sram_ecc_status(gpud_nvml_device device, gpud_nvml_sram_ecc *errors) {
    gpud_plugin_nvml_sram_ecc_status_t found;
    ANSWER(gpud_plugin_nvml_method_device_sram_ecc_status(of(device), &found, &failed));
    *errors = (gpud_nvml_sram_ecc){
        .aggregate_uncorrectable_parity = found.aggregate_uncorrectable_parity,
        .aggregate_uncorrectable_sec_ded = found.aggregate_uncorrectable_sec_ded,
        .aggregate_correctable = found.aggregate_correctable,
        .volatile_uncorrectable_parity = found.volatile_uncorrectable_parity,
        .volatile_uncorrectable_sec_ded = found.volatile_uncorrectable_sec_ded,
        .volatile_correctable = found.volatile_correctable,
        .aggregate_uncorrectable_l2 = found.aggregate_uncorrectable_l2,
        .aggregate_uncorrectable_sm = found.aggregate_uncorrectable_sm,
        .aggregate_uncorrectable_pcie = found.aggregate_uncorrectable_pcie,
        .aggregate_uncorrectable_microcontroller = found.aggregate_uncorrectable_microcontroller,
        .aggregate_uncorrectable_other = found.aggregate_uncorrectable_other,
        .threshold_exceeded = found.threshold_exceeded,
    };
    return GPUD_NO_ERROR;
}

static gpud_nvml_link_errors link_errors_from_wit(const gpud_plugin_nvml_nvlink_errors_t *from) {
    return (gpud_nvml_link_errors){.replay = from->replay, .recovery = from->recovery, .crc = from->crc};
}

gpud_error gpud_nvml_nvlinks(gpud_nvml_device device, gpud_nvml_link **links, size_t *count) {
    gpud_plugin_nvml_list_nvlink_t found;
    ANSWER(gpud_plugin_nvml_method_device_nvlinks(of(device), &found, &failed));
    gpud_nvml_link *out = gpud_alloc(found.len * sizeof *out);
    for (size_t i = 0; i < found.len; i++) {
        const gpud_plugin_nvml_nvlink_t *one = &found.ptr[i];
        out[i] = (gpud_nvml_link){.link = one->link, .active = one->active, .has_errors = one->errors.is_some};
        if (one->errors.is_some) out[i].errors = link_errors_from_wit(&one->errors.val);
    }
    *links = out;
    *count = found.len;
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_nvlink_active(gpud_nvml_device device, uint32_t link, bool *active) {
    ANSWER(gpud_plugin_nvml_method_device_nvlink_active(of(device), link, active, &failed));
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_nvlink_errors(gpud_nvml_device device, uint32_t link, gpud_nvml_link_errors *errors) {
    gpud_plugin_nvml_nvlink_errors_t found;
    ANSWER(gpud_plugin_nvml_method_device_nvlink_errors(of(device), link, &found, &failed));
    *errors = link_errors_from_wit(&found);
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_nvlink_p2p_status(gpud_nvml_device device, gpud_nvml_device other, uint32_t *status) {
    ANSWER(gpud_plugin_nvml_method_device_nvlink_p2p_status(of(device), of(other), status, &failed));
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_fabric_info(gpud_nvml_device device, gpud_nvml_fabric *fabric) {
    gpud_plugin_nvml_fabric_info_t found;
    ANSWER(gpud_plugin_nvml_method_device_fabric_info(of(device), &found, &failed));
    *fabric = (gpud_nvml_fabric){.cluster_uuid = gpud_from_wit(found.cluster_uuid),
                                 .clique_id = found.clique_id,
                                 .state = found.state,
                                 .status = found.status,
                                 .health_mask = OPTIONAL(found.health_mask),
                                 .health_summary = OPTIONAL(found.health_summary)};
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_pcie_link(gpud_nvml_device device, gpud_nvml_pcie *link) {
    gpud_plugin_nvml_pcie_link_t found;
    ANSWER(gpud_plugin_nvml_method_device_pcie_link(of(device), &found, &failed));
    *link = (gpud_nvml_pcie){.generation = OPTIONAL(found.generation),
                             .width = OPTIONAL(found.width),
                             .max_generation = OPTIONAL(found.max_generation),
                             .max_width = OPTIONAL(found.max_width)};
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_mig_enabled(gpud_nvml_device device, bool *enabled) {
    ANSWER(gpud_plugin_nvml_method_device_mig_enabled(of(device), enabled, &failed));
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_mig_devices(gpud_nvml_device device, gpud_nvml_mig_device **parts, size_t *count) {
    gpud_plugin_nvml_list_mig_device_t found;
    ANSWER(gpud_plugin_nvml_method_device_mig_devices(of(device), &found, &failed));
    gpud_nvml_mig_device *out = gpud_alloc(found.len * sizeof *out);
    for (size_t i = 0; i < found.len; i++) {
        const gpud_plugin_nvml_mig_device_t *one = &found.ptr[i];
        out[i] = (gpud_nvml_mig_device){.index = one->index,
                                        .uuid = gpud_from_wit(one->uuid),
                                        .name = gpud_from_wit(one->name),
                                        .gpu_instance = OPTIONAL(one->gpu_instance),
                                        .compute_instance = OPTIONAL(one->compute_instance),
                                        .has_memory = one->memory.is_some,
                                        .multiprocessors = OPTIONAL(one->multiprocessors)};
        if (one->memory.is_some) out[i].memory = memory_from_wit(&one->memory.val);
    }
    *parts = out;
    *count = found.len;
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_field_value(gpud_nvml_device device, uint32_t field, uint32_t scope, double *value) {
    ANSWER(gpud_plugin_nvml_method_device_field_value(of(device), field, scope, value, &failed));
    return GPUD_NO_ERROR;
}
