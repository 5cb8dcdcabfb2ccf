/* Tests of the SDK itself: text, numbers, JSON, and the fake host. examples/test.sh runs them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpud_testing.h"

static void formats(void) {
    GPUD_EXPECT_TEXT(gpud_format("%s|%.3s|%5s|%c|%%", "ab", "abcdef", "x", 'z'), "ab|abc|    x|z|%");
    GPUD_EXPECT_TEXT(gpud_format("%d %u %lld %llu %x %03d %zu", -5, 7u, -9223372036854775807LL - 1, ~0ULL, 255u, 7,
                                 (size_t)9),
                     "-5 7 -9223372036854775808 18446744073709551615 ff 007 9");
    GPUD_EXPECT_TEXT(gpud_format("%.1f %.0f %f %.2f", 45.56, 2.0, -1.5, 0.999), "45.6 2 -1.500000 1.00");
    GPUD_EXPECT_TEXT(gpud_format("%.2s", "h\xc3\xa4"), "h");
    GPUD_EXPECT_TEXT(gpud_trimmed((gpud_text){" a\xff" "b \n", 6}), "a?b");
}

static void integers(void) {
    int64_t value;
    GPUD_EXPECT(gpud_parse_integer(" -9223372036854775808\n", &value) && value == INT64_MIN);
    GPUD_EXPECT(gpud_parse_integer("9223372036854775807", &value) && value == INT64_MAX);
    static const char *const wrong[] = {"", "-", "1x", "9223372036854775808", "0x1", "1 2"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) GPUD_EXPECT(!gpud_parse_integer(wrong[i], &value));
}

static void json(void) {
    const gpud_json *root = gpud_json_parse("{\"a\": [1, -2.5e1, true, null], \"t\": \"\\u00e4\\n\", \"a2\": {}}");
    GPUD_EXPECT(root != NULL && root->count == 3);
    const gpud_json *list = gpud_json_get(root, "a");
    GPUD_EXPECT(list && list->count == 4 && list->items[1].number == -25 && list->items[2].boolean);
    GPUD_EXPECT_TEXT(gpud_json_string(root, "t", ""), "\xc3\xa4\n");
    GPUD_EXPECT(gpud_json_number(root, "none", 3) == 3);
    static const char *const wrong[] = {"", "{", "[1,]", "{\"a\" 1}", "01", "1.", "\"\\u0000\"", "\"\\ud800\"", "tru",
                                        "1 2", "1e999", "{a:1}", "\"\x01\""};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) GPUD_EXPECT(gpud_json_parse(wrong[i]) == NULL);
    char deep[100];
    memset(deep, '[', 99);
    deep[99] = 0;
    GPUD_EXPECT(gpud_json_parse(deep) == NULL);
    static const char letters[] = "{}[]\",:\\u0019ae-.tfn \n";
    srand(3);
    for (int round = 0; round < 20000; round++) {
        char text[32];
        size_t length = (size_t)rand() % 31;
        for (size_t i = 0; i < length; i++) text[i] = letters[(size_t)rand() % (sizeof letters - 1)];
        text[length] = 0;
        gpud_json_parse(text); /* The sanitizers watch. */
    }
}

static void judges(void) {
    gpud_report report = {0};
    gpud_result many[7];
    for (size_t i = 0; i < 7; i++)
        many[i] = (gpud_result){.name = gpud_format("%zu", i),
                                .health = i == 6 ? GPUD_UNHEALTHY : GPUD_DEGRADED,
                                .reason = "warm",
                                .has_action = true,
                                .action = GPUD_HARDWARE_INSPECTION,
                                .advice = "look",
                                .path = "/p"};
    const gpud_state *state = gpud_judge(&report, gpud_test_context(), many, 7, "all fine");
    GPUD_EXPECT(state->health == GPUD_UNHEALTHY && state->action_count == 1 && state->evidence_count == 5);
    GPUD_EXPECT_TEXT(state->reason, "6: warm; 0: warm; 1: warm; 2: warm; 3: warm; and 2 more");
    GPUD_EXPECT_TEXT(gpud_judge(&report, gpud_test_context(), many, 0, "all fine")->reason, "all fine");
}

