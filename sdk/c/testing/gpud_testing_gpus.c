/* The fake host's GPUs. gpud_testing.c includes this file, so that it stays the one to compile. */

gpud_test_gpu *gpud_test_add_gpu(const char *uuid, const char *name) {
    gpud_test_gpu *gpu = gpud_alloc(sizeof *gpu);
    gpu->identity = (gpud_nvml_gpu){
        .index = (uint32_t)fake.gpu_count, .uuid = copy_text(uuid), .name = copy_text(name), .bus_id = ""};
    KEEP(fake.gpus, fake.gpu_count, gpu);
    return gpu;
}

void gpud_test_driver(const char *version, uint32_t cuda_version) {
    fake.driver_version = copy_text(version);
    fake.cuda_version = cuda_version;
}

void gpud_test_library(gpud_nvml_status status, const char *detail) {
    fake.library = (gpud_nvml_library){status, copy_text(detail)};
}

gpud_nvml_library gpud_nvml_library_status(void) {
    if (allowed("nvml", "").code) return (gpud_nvml_library){GPUD_NVML_OTHER, "denied"};
    if (fake.library.detail) return fake.library;
    if (fake.gpu_count > 0 || fake.driver_version) return (gpud_nvml_library){GPUD_NVML_LOADED, ""};
    return (gpud_nvml_library){GPUD_NVML_NOT_FOUND, "libnvidia-ml.so.1"};
}

static gpud_error loaded(const char *what) {
    gpud_error error = allowed("nvml", what);
    if (error.code) return error;
    gpud_nvml_library library = gpud_nvml_library_status();
    if (library.status == GPUD_NVML_LOADED) return GPUD_NO_ERROR;
    return error_of(library.status == GPUD_NVML_NOT_FOUND ? GPUD_NOT_FOUND : GPUD_OTHER, library.detail);
}

