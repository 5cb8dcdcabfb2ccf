/* Unit tests against a machine made of plain values: make test */
#include <gpud_testing.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"

#define HWMON "/sys/class/hwmon/"

/* A chip with one sensor. */
static void chip(int number, const char *driver, const char *label, const char *reading) {
    gpud_test_file(gpud_format(HWMON "hwmon%d/name", number), gpud_format("%s\n", driver));
    gpud_test_file(gpud_format(HWMON "hwmon%d/temp1_input", number), gpud_format("%s\n", reading));
    if (label) gpud_test_file(gpud_format(HWMON "hwmon%d/temp1_label", number), gpud_format("%s\n", label));
}

static void verdicts(void) {
    static const struct {
        const char *config, *reading;
        gpud_health health;
        const char *reason, *event;
    } cases[] = {
        {"{}", "45500", GPUD_HEALTHY, "1 sensors, hottest is nvme/Composite with 45.5 °C", NULL},
        {"{}", "-1500", GPUD_HEALTHY, "1 sensors, hottest is nvme/Composite with -1.5 °C", NULL},
        {"{}", "95000", GPUD_DEGRADED, "nvme/Composite: 95.0 °C, warning is 95.0 °C", "temperature_warning"},
        {"{}", "105000", GPUD_UNHEALTHY, "nvme/Composite: 105.0 °C, critical is 105.0 °C", "temperature_critical"},
        {"{\"warn\": 40, \"critical\": 50.5}", "50400", GPUD_DEGRADED, "nvme/Composite: 50.4 °C, warning is 40.0 °C",
         "temperature_warning"},
        {"{\"sensors\": {\"nvme/Composite\": {\"warn\": 60, \"critical\": 70}}}", "71000", GPUD_UNHEALTHY,
         "nvme/Composite: 71.0 °C, critical is 70.0 °C", "temperature_critical"},
        {"{\"sensors\": {\"a/b\": {}}}", "45500", GPUD_DEGRADED, "a/b: no such sensor", NULL},
        {"{\"sensors\": {\"nvme/Composite\": {}}}", "255000", GPUD_DEGRADED, "nvme/Composite: cannot be read", NULL},
        {"{}", "255000", GPUD_DEGRADED, "none of 1 temperature sensors can be read", NULL},
        {"{}", "warm", GPUD_DEGRADED, "none of 1 temperature sensors can be read", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gpud_test_begin();
        gpud_test_config(cases[i].config);
        chip(0, "nvme", "Composite", cases[i].reading);
        gpud_report *report = gpud_test_check();
        if (!GPUD_EXPECT(report->state_count == 1)) continue;
        GPUD_EXPECT(report->states[0]->health == cases[i].health);
        GPUD_EXPECT_TEXT(report->states[0]->reason, cases[i].reason);
        GPUD_EXPECT_TEXT(report->events.count ? report->events.items[0]->name : NULL, cases[i].event);
        GPUD_EXPECT(report->states[0]->has_actions == (cases[i].event != NULL));
        gpud_test_end();
    }
}

static void an_event_is_a_crossing(void) {
    static const struct {
        const char *reading, *event;
    } steps[] = {{"50000", NULL},
                 {"96000", "temperature_warning"},
                 {"97000", NULL},
                 {"106000", "temperature_critical"},
                 {"x", NULL}, /* Not readable this time: nothing is known, nothing is forgotten. */
                 {"107000", NULL},
                 {"96000", "temperature_warning"},
                 {"50000", "temperature_normal"},
                 {"50000", NULL}};
    gpud_test_begin();
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        chip(3, "nvme", NULL, steps[i].reading);
        chip(4, "k10temp", NULL, "40000");
        gpud_report *report = gpud_test_check();
        GPUD_EXPECT(report->events.count == (steps[i].event ? 1 : 0));
        if (report->events.count == 1) {
            GPUD_EXPECT_TEXT(report->events.items[0]->name, steps[i].event);
            GPUD_EXPECT_TEXT(report->events.items[0]->subject.which, "nvme/temp1");
        }
    }
    gpud_test_end();
}

