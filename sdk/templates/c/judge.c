#include "judge.h"

#include <string.h>

const char SCHEMA[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
    " \"min_available_percent\": {\"type\": \"integer\", \"minimum\": 0, \"maximum\": 100}}}";

/* The KiB in the line that begins with name; false where there is none. */
static bool kibibytes(const char *meminfo, const char *name, int64_t *value) {
    size_t length = strlen(name);
    const char *line = meminfo;
    while (line != NULL && strncmp(line, name, length) != 0) {
        line = strchr(line, '\n');
        if (line != NULL) line++;
    }
    const char *number = line == NULL ? NULL : line + length;
    const char *unit = number == NULL ? NULL : strchr(number, 'k');
    return unit != NULL && gpud_parse_integer(gpud_format("%.*s", (int)(unit - number), number), value);
}

void judge(const gpud_context *context, double min_percent, const char *meminfo, gpud_report *report) {
    int64_t total = 0, available = 0;
    bool known = kibibytes(meminfo, "MemTotal:", &total) && kibibytes(meminfo, "MemAvailable:", &available);
    if (!known || total <= 0 || available < 0 || available > total) {
        gpud_add_state(report, context, GPUD_DEGRADED, "/proc/meminfo does not say how much memory is available");
        return;
    }
    gpud_add_gauge(report, "available_memory_bytes", (double)available * 1024);
    long long percent = (long long)((double)available * 100 / (double)total);
    const char *reason = gpud_format("%lld %% of memory is available", percent);
    if ((double)percent >= min_percent) {
        gpud_add_state(report, context, GPUD_HEALTHY, reason);
        return;
    }
    reason = gpud_format("%s, less than %lld %%", reason, (long long)min_percent);
    gpud_state *state = gpud_add_state(report, context, GPUD_DEGRADED, reason);
    gpud_state_action(state, GPUD_CHECK_USER_APP_AND_GPU, "end or limit what uses the memory");
}
