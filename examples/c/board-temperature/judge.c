#include "judge.h"

#include <string.h>

const char SCHEMA[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
    " \"warn\": {\"type\": \"number\", \"description\": \"Degraded from here on, degrees Celsius; 95 by default\"},"
    " \"critical\": {\"type\": \"number\", \"description\": \"Unhealthy from here on; 105 by default\"},"
    " \"sensors\": {\"type\": \"object\", \"maxProperties\": 256,"
    "  \"description\": \"Limits of single sensors: {\\\"nvme/Composite\\\": {\\\"warn\\\": 70}}\","
    "  \"additionalProperties\": {\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
    "   \"warn\": {\"type\": \"number\"}, \"critical\": {\"type\": \"number\"}}}}}}";

static const char METRIC[] = "board_temperature_celsius";
static const char COOLING[] = "Check fans, air flow and the temperature of the room.";
/* Processors run at up to 100 degrees by design. */
static const limits USUAL = {.warn = 95, .critical = 105};

static bool in_order(limits of) { return of.warn < of.critical; }

static limits limits_in(const gpud_json *object, limits otherwise) {
    return (limits){gpud_json_number(object, "warn", otherwise.warn),
                    gpud_json_number(object, "critical", otherwise.critical)};
}

gpud_error config_read(const char *document, config *out) {
    const gpud_json *root = gpud_json_parse(document);
    if (root == NULL || root->kind != GPUD_JSON_OBJECT) return gpud_failed("config: not a JSON object");
    out->all = limits_in(root, USUAL);
    if (!in_order(out->all)) return gpud_failed("config: warn has to be less than critical");
    out->sensors = gpud_json_get(root, "sensors");
    for (size_t i = 0; out->sensors && i < out->sensors->count && out->sensors->kind == GPUD_JSON_OBJECT; i++)
        if (!in_order(limits_in(&out->sensors->items[i], out->all)))
            return gpud_failed(gpud_format("config: %.100s: warn has to be less than critical", out->sensors->keys[i]));
    return GPUD_NO_ERROR;
}

/* Was this sensor in this level? Lines are "level key". */
static gpud_health level_before(const char *before, const char *key) {
    size_t length = strlen(key);
    for (const char *line = before; line != NULL && *line != 0;) {
        const char *end = strchr(line, '\n');
        size_t size = end ? (size_t)(end - line) : strlen(line);
        if (size == length + 2 && line[1] == ' ' && memcmp(line + 2, key, length) == 0)
            return line[0] == 'c' ? GPUD_UNHEALTHY : GPUD_DEGRADED;
        line = end ? end + 1 : NULL;
    }
    return GPUD_HEALTHY;
}

static void crossing(const gpud_context *context, gpud_report *report, const sensor *one, gpud_health was,
                     gpud_health is, const char *reason) {
    if (was == is) return;
    const char *text = gpud_format("%.200s: %s", one->key, reason);
    gpud_event *event = is == GPUD_UNHEALTHY
                            ? gpud_add_event(report, context, "temperature_critical", GPUD_CRITICAL, text)
                        : is == GPUD_DEGRADED
                            ? gpud_add_event(report, context, "temperature_warning", GPUD_WARNING, text)
                            : gpud_add_event(report, context, "temperature_normal", GPUD_INFO, text);
    gpud_event_subject(event, "sensor", one->key);
    gpud_event_file(event, one->path);
}

static const sensor *by_key(const sensor *sensors, size_t count, const char *key) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(sensors[i].key, key) == 0) return &sensors[i];
    return NULL;
}

const char *judge(const gpud_context *context, const config *config, const sensor *sensors, size_t count,
                  const char *before, gpud_report *report) {
    const gpud_json *own = config->sensors;
    size_t named = own && own->kind == GPUD_JSON_OBJECT ? own->count : 0;
    if (count == 0 && named == 0) {
        gpud_report_unsupported(report, context, "no temperature sensor on this machine");
        return "";
    }
    gpud_result *results = gpud_alloc((count + named + 1) * sizeof *results);
    size_t result_count = 0, readable = 0;
    const char *after = "";
    const sensor *hottest = NULL;
    for (size_t i = 0; i < count; i++) {
        const sensor *one = &sensors[i];
        gpud_health was = level_before(before, one->key), is = was;
        if (one->readable) {
            readable++;
            if (hottest == NULL || one->value > hottest->value) hottest = one;
            gpud_metric *metric = gpud_add_gauge(report, METRIC, one->value);
            gpud_metric_label(metric, "chip", one->chip);
            gpud_metric_label(metric, "sensor", one->name);
            limits of = limits_in(gpud_json_get(own, one->key), config->all);
            is = one->value >= of.critical ? GPUD_UNHEALTHY : one->value >= of.warn ? GPUD_DEGRADED : GPUD_HEALTHY;
            const char *reason = is == GPUD_HEALTHY
                                     ? gpud_format("%.1f °C, below %.1f °C again", one->value, of.warn)
                                     : gpud_format("%.1f °C, %s is %.1f °C", one->value,
                                                   is == GPUD_UNHEALTHY ? "critical" : "warning",
                                                   is == GPUD_UNHEALTHY ? of.critical : of.warn);
            crossing(context, report, one, was, is, reason);
            results[result_count++] = (gpud_result){.name = one->key,
                                                    .health = is,
                                                    .reason = reason,
                                                    .has_action = true,
                                                    .action = GPUD_HARDWARE_INSPECTION,
                                                    .advice = COOLING,
                                                    .path = one->path};
        }
        /* A sensor that cannot be read this time stays what it was: no second event when it can be again. */
        if (is != GPUD_HEALTHY) after = gpud_format("%s%c %s\n", after, is == GPUD_UNHEALTHY ? 'c' : 'w', one->key);
    }
    for (size_t i = 0; i < named; i++) {
        const sensor *one = by_key(sensors, count, own->keys[i]);
        if (one && one->readable) continue;
        results[result_count++] = (gpud_result){.name = own->keys[i],
                                                .health = GPUD_DEGRADED,
                                                .reason = one ? "cannot be read" : "no such sensor",
                                                .path = one ? one->path : NULL};
    }
    gpud_state *state = gpud_judge(
        report, context, results, result_count,
        hottest ? gpud_format("%zu sensors, hottest is %s with %.1f °C", readable, hottest->key, hottest->value) : "");
    if (readable == 0 && state->health == GPUD_HEALTHY) {
        state->health = GPUD_DEGRADED;
        state->reason = gpud_format("none of %zu temperature sensors can be read", count);
    }
    if (readable < count) gpud_state_info(state, "unreadable", gpud_format("%zu of %zu", count - readable, count));
    return after;
}