static void names_and_metrics(void) {
    gpud_test_begin();
    chip(10, "nvme", NULL, "30000");
    chip(2, "nvme", NULL, "20000");
    chip(3, "two\nlines", NULL, "25000");
    gpud_test_file(HWMON "hwmon2/temp2_input", "21000\n");
    gpud_test_file(HWMON "hwmon2/temp2_label", "temp1\n");
    gpud_test_file(HWMON "hwmon2/temp3_input", "22000\n");
    gpud_test_file_error(HWMON "hwmon2/temp3_input", GPUD_TIMED_OUT);
    gpud_report *report = gpud_test_check();
    GPUD_EXPECT(report->metric_count == 4);
    GPUD_EXPECT(gpud_test_metric(report, "board_temperature_celsius", "nvme.2") == 30);
    GPUD_EXPECT(gpud_test_metric(report, "board_temperature_celsius", "nvme") == 20);
    GPUD_EXPECT(gpud_test_metric(report, "board_temperature_celsius", "temp1 (temp2)") == 21);
    GPUD_EXPECT(gpud_test_metric(report, "board_temperature_celsius", "unknown") == 25);
    GPUD_EXPECT_TEXT(report->states[0]->info[0].value, "1 of 5");
    gpud_test_end();
}

static void trouble(void) {
    gpud_test_begin();
    gpud_report *report = gpud_test_check();
    GPUD_EXPECT(report->unsupported);
    GPUD_EXPECT_TEXT(report->states[0]->reason, "no temperature sensor on this machine");
    gpud_test_deny("sysfs");
    gpud_test_check();
    GPUD_EXPECT(gpud_test_error().code == GPUD_DENIED);
    GPUD_EXPECT_TEXT(gpud_error_text(gpud_test_error()), HWMON "hwmon*/temp*_input: permission denied");
    static const char *const wrong[] = {"", "[]", "{\"warn\": 200}", "{\"sensors\": {\"a/b\": {\"critical\": 1}}}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        gpud_test_config(wrong[i]);
        gpud_test_check();
        GPUD_EXPECT(gpud_test_error().code == GPUD_FAILED);
    }
    GPUD_EXPECT(gpud_json_parse(SCHEMA) != NULL);
    GPUD_EXPECT_TEXT(gpud_test_describe()->components[0].name, "board-temperature");
    gpud_test_end();
}

/* Whatever is in the files, the checker ends well, and says no more metrics than there are files. */
static void any_files_are_survived(void) {
    srand(1);
    static const char letters[] = "0123456789-. \n\t\\nvme\x80\xff\xc3\xa4{}\":,";
    for (int round = 0; round < 300; round++) {
        gpud_test_begin();
        for (int i = 0; i < 20; i++) {
            static const char *const files[] = {"name", "temp1_input", "temp1_label", "temp2_input", "temp_input"};
            char content[16];
            size_t length = (size_t)rand() % sizeof content;
            for (size_t j = 0; j < length; j++) content[j] = letters[(size_t)rand() % (sizeof letters - 1)];
            gpud_test_bytes(gpud_format(HWMON "hwmon%d/%s", rand() % 4, files[rand() % 5]), content, length);
        }
        gpud_report *report = gpud_test_check();
        GPUD_EXPECT(gpud_test_error().code == GPUD_OK);
        GPUD_EXPECT(report->metric_count <= 20);
        for (size_t i = 0; i < report->metric_count; i++) GPUD_EXPECT(isfinite(report->metrics[i]->value));
        gpud_test_end();
    }
}

int main(void) {
    verdicts();
    an_event_is_a_crossing();
    names_and_metrics();
    trouble();
    any_files_are_survived();
    return gpud_test_summary();
}
