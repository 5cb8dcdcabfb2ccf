/* Tests of the SDK itself: text, numbers, JSON. examples/test.sh runs them. */
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

int main(void) {
    gpud_test_begin();
    judges();
    formats();
    integers();
    json();
    files();
    gpud_test_end();
    return gpud_test_summary();
}

void gpud_describe(gpud_descriptor *plugin) { (void)plugin; }
gpud_error gpud_check(const gpud_context *context, gpud_report *report) {
    (void)context, (void)report;
    return gpud_failed("not used");
}
