/* The checker on a machine made of plain values: make test */
#include <gpud_testing.h>

#include "judge.h"

#define MEMINFO "/proc/meminfo"
#define MEMORY(available) "MemTotal:        1000 kB\nMemFree:           5 kB\nMemAvailable:     " available " kB\n"
#define UNKNOWN "/proc/meminfo does not say how much memory is available"

static void too_little_memory_is_degraded(void) {
    static const struct {
        const char *meminfo;
        gpud_health health;
        const char *reason;
    } cases[] = {
        {MEMORY("610"), GPUD_HEALTHY, "61 % of memory is available"},
        {MEMORY("290"), GPUD_HEALTHY, "29 % of memory is available"},
        {MEMORY("50"), GPUD_HEALTHY, "5 % of memory is available"},
        {MEMORY("49"), GPUD_DEGRADED, "4 % of memory is available, less than 5 %"},
        {"", GPUD_DEGRADED, UNKNOWN},
        {"MemTotal: 9 kB\n", GPUD_DEGRADED, UNKNOWN},
        {MEMORY("1001"), GPUD_DEGRADED, UNKNOWN},
        {"MemTotal: 0 kB\nMemAvailable: 0 kB\n", GPUD_DEGRADED, UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gpud_test_begin();
        gpud_test_file(MEMINFO, cases[i].meminfo);
        gpud_report *report = gpud_test_check();
        if (GPUD_EXPECT(report->state_count == 1)) {
            GPUD_EXPECT(report->states[0]->health == cases[i].health);
            GPUD_EXPECT_TEXT(report->states[0]->reason, cases[i].reason);
        }
        gpud_test_end();
    }
}

static void trouble_with_a_source_is_passed_on(void) {
    gpud_test_begin();
    gpud_test_file_error(MEMINFO, GPUD_TIMED_OUT);
    gpud_test_check();
    GPUD_EXPECT(gpud_test_error().code == GPUD_TIMED_OUT);
    gpud_test_deny("sysfs");
    gpud_test_check();
    GPUD_EXPECT(gpud_test_error().code == GPUD_DENIED);
    GPUD_EXPECT(gpud_json_parse(SCHEMA) != NULL);
    gpud_test_end();
}

int main(void) {
    too_little_memory_is_degraded();
    trouble_with_a_source_is_passed_on();
    return gpud_test_summary();
}
