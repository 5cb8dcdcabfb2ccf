/* Unit tests against a machine made of plain values: make test */
#include <gpud_testing.h>

int main(void) {
    static const struct {
        const char *load, *config;
        gpud_health health;
    } cases[] = {
        {"0.10 0.20 0.30 1/200 4242\n", "{}", GPUD_HEALTHY},
        {"7.00 0.20 0.30 1/200 4242\n", "{\"max_load\": 8}", GPUD_HEALTHY},
        {"8.00 0.20 0.30 1/200 4242\n", "{\"max_load\": 8}", GPUD_DEGRADED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gpud_test_begin();
        gpud_test_config(cases[i].config);
        gpud_test_file("/proc/loadavg", cases[i].load);
        gpud_report *report = gpud_test_check();
        GPUD_EXPECT(report->state_count == 1 && report->states[0]->health == cases[i].health);
        gpud_test_end();
    }
    gpud_test_begin();
    gpud_test_check();
    GPUD_EXPECT(gpud_test_error().code == GPUD_NOT_FOUND);
    gpud_test_file("/proc/loadavg", "much");
    gpud_test_check();
    GPUD_EXPECT(gpud_test_error().code == GPUD_FAILED);
    gpud_test_end();
    return gpud_test_summary();
}