gpud_error gpud_nvml_driver_version(const char **version) {
    gpud_error error = loaded(__func__);
    if (error.code) return error;
    if (fake.driver_version == NULL) return error_of(GPUD_NOT_SUPPORTED, __func__);
    *version = copy_text(fake.driver_version);
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_cuda_version(uint32_t *version) {
    gpud_error error = loaded(__func__);
    if (error.code) return error;
    if (fake.driver_version == NULL) return error_of(GPUD_NOT_SUPPORTED, __func__);
    *version = fake.cuda_version;
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_product_name(const char **name) {
    gpud_error error = loaded(__func__);
    if (error.code) return error;
    *name = fake.gpu_count > 0 ? fake.gpus[0]->identity.name : "";
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_devices(gpud_nvml_device **devices, size_t *count) {
    gpud_error error = loaded(__func__);
    if (error.code) return error;
    gpud_nvml_device *all = gpud_alloc(fake.gpu_count * sizeof *all);
    for (size_t i = 0; i < fake.gpu_count; i++) all[i].handle = (int32_t)i;
    *devices = all;
    *count = fake.gpu_count;
    return GPUD_NO_ERROR;
}

static const gpud_test_gpu *gpu_of(gpud_nvml_device device) {
    if (device.handle < 0 || (size_t)device.handle >= fake.gpu_count) broken("a device that was not listed");
    return fake.gpus[device.handle];
}

gpud_nvml_gpu gpud_nvml_identity(gpud_nvml_device device) { return gpu_of(device)->identity; }

static gpud_error no_answer(const gpud_test_gpu *gpu, gpud_code error, bool given, const char *what) {
    what = gpud_format("%s of %s", what, gpu->identity.uuid);
    gpud_error denied = allowed("nvml", what);
    if (denied.code) return denied;
    if (gpu->error) return error_of(gpu->error, what);
    if (error) return error_of(error, what);
    return given ? GPUD_NO_ERROR : error_of(GPUD_NOT_SUPPORTED, what);
}

gpud_error gpud_nvml_presence(gpud_nvml_device device) { return no_answer(gpu_of(device), GPUD_OK, true, __func__); }

/* All of a function that answers with a reading. */
#define READING(reading, out)                                                              \
    const gpud_test_gpu *gpu = gpu_of(device);                                             \
    gpud_error trouble = no_answer(gpu, gpu->reading.error, gpu->reading.given, __func__); \
    if (trouble.code == GPUD_OK) *(out) = gpu->reading.value;                              \
    return trouble
/* The beginning of a function that answers out of a list. */
#define LIST(list)                                                                   \
    const gpud_test_gpu *gpu = gpu_of(device);                                       \
    gpud_error trouble = no_answer(gpu, gpu->list.error, gpu->list.given, __func__); \
    if (trouble.code) return trouble
/* All of a function that answers with a list. */
#define WHOLE_LIST(list, out, count_out)                                      \
    LIST(list);                                                               \
    *(out) = (void *)copy(gpu->list.items, gpu->list.count * sizeof **(out)); \
    *(count_out) = gpu->list.count;                                           \
    return GPUD_NO_ERROR

gpud_error gpud_nvml_memory_info(gpud_nvml_device device, gpud_nvml_memory *memory) { READING(memory_info, memory); }

gpud_error gpud_nvml_utilization(gpud_nvml_device device, gpud_nvml_usage *usage) { READING(utilization, usage); }

gpud_error gpud_nvml_compute_processes(gpud_nvml_device device, gpud_nvml_process **processes, size_t *count) {
    WHOLE_LIST(compute_processes, processes, count);
}

gpud_error gpud_nvml_process_utilization(gpud_nvml_device device, gpud_nvml_process_usage **processes, size_t *count) {
    WHOLE_LIST(process_utilization, processes, count);
}

gpud_error gpud_nvml_gpm_metrics(gpud_nvml_device device, const uint32_t *ids, size_t id_count, uint32_t period_ms,
                                 gpud_nvml_gpm_metric **metrics, size_t *count) {
    (void)period_ms;
    LIST(gpm_metrics);
    if (id_count > 64) return error_of(GPUD_INVALID_ARGUMENT, __func__);
    gpud_nvml_gpm_metric *all = gpud_alloc(id_count * sizeof *all);
    size_t found = 0;
    for (size_t i = 0; i < id_count; i++)
        for (size_t j = 0; j < gpu->gpm_metrics.count; j++)
            if (gpu->gpm_metrics.items[j].id == ids[i]) all[found++] = gpu->gpm_metrics.items[j];
    *metrics = all;
    *count = found;
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_gpm_metrics_of_all(const uint32_t *ids, size_t id_count, uint32_t period_ms,
                                        gpud_nvml_gpm_reading **readings, size_t *count) {
    gpud_nvml_device *devices;
    gpud_error error = gpud_nvml_devices(&devices, count);
    if (error.code) return error;
    gpud_nvml_gpm_reading *all = gpud_alloc(*count * sizeof *all);
    for (size_t i = 0; i < *count; i++) {
        all[i].uuid = gpu_of(devices[i])->identity.uuid;
        all[i].error = gpud_nvml_gpm_metrics(devices[i], ids, id_count, period_ms, &all[i].metrics, &all[i].count);
    }
    *readings = all;
    return GPUD_NO_ERROR;
}

gpud_error gpud_nvml_clock_mhz(gpud_nvml_device device, gpud_nvml_clock which, uint32_t *mhz) {
    READING(clock_mhz[which], mhz);
}

gpud_error gpud_nvml_clock_event_reasons(gpud_nvml_device device, uint64_t *mask) {
    READING(clock_event_reasons, mask);
}

gpud_error gpud_nvml_persistence_mode(gpud_nvml_device device, bool *on) { READING(persistence_mode, on); }

gpud_error gpud_nvml_power(gpud_nvml_device device, gpud_nvml_milliwatts *power) { READING(power, power); }

gpud_error gpud_nvml_temperature(gpud_nvml_device device, gpud_nvml_sensor sensor, uint32_t *celsius) {
    READING(temperature[sensor], celsius);
}

gpud_error gpud_nvml_temperature_threshold(gpud_nvml_device device, gpud_nvml_threshold threshold, uint32_t *celsius) {
    READING(temperature_threshold[threshold], celsius);
}

gpud_error gpud_nvml_temperature_margin(gpud_nvml_device device, int32_t *celsius) {
    READING(temperature_margin, celsius);
}

gpud_error gpud_nvml_ecc_mode(gpud_nvml_device device, gpud_nvml_ecc *mode) { READING(ecc_mode, mode); }

gpud_error gpud_nvml_ecc_total(gpud_nvml_device device, gpud_nvml_ecc_error error, gpud_nvml_ecc_period period,
                               uint64_t *count) {
    READING(ecc_total[error][period], count);
}

gpud_error gpud_nvml_ecc_count(gpud_nvml_device device, gpud_nvml_ecc_error error, gpud_nvml_ecc_period period,
                               gpud_nvml_location location, uint64_t *count) {
    READING(ecc_count[error][period][location], count);
}

gpud_error gpud_nvml_remapped_rows(gpud_nvml_device device, gpud_nvml_remapping *rows) { READING(remapped_rows, rows); }

gpud_error gpud_nvml_row_histogram(gpud_nvml_device device, gpud_nvml_spare_rows *banks) {
    READING(row_histogram, banks);
}

gpud_error gpud_nvml_sram_ecc_status(gpud_nvml_device device, gpud_nvml_sram_ecc *errors) {
    READING(sram_ecc_status, errors);
}

gpud_error gpud_nvml_nvlinks(gpud_nvml_device device, gpud_nvml_link **links, size_t *count) {
    WHOLE_LIST(nvlinks, links, count);
}

gpud_error gpud_nvml_nvlink_active(gpud_nvml_device device, uint32_t link, bool *active) {
    LIST(nvlinks);
    for (size_t i = 0; i < gpu->nvlinks.count; i++) {
        if (gpu->nvlinks.items[i].link != link) continue;
        *active = gpu->nvlinks.items[i].active;
        return GPUD_NO_ERROR;
    }
    return error_of(GPUD_NOT_SUPPORTED, __func__);
}

gpud_error gpud_nvml_nvlink_errors(gpud_nvml_device device, uint32_t link, gpud_nvml_link_errors *errors) {
    LIST(nvlinks);
    for (size_t i = 0; i < gpu->nvlinks.count; i++) {
        if (gpu->nvlinks.items[i].link != link || !gpu->nvlinks.items[i].has_errors) continue;
        *errors = gpu->nvlinks.items[i].errors;
        return GPUD_NO_ERROR;
    }
    return error_of(GPUD_NOT_SUPPORTED, __func__);
}

gpud_error gpud_nvml_nvlink_p2p_status(gpud_nvml_device device, gpud_nvml_device other, uint32_t *status) {
    gpu_of(other);
    READING(nvlink_p2p_status, status);
}

gpud_error gpud_nvml_fabric_info(gpud_nvml_device device, gpud_nvml_fabric *fabric) { READING(fabric_info, fabric); }

gpud_error gpud_nvml_pcie_link(gpud_nvml_device device, gpud_nvml_pcie *link) { READING(pcie_link, link); }

gpud_error gpud_nvml_mig_enabled(gpud_nvml_device device, bool *enabled) { READING(mig_enabled, enabled); }

gpud_error gpud_nvml_mig_devices(gpud_nvml_device device, gpud_nvml_mig_device **parts, size_t *count) {
    WHOLE_LIST(mig_devices, parts, count);
}

gpud_error gpud_nvml_field_value(gpud_nvml_device device, uint32_t field, uint32_t scope, double *value) {
    LIST(field_value);
    for (size_t i = 0; i < gpu->field_value.count; i++) {
        const gpud_test_field *one = &gpu->field_value.items[i];
        if (one->field != field || one->scope != scope) continue;
        *value = one->value;
        return GPUD_NO_ERROR;
    }
    return error_of(GPUD_NOT_SUPPORTED, __func__);
}
