/* The checker on a machine made of plain values: make test */
#include <gpud_testing.h>

#include "judge.h"

#define FAN(n) "/sys/class/hwmon/hwmon0/fan" #n "_input"

static void slow_fans_are_named(void) {
    static const struct {
        const char *fans[2];
        gpud_health health;
        const char *reason;
    } cases[] = {
        {{NULL, NULL}, GPUD_HEALTHY, "this machine shows no fans"},
        {{"900\n", "1200\n"}, GPUD_HEALTHY, "2 fans turn"},
        {{"900", "299"}, GPUD_DEGRADED, "1 of 2 fans are too slow: " FAN(2) " at 299 rpm"},
        {{"900", "gone"}, GPUD_HEALTHY, "1 fans turn"},
        {{"-1", NULL}, GPUD_DEGRADED, "no fan can be read"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gpud_test_begin();
        if (cases[i].fans[0]) gpud_test_file(FAN(1), cases[i].fans[0]);
        if (cases[i].fans[1]) gpud_test_file(FAN(2), cases[i].fans[1]);
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
    gpud_test_file(FAN(1), "900\n");
    gpud_test_file(FAN(2), "900\n");
    gpud_test_file_error(FAN(2), GPUD_TIMED_OUT);
    gpud_report *report = gpud_test_check();
    GPUD_EXPECT(gpud_test_error().code == GPUD_OK);
    GPUD_EXPECT(report->metric_count == 1);
    gpud_test_deny("sysfs");
    gpud_test_check();
    GPUD_EXPECT(gpud_test_error().code == GPUD_DENIED);
    GPUD_EXPECT(gpud_json_parse(SCHEMA) != NULL);
    gpud_test_end();
}

int main(void) {
    slow_fans_are_named();
    trouble_with_a_source_is_passed_on();
    return gpud_test_summary();
}