static void files(void) {
    gpud_test_file("/proc/1/fd/0", "");
    gpud_test_file("/proc/1/fd/1", "");
    gpud_test_file("/proc/22/fd/0", "");
    gpud_test_file("/proc/22/fdinfo/0", "");
    gpud_entry_count *folders;
    size_t count;
    GPUD_EXPECT(gpud_count_entries("/proc/*/fd", 2, &folders, &count).code == GPUD_OK && count == 2);
    GPUD_EXPECT_TEXT(folders[0].path, "/proc/1/fd");
    GPUD_EXPECT(folders[0].entries == 2 && folders[1].entries == 1 && folders[0].error.code == GPUD_OK);
    GPUD_EXPECT(gpud_count_entries("/proc/*/fd", 1, &folders, &count).code == GPUD_TOO_LARGE);
    GPUD_EXPECT(gpud_count_entries("/sys/*", 9, &folders, &count).code == GPUD_OK && count == 0);

    gpud_file_stat facts;
    gpud_test_file("/etc/key", "12345");
    gpud_test_link("/etc/link", "/etc/key");
    gpud_test_link("/etc/round", "/etc/round");
    GPUD_EXPECT(gpud_stat("/etc/link", &facts).code == GPUD_OK && facts.kind == GPUD_FILE && facts.size == 5);
    GPUD_EXPECT(gpud_stat("/etc", &facts).code == GPUD_OK && facts.kind == GPUD_DIRECTORY);
    GPUD_EXPECT(gpud_stat("/etc/round", &facts).code == GPUD_NOT_FOUND);
    gpud_test_file_error("/etc/key", GPUD_TIMED_OUT);
    GPUD_EXPECT(gpud_stat("/etc/link", &facts).code == GPUD_TIMED_OUT);

    const char *paths[] = {"/data", "/none"};
    gpud_fs_answer *answers;
    gpud_test_filesystem("/data", (gpud_fs_usage){.total_bytes = 7});
    GPUD_EXPECT(gpud_statvfs_all(paths, 2, &answers).code == GPUD_OK);
    GPUD_EXPECT(answers[0].usage.total_bytes == 7 && answers[0].error.code == GPUD_OK);
    GPUD_EXPECT(answers[1].usage.total_bytes == 0 && answers[1].error.code == GPUD_NOT_FOUND);
    gpud_test_deny("sysfs");
    GPUD_EXPECT(gpud_count_entries("/proc/*/fd", 2, &folders, &count).code == GPUD_DENIED);
    GPUD_EXPECT(gpud_stat("/etc", &facts).code == GPUD_DENIED);
    GPUD_EXPECT(gpud_statvfs_all(paths, 2, &answers).code == GPUD_DENIED);
}

static void no_driver(void) {
    gpud_nvml_device *gpus;
    size_t count;
    const char *text;
    gpud_test_begin();
    GPUD_EXPECT(gpud_nvml_library_status().status == GPUD_NVML_NOT_FOUND);
    GPUD_EXPECT(gpud_nvml_devices(&gpus, &count).code == GPUD_NOT_FOUND);
    GPUD_EXPECT(gpud_nvml_product_name(&text).code == GPUD_NOT_FOUND);
    gpud_test_driver("570.133.20", 12080);
    uint32_t cuda;
    GPUD_EXPECT(gpud_nvml_library_status().status == GPUD_NVML_LOADED);
    GPUD_EXPECT(gpud_nvml_devices(&gpus, &count).code == GPUD_OK && count == 0);
    GPUD_EXPECT(gpud_nvml_driver_version(&text).code == GPUD_OK);
    GPUD_EXPECT_TEXT(text, "570.133.20");
    GPUD_EXPECT(gpud_nvml_cuda_version(&cuda).code == GPUD_OK && cuda == 12080);
    GPUD_EXPECT(gpud_nvml_product_name(&text).code == GPUD_OK && *text == 0);
    gpud_test_library(GPUD_NVML_FAILED, "Driver/library version mismatch");
    gpud_error error = gpud_nvml_devices(&gpus, &count);
    GPUD_EXPECT(error.code == GPUD_OTHER);
    GPUD_EXPECT_TEXT(error.what, "Driver/library version mismatch");
    gpud_test_end();
}

