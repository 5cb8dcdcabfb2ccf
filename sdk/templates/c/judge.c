#include "judge.h"

const char SCHEMA[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
    " \"min_rpm\": {\"type\": \"integer\", \"minimum\": 0}}}";

/* More is no speed. */
enum { MAX_RPM = 1000000 };

static bool speed(const gpud_file *fan, int64_t *rpm) {
    return fan->error.code == GPUD_OK && gpud_parse_integer(gpud_trimmed(fan->content), rpm) && *rpm >= 0 &&
           *rpm <= MAX_RPM;
}

void judge(const gpud_context *context, double min_rpm, const gpud_file *fans, size_t count, gpud_report *report) {
    if (count == 0) {
        // gpud_report_unsupported would hide the component here.
        gpud_add_state(report, context, GPUD_HEALTHY, "this machine shows no fans");
        return;
    }
    size_t known = 0, slow = 0;
    const char *names = "";
    for (size_t i = 0; i < count; i++) {
        int64_t rpm;
        if (!speed(&fans[i], &rpm)) continue;
        known++;
        gpud_metric_label(gpud_add_gauge(report, "fan_rpm", (double)rpm), "fan", fans[i].path);
        if ((double)rpm >= min_rpm) continue;
        slow++;
        if (slow <= 8)
            names = gpud_format("%s%s%s at %lld rpm", names, slow > 1 ? ", " : "", fans[i].path, (long long)rpm);
    }
    if (slow > 0) {
        gpud_state *state =
            gpud_add_state(report, context, GPUD_DEGRADED,
                           gpud_format("%zu of %zu fans are too slow: %s", slow, count, names));
        gpud_state_action(state, GPUD_HARDWARE_INSPECTION, "look at these fans");
    } else if (known == 0) {
        gpud_add_state(report, context, GPUD_DEGRADED, "no fan can be read");
    } else {
        gpud_add_state(report, context, GPUD_HEALTHY, gpud_format("%zu fans turn", known));
    }
}
