/* Unit tests against a machine made of plain values: make test */
#include <gpud_testing.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"

static void turn(int number, const char *rpm) {
    gpud_test_file("/sys/class/hwmon/hwmon2/name", "nct6775\n");
    gpud_test_file(gpud_format("/sys/class/hwmon/hwmon2/fan%d_input", number), rpm);
}

static void a_fan_stalls_and_turns_again(void) {
    static const struct {
        const char *first, *second, *third;
        gpud_health health;
        const char *event;
    } steps[] = {
        {"1200", "1300", "1250", GPUD_HEALTHY, NULL},
        {"0", "1300", "1250", GPUD_HEALTHY, NULL},
        {"0", "1300", "1250", GPUD_HEALTHY, NULL},
        {"0", "1300", "1250", GPUD_DEGRADED, "fan_stalled"},
        {"0", "1300", "1250", GPUD_DEGRADED, NULL},
        {"0", "0", "0", GPUD_DEGRADED, NULL}, /* Not known to be better. */
        {"900", "1300", "1250", GPUD_HEALTHY, "fan_turns_again"},
        {"0", "0", "0", GPUD_HEALTHY, NULL}, /* The board stopped all. */
        {"0", "0", "0", GPUD_HEALTHY, NULL},
        {"0", "0", "0", GPUD_HEALTHY, NULL},
        {"0", "0", "1250", GPUD_HEALTHY, NULL},
    };
    gpud_test_begin();
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        turn(1, steps[i].first);
        turn(2, steps[i].second);
        turn(3, steps[i].third);
        turn(4, "0\n"); /* Nothing is plugged in here. */
        gpud_report *report = gpud_test_check();
        if (!GPUD_EXPECT(report->state_count == 1)) continue;
        GPUD_EXPECT(report->states[0]->health == steps[i].health);
        GPUD_EXPECT(report->events.count == (steps[i].event ? 1 : 0));
        if (report->events.count == 1) GPUD_EXPECT_TEXT(report->events.items[0]->name, steps[i].event);
        GPUD_EXPECT(report->metric_count == 4);
    }
    gpud_test_end();
}

static void half_of_the_fans(void) {
    gpud_test_begin();
    gpud_test_config("{\"checks\": 1}");
    turn(1, "1200");
    turn(2, "1200");
    gpud_test_check();
    turn(1, "0");
    gpud_report *report = gpud_test_check();
    GPUD_EXPECT(report->states[0]->health == GPUD_UNHEALTHY);
    GPUD_EXPECT_TEXT(report->states[0]->reason, "hwmon2/nct6775/fan1: stands still while its neighbours turn");
    GPUD_EXPECT_TEXT(report->states[0]->evidence[0].path, "/sys/class/hwmon/hwmon2/fan1_input");
    gpud_test_config("{\"checks\": 1, \"ignore\": [\"hwmon2/nct6775/fan1\"]}");
    GPUD_EXPECT(gpud_test_check()->states[0]->health == GPUD_HEALTHY);
    gpud_test_end();
}

static void another_boot_knows_nothing(void) {
    gpud_test_begin();
    gpud_test_config("{\"checks\": 1}");
    turn(1, "1200");
    turn(2, "1200");
    gpud_test_check();
    gpud_test_context()->boot_id = "boot-2";
    turn(1, "0");
    GPUD_EXPECT(gpud_test_check()->states[0]->health == GPUD_HEALTHY);
    gpud_test_end();
}

static void trouble(void) {
    gpud_test_begin();
    GPUD_EXPECT(gpud_test_check()->unsupported);
    static const char *const wrong[] = {"", "3", "{\"checks\": 0}", "{\"checks\": 1e9}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        gpud_test_config(wrong[i]);
        gpud_test_check();
        GPUD_EXPECT(gpud_test_error().code == GPUD_FAILED);
    }
    gpud_test_config("{}");
    gpud_test_deny("state");
    gpud_test_check();
    GPUD_EXPECT(gpud_test_error().code == GPUD_DENIED);
    GPUD_EXPECT(gpud_json_parse(SCHEMA) != NULL);
    gpud_test_end();
}

static void saved_text_is_survived(void) {
    srand(2);
    static const char letters[] = "0123456789 -\nab/\x80";
    for (int round = 0; round < 500; round++) {
        gpud_test_begin();
        char text[64] = "b\n";
        size_t length = 2 + (size_t)rand() % 60;
        for (size_t i = 2; i < length; i++) text[i] = letters[(size_t)rand() % (sizeof letters - 1)];
        text[length] = 0;
        known_fan *known, *again;
        size_t count = fans_restore(text, "b", &known);
        GPUD_EXPECT(count <= length);
        /* What was understood is kept as it is. */
        GPUD_EXPECT(fans_restore(fans_save("b", known, count), "b", &again) == count);
        for (size_t i = 0; i < count; i++) GPUD_EXPECT_TEXT(again[i].key, known[i].key);
        gpud_test_end();
    }
}

int main(void) {
    a_fan_stalls_and_turns_again();
    half_of_the_fans();
    another_boot_knows_nothing();
    trouble();
    saved_text_is_survived();
    return gpud_test_summary();
}
