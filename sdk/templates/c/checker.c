/* Memory that runs short. This file asks; judge.c decides. */
#include "judge.h"

enum {
    MAX_BYTES = 65536, /* Longest /proc/meminfo. */
};

void gpud_describe(gpud_descriptor *plugin) {
    static const char *const tags[] = {"memory"};
    static const gpud_metric_description metrics[] = {
        {.name = "available_memory_bytes", .help = "Memory that programs can still get"},
    };
    plugin->version = "0.1.0";
    gpud_component *component = gpud_add_component(plugin, "{{name}}", "Memory that runs short");
    component->tags = tags;
    component->tag_count = 1;
    component->metrics = metrics;
    component->metric_count = 1;
    component->config_schema = SCHEMA;
}

gpud_error gpud_check(const gpud_context *context, gpud_report *report) {
    const gpud_json *config = gpud_json_parse(gpud_config());
    if (config == NULL) return gpud_failed("the configuration is not JSON");

    gpud_text meminfo;
    gpud_error error = gpud_read("/proc/meminfo", MAX_BYTES, &meminfo);
    if (error.code) return error; /* becomes a state that says which source did not answer */

    judge(context, gpud_json_number(config, "min_available_percent", 5), meminfo.data, report);
    return GPUD_NO_ERROR;
}
