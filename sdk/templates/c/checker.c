/* Fans that turn slower than they should. This file asks; judge.c decides. */
#include "judge.h"

enum {
    MAX_FANS = 256, /* Of one machine. */
    MAX_BYTES = 64, /* Of one number. */
};

void gpud_describe(gpud_descriptor *plugin) {
    static const char *const tags[] = {"fans"};
    static const gpud_metric_description metrics[] = {
        {.name = "fan_rpm", .help = "Speed of a fan, revolutions per minute"},
    };
    plugin->version = "0.1.0";
    gpud_component *component = gpud_add_component(plugin, "{{name}}", "Fans that turn slower than they should");
    component->tags = tags;
    component->tag_count = 1;
    component->metrics = metrics;
    component->metric_count = 1;
    component->config_schema = SCHEMA;
}

gpud_error gpud_check(const gpud_context *context, gpud_report *report) {
    const gpud_json *config = gpud_json_parse(gpud_config());
    if (config == NULL) return gpud_failed("the configuration is not JSON");

    gpud_file *fans;
    size_t count;
    gpud_error error = gpud_read_glob("/sys/class/hwmon/hwmon*/fan*_input", MAX_BYTES, MAX_FANS, &fans, &count);
    if (error.code) return error; /* becomes a state that says which source did not answer */

    judge(context, gpud_json_number(config, "min_rpm", 300), fans, count, report);
    return GPUD_NO_ERROR;
}
