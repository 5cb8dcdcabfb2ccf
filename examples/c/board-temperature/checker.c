/* board-temperature: temperatures of boards and devices against limits of the operator. This file asks; judge.c
 * decides. */
#include <string.h>

#include "judge.h"

enum {
    MAX_FILE = 256,   /* Longest content of a sensor's file, bytes. */
    MAX_FILES = 1024, /* Most sensors. */
};

/* Key of the sensors that were too hot at the last check. */
static const char HOT[] = "hot";

void gpud_describe(gpud_descriptor *plugin) {
    static const gpud_metric_description metrics[] = {
        {.name = "board_temperature_celsius", .help = "Temperature by chip and sensor (degrees Celsius)"},
    };
    plugin->version = "0.1.0";
    gpud_component *component =
        gpud_add_component(plugin, "board-temperature", "Temperatures of boards and devices against limits");
    component->metrics = metrics;
    component->metric_count = sizeof metrics / sizeof metrics[0];
    component->config_schema = SCHEMA;
}

gpud_error gpud_check(const gpud_context *context, gpud_report *report) {
    config config;
    gpud_error error = config_read(gpud_config(), &config);
    if (error.code) return error;

    gpud_file *inputs, *labels, *names;
    size_t input_count, label_count, name_count;
    error = gpud_read_glob("/sys/class/hwmon/hwmon*/temp*_input", MAX_FILE, MAX_FILES, &inputs, &input_count);
    if (error.code) return error;
    error = gpud_read_glob("/sys/class/hwmon/hwmon*/temp*_label", MAX_FILE, MAX_FILES, &labels, &label_count);
    if (error.code) return error;
    error = gpud_read_glob("/sys/class/hwmon/hwmon*/name", MAX_FILE, MAX_FILES, &names, &name_count);
    if (error.code) return error;

    gpud_text before;
    bool present;
    error = gpud_state_get(HOT, &before, &present);
    if (error.code) return error;

    sensor *sensors;
    size_t count = sensors_find(inputs, input_count, labels, label_count, names, name_count, &sensors);
    const char *was = present ? gpud_trimmed(before) : "";
    const char *hot = judge(context, &config, sensors, count, was, report);
    /* The trimmed text lacks the last line's end. */
    if (strcmp(gpud_trimmed((gpud_text){hot, strlen(hot)}), was) == 0) return GPUD_NO_ERROR;
    return gpud_state_set(HOT, hot, strlen(hot));
}
