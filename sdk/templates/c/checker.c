/* {{name}}: a gpud checker. */
#include <gpud.h>
#include <string.h>

static const char SCHEMA[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {\"max_load\": {\"type\": \"number\","
    " \"description\": \"Degraded from this load average of one minute on; 100 by default\"}}}";

void gpud_describe(gpud_descriptor *plugin) {
    plugin->version = "0.1.0";
    gpud_add_component(plugin, "{{name}}", "Load average against a limit")->config_schema = SCHEMA;
}

gpud_error gpud_check(const gpud_context *context, gpud_report *report) {
    const gpud_json *config = gpud_json_parse(gpud_config());
    if (config == NULL) return gpud_failed("config: not JSON");
    double max_load = gpud_json_number(config, "max_load", 100);

    gpud_text text;
    gpud_error error = gpud_read("/proc/loadavg", 256, &text);
    if (error.code) return error; /* gpud says honestly which file did not answer */

    /* "0.10 0.20 0.30 1/200 4242": the first number, which JSON reads as well. */
    const char *line = gpud_trimmed(text);
    const char *space = strchr(line, ' ');
    const gpud_json *load = gpud_json_parse(space ? gpud_format("%.*s", (int)(space - line), line) : line);
    if (load == NULL || load->kind != GPUD_JSON_NUMBER) return gpud_failed("/proc/loadavg: no number at its beginning");

    gpud_health health = load->number >= max_load ? GPUD_DEGRADED : GPUD_HEALTHY;
    gpud_add_state(report, context, health,
                   health == GPUD_HEALTHY
                       ? gpud_format("load average is %.2f", load->number)
                       : gpud_format("load average is %.2f, limit is %.2f", load->number, max_load));
    gpud_add_gauge(report, "load_average_one_minute", load->number);
    return GPUD_NO_ERROR;
}
