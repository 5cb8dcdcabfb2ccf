/* fan-stall: fans that turned before and stand still now, while their neighbours turn. This file asks; judge.c
 * decides. */
#include <string.h>

#include "judge.h"

enum {
    MAX_FILE = 256,  /* Longest content of a fan's file, bytes. */
    MAX_FILES = 512, /* Most fans. */
};

/* Key of the fans that turned before. */
static const char KNOWN[] = "known";

void gpud_describe(gpud_descriptor *plugin) {
    static const gpud_metric_description metrics[] = {
        {.name = "fan_speed_rpm", .help = "Speed of a fan (revolutions per minute)"},
    };
    plugin->version = "0.1.0";
    gpud_component *component =
        gpud_add_component(plugin, "fan-stall", "Fans that stand still while their neighbours turn");
    component->metrics = metrics;
    component->metric_count = sizeof metrics / sizeof metrics[0];
    component->config_schema = SCHEMA;
}

gpud_error gpud_check(const gpud_context *context, gpud_report *report) {
    config config;
    gpud_error error = config_read(gpud_config(), &config);
    if (error.code) return error;

    gpud_file *inputs, *names;
    size_t input_count, name_count;
    error = gpud_read_glob("/sys/class/hwmon/hwmon*/fan*_input", MAX_FILE, MAX_FILES, &inputs, &input_count);
    if (error.code) return error;
    error = gpud_read_glob("/sys/class/hwmon/hwmon*/name", MAX_FILE, MAX_FILES, &names, &name_count);
    if (error.code) return error;

    gpud_text saved;
    bool present;
    error = gpud_state_get(KNOWN, &saved, &present);
    if (error.code) return error;

    fan *fans;
    known_fan *known, *now;
    const char *before = present ? saved.data : "";
    size_t count = fans_find(inputs, input_count, names, name_count, &fans);
    size_t known_count = fans_restore(before, context->boot_id, &known);
    size_t now_count = judge(context, &config, fans, count, known, known_count, &now, report);
    const char *after = fans_save(context->boot_id, now, now_count);
    return strcmp(after, before) == 0 ? GPUD_NO_ERROR : gpud_state_set(KNOWN, after, strlen(after));
}