static void gpu_readings(void) {
    static const gpud_nvml_link links[] = {{.link = 0, .active = true, .has_errors = true, .errors = {.crc = 4}},
                                           {.link = 1}};
    static const gpud_nvml_gpm_metric metrics[] = {{1, 0.5}, {2, 0.25}};
    static const gpud_test_field fields[] = {{.field = 82, .scope = 0, .value = 61}};
    gpud_test_begin();
    gpud_test_gpu *first = gpud_test_add_gpu("GPU-1", "NVIDIA H100");
    gpud_test_gpu *second = gpud_test_add_gpu("GPU-2", "NVIDIA H100");
    GPUD_TEST_GIVE(first->temperature[GPUD_NVML_CORE], 55);
    GPUD_TEST_GIVE(first->ecc_mode, (gpud_nvml_ecc){.current = true});
    GPUD_TEST_GIVE(first->ecc_count[GPUD_NVML_UNCORRECTED][GPUD_NVML_VOLATILE][GPUD_NVML_DRAM], 3);
    GPUD_TEST_GIVE(first->sram_ecc_status,
                   (gpud_nvml_sram_ecc){.aggregate_uncorrectable_l2 = 7, .threshold_exceeded = true});
    GPUD_TEST_GIVE(first->power, (gpud_nvml_milliwatts){.usage = {true, 71000}});
    GPUD_TEST_GIVE_LIST(first->nvlinks, links, 2);
    GPUD_TEST_GIVE_LIST(first->gpm_metrics, metrics, 2);
    GPUD_TEST_GIVE_LIST(first->field_value, fields, 1);
    GPUD_TEST_GIVE_LIST(first->mig_devices, NULL, 0);
    first->utilization.error = GPUD_TIMED_OUT;
    second->error = GPUD_SOURCE_LOST;

    gpud_nvml_device *gpus;
    size_t count;
    if (!GPUD_EXPECT(gpud_nvml_devices(&gpus, &count).code == GPUD_OK && count == 2)) return;
    gpud_nvml_gpu gpu = gpud_nvml_identity(gpus[1]);
    GPUD_EXPECT_TEXT(gpu.uuid, "GPU-2");
    GPUD_EXPECT(gpu.index == 1 && gpu.serial == NULL);
    gpud_report report = {0};
    gpud_state *state = gpud_add_state(&report, gpud_test_context(), GPUD_HEALTHY, "well");
    gpud_state_gpu(state, &gpu);
    GPUD_EXPECT_TEXT(state->subject.kind, "gpu");
    GPUD_EXPECT_TEXT(state->subject.which, "GPU-2");
    GPUD_EXPECT(state->subject.is_gpu && state->subject.pci_id == NULL);

    uint32_t number = 7;
    uint64_t errors;
    gpud_nvml_ecc ecc;
    gpud_nvml_milliwatts power;
    GPUD_EXPECT(gpud_nvml_temperature(gpus[0], GPUD_NVML_CORE, &number).code == GPUD_OK && number == 55);
    GPUD_EXPECT(gpud_nvml_ecc_mode(gpus[0], &ecc).code == GPUD_OK && ecc.current && !ecc.pending);
    GPUD_EXPECT(gpud_nvml_ecc_count(gpus[0], GPUD_NVML_UNCORRECTED, GPUD_NVML_VOLATILE, GPUD_NVML_DRAM, &errors).code ==
                    GPUD_OK && errors == 3);
    gpud_nvml_sram_ecc sram;
    GPUD_EXPECT(gpud_nvml_sram_ecc_status(gpus[0], &sram).code == GPUD_OK && sram.threshold_exceeded);
    GPUD_EXPECT(sram.aggregate_uncorrectable_l2 == 7 && sram.aggregate_correctable == 0);
    GPUD_EXPECT(gpud_nvml_power(gpus[0], &power).code == GPUD_OK && power.usage.value == 71000);
    GPUD_EXPECT(power.usage.known && !power.enforced_limit.known);
    GPUD_EXPECT(gpud_nvml_presence(gpus[0]).code == GPUD_OK);

    /* Not given, an error of its own, and a GPU that is gone; what was there stays. */
    gpud_nvml_usage usage;
    GPUD_EXPECT(gpud_nvml_temperature(gpus[0], GPUD_NVML_MEMORY, &number).code == GPUD_NOT_SUPPORTED && number == 55);
    gpud_error error = gpud_nvml_utilization(gpus[0], &usage);
    GPUD_EXPECT(error.code == GPUD_TIMED_OUT && error.after_ms == 5000);
    GPUD_EXPECT_TEXT(error.what, "gpud_nvml_utilization of GPU-1");
    GPUD_EXPECT(gpud_nvml_temperature(gpus[1], GPUD_NVML_CORE, &number).code == GPUD_SOURCE_LOST);
    GPUD_EXPECT(gpud_nvml_presence(gpus[1]).code == GPUD_SOURCE_LOST);

    gpud_nvml_link *found;
    gpud_nvml_link_errors counters;
    bool active;
    GPUD_EXPECT(gpud_nvml_nvlinks(gpus[0], &found, &count).code == GPUD_OK && count == 2 && found[0].errors.crc == 4);
    GPUD_EXPECT(gpud_nvml_nvlink_active(gpus[0], 0, &active).code == GPUD_OK && active);
    GPUD_EXPECT(gpud_nvml_nvlink_errors(gpus[0], 0, &counters).code == GPUD_OK && counters.crc == 4);
    GPUD_EXPECT(gpud_nvml_nvlink_errors(gpus[0], 1, &counters).code == GPUD_NOT_SUPPORTED);
    gpud_nvml_mig_device *parts;
    GPUD_EXPECT(gpud_nvml_mig_devices(gpus[0], &parts, &count).code == GPUD_OK && count == 0);
    double value;
    GPUD_EXPECT(gpud_nvml_field_value(gpus[0], 82, 0, &value).code == GPUD_OK && value == 61);
    GPUD_EXPECT(gpud_nvml_field_value(gpus[0], 82, 1, &value).code == GPUD_NOT_SUPPORTED);

    static const uint32_t ids[65] = {2, 9};
    gpud_nvml_gpm_reading *readings;
    GPUD_EXPECT(gpud_nvml_gpm_metrics_of_all(ids, 2, 100, &readings, &count).code == GPUD_OK && count == 2);
    GPUD_EXPECT(readings[0].count == 1 && readings[0].metrics[0].value == 0.25);
    GPUD_EXPECT(readings[1].count == 0 && readings[1].error.code == GPUD_SOURCE_LOST);
    gpud_nvml_gpm_metric *some;
    GPUD_EXPECT(gpud_nvml_gpm_metrics(gpus[0], ids, 65, 100, &some, &count).code == GPUD_INVALID_ARGUMENT);

    gpud_test_deny("nvml");
    const char *name;
    error = gpud_nvml_devices(&gpus, &count);
    GPUD_EXPECT(error.code == GPUD_DENIED);
    GPUD_EXPECT(gpud_nvml_library_status().status == GPUD_NVML_OTHER);
    GPUD_EXPECT(gpud_nvml_product_name(&name).code == GPUD_DENIED);
    GPUD_EXPECT(gpud_nvml_presence(gpus[0]).code == GPUD_DENIED);
    gpud_test_end();
}

int main(void) {
    gpud_test_begin();
    judges();
    formats();
    integers();
    json();
    files();
    gpud_test_end();
    no_driver();
    gpu_readings();
    return gpud_test_summary();
}

void gpud_describe(gpud_descriptor *plugin) { (void)plugin; }
gpud_error gpud_check(const gpud_context *context, gpud_report *report) {
    (void)context, (void)report;
    return gpud_failed("not used");
}
