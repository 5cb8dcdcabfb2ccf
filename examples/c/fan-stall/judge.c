#include "judge.h"

#include <string.h>

const char SCHEMA[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
    " \"checks\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 100,"
    "  \"description\": \"Checks in a row at which a fan has to stand before it is reported; 3 by default\"},"
    " \"ignore\": {\"type\": \"array\", \"maxItems\": 256, \"items\": {\"type\": \"string\"},"
    "  \"description\": \"Fans that are not judged, such as hwmon2/nct6775/fan4\"}}}";

enum { USUAL_CHECKS = 3, MAX_CHECKS = 100 };

static const char ADVICE[] = "Look whether something blocks the fan, then replace it.";

gpud_error config_read(const char *document, config *out) {
    const gpud_json *root = gpud_json_parse(document);
    if (root == NULL || root->kind != GPUD_JSON_OBJECT) return gpud_failed("config: not a JSON object");
    double checks = gpud_json_number(root, "checks", USUAL_CHECKS);
    if (!(checks >= 1 && checks <= MAX_CHECKS)) return gpud_failed("config: checks has to be from 1 to 100");
    out->checks = (int64_t)checks;
    out->ignore = gpud_json_get(root, "ignore");
    return GPUD_NO_ERROR;
}

static bool is_ignored(const config *config, const char *key) {
    const gpud_json *list = config->ignore;
    for (size_t i = 0; list && list->kind == GPUD_JSON_ARRAY && i < list->count; i++)
        if (list->items[i].kind == GPUD_JSON_STRING && strcmp(list->items[i].string, key) == 0) return true;
    return false;
}

static bool neighbour_turns(const fan *fans, size_t count, const char *chip) {
    for (size_t i = 0; i < count; i++)
        if (fans[i].rpm > 0 && strcmp(fans[i].chip, chip) == 0) return true;
    return false;
}

static const known_fan *by_key(const known_fan *known, size_t count, const char *key) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(known[i].key, key) == 0) return &known[i];
    return NULL;
}

static void report_event(const gpud_context *context, gpud_report *report, const fan *one, const char *name,
                         gpud_severity severity, const char *text) {
    gpud_event *event = gpud_add_event(report, context, name, severity, gpud_format("%s: %s", one->key, text));
    gpud_event_subject(event, "fan", one->key);
    gpud_event_file(event, one->path);
}

size_t judge(const gpud_context *context, const config *config, const fan *fans, size_t count, const known_fan *known,
             size_t known_count, known_fan **now, gpud_report *report) {
    known_fan *list = gpud_alloc((count + 1) * sizeof *list);
    *now = list;
    if (count == 0) {
        gpud_report_unsupported(report, context, "no fan on this machine");
        return 0;
    }
    gpud_result *results = gpud_alloc((count + 1) * sizeof *results);
    size_t result_count = 0, now_count = 0, turning = 0, stalled = 0;
    for (size_t i = 0; i < count; i++) {
        const fan *one = &fans[i];
        gpud_metric_label(gpud_add_gauge(report, "fan_speed_rpm", (double)one->rpm), "fan", one->key);
        turning += one->rpm > 0;
        const known_fan *before = by_key(known, known_count, one->key);
        /* A header that nothing is plugged into reads 0 for ever: only a fan that once turned can stall. */
        if (before == NULL && one->rpm == 0) continue;
        if (is_ignored(config, one->key)) continue;
        int64_t was = before ? before->still : 0, still = 0;
        if (one->rpm == 0) {
            /* With all of a chip's fans standing, it is the board that stopped them: nothing is learned of this one. */
            still = neighbour_turns(fans, count, one->chip) ? was + (was <= MAX_CHECKS) : was;
        }
        list[now_count++] = (known_fan){one->key, still};
        if (still >= config->checks) {
            stalled++;
            results[result_count++] = (gpud_result){.name = one->key,
                                                    .health = GPUD_DEGRADED,
                                                    .reason = "stands still while its neighbours turn",
                                                    .has_action = true,
                                                    .action = GPUD_HARDWARE_INSPECTION,
                                                    .advice = ADVICE,
                                                    .path = one->path};
            if (was < config->checks)
                report_event(context, report, one, "fan_stalled", GPUD_WARNING, "stands still, but turned before");
        } else if (was >= config->checks) {
            report_event(context, report, one, "fan_turns_again", GPUD_INFO,
                         gpud_format("%lld rpm", (long long)one->rpm));
        }
    }
    gpud_state *state = gpud_judge(report, context, results, result_count,
                                   gpud_format("%zu of %zu fans turn, none has stalled", turning, count));
    /* Half of the cooling is gone. */
    if (stalled > 0 && stalled * 2 >= now_count) state->health = GPUD_UNHEALTHY;
    return now_count;
}
