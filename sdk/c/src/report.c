/* Building reports from plain values. */
#include <string.h>

#include "internal.h"

enum {
    MAX_REASONS = 5,   /* Reasons that gpud_judge puts into words. */
    MAX_EVIDENCE = 64, /* Of a state or event; the host takes no more. */
    MAX_ACTIONS = 16,
};

#define ADD(owner, items, count, capacity, value)                                                        \
    do {                                                                                                 \
        (owner)->items = gpud_grow((owner)->items, (owner)->count, &(owner)->capacity, sizeof(value));    \
        (owner)->items[(owner)->count++] = (value);                                                      \
    } while (0)

void *gpud_grow(void *items, size_t count, size_t *capacity, size_t item_size) {
    if (count < *capacity) return items;
    size_t wanted = *capacity ? *capacity * 2 : 4;
    void *room = gpud_alloc(wanted * item_size);
    if (count > 0) memcpy(room, items, count * item_size);
    *capacity = wanted;
    return room;
}

gpud_error gpud_failed(const char *what) { return (gpud_error){.code = GPUD_FAILED, .what = what}; }

const char *gpud_error_text(gpud_error error) {
    const char *what = error.what ? error.what : "";
    switch (error.code) {
    case GPUD_OK: return "no error";
    case GPUD_DENIED: return gpud_format("%s: permission denied", what);
    case GPUD_NOT_SUPPORTED: return gpud_format("%s: not supported", what);
    case GPUD_NOT_FOUND: return gpud_format("%s: not found", what);
    case GPUD_TOO_LARGE:
        return gpud_format("%s: %llu is more than the limit of %llu", what, (unsigned long long)error.size,
                           (unsigned long long)error.limit);
    case GPUD_TIMED_OUT: return gpud_format("%s: no answer for %llu ms", what, (unsigned long long)error.after_ms);
    case GPUD_SOURCE_LOST: return gpud_format("%s: lost", what);
    case GPUD_NEEDS_RESET: return gpud_format("%s: needs a reset", what);
    case GPUD_INVALID_ARGUMENT:
    case GPUD_OVER_BUDGET:
    case GPUD_OTHER:
    case GPUD_FAILED: break;
    }
    return what;
}

gpud_state *gpud_add_state(gpud_report *report, const gpud_context *context, gpud_health health, const char *reason) {
    gpud_state *state = gpud_alloc(sizeof *state);
    state->name = context->component;
    state->time = context->now;
    state->health = health;
    state->reason = reason;
    ADD(report, states, state_count, state_capacity, state);
    return state;
}

void gpud_state_error(gpud_state *state, const char *error) { state->error = error; }

void gpud_state_action(gpud_state *state, gpud_action action, const char *description) {
    if (!state->has_actions) {
        state->has_actions = true;
        state->description = description ? description : "";
    }
    if (state->action_count < MAX_ACTIONS) ADD(state, actions, action_count, action_capacity, action);
}

void gpud_state_subject(gpud_state *state, const char *kind, const char *which) {
    state->subject = (gpud_subject){.kind = kind, .which = which};
}

static gpud_subject subject_of(const gpud_nvml_gpu *gpu) {
    return (gpud_subject){.kind = "gpu",
                          .which = gpu->uuid,
                          .is_gpu = true,
                          .serial = gpu->serial,
                          .pci_id = gpu->bus_id && *gpu->bus_id ? gpu->bus_id : NULL};
}

void gpud_state_gpu(gpud_state *state, const gpud_nvml_gpu *gpu) { state->subject = subject_of(gpu); }

void gpud_state_file(gpud_state *state, const char *path) {
    gpud_evidence file = {.path = path};
    if (state->evidence_count < MAX_EVIDENCE) ADD(state, evidence, evidence_count, evidence_capacity, file);
}

void gpud_state_info(gpud_state *state, const char *key, const char *value) {
    gpud_pair pair = {key, value};
    ADD(state, info, info_count, info_capacity, pair);
}

void gpud_state_clears(gpud_state *state, gpud_recovery way) {
    ADD(state, recovery, recovery_count, recovery_capacity, way);
}

void gpud_state_latch(gpud_state *state) { state->latch = true; }

void gpud_report_unsupported(gpud_report *report, const gpud_context *context, const char *reason) {
    report->unsupported = true;
    gpud_add_state(report, context, GPUD_HEALTHY, reason);
}

gpud_event *gpud_add_message_event(gpud_events *events, gpud_millis time, const char *name, gpud_severity severity,
                                   const char *message) {
    gpud_event *event = gpud_alloc(sizeof *event);
    event->time = time;
    event->name = name;
    event->severity = severity;
    event->message = message;
    ADD(events, items, count, capacity, event);
    return event;
}

gpud_event *gpud_add_event(gpud_report *report, const gpud_context *context, const char *name, gpud_severity severity,
                           const char *message) {
    return gpud_add_message_event(&report->events, context->now, name, severity, message);
}

void gpud_event_subject(gpud_event *event, const char *kind, const char *which) {
    event->subject = (gpud_subject){.kind = kind, .which = which};
}

void gpud_event_gpu(gpud_event *event, const gpud_nvml_gpu *gpu) { event->subject = subject_of(gpu); }

void gpud_event_info(gpud_event *event, const char *key, const char *value) {
    gpud_pair pair = {key, value};
    ADD(event, info, info_count, info_capacity, pair);
}

static void event_evidence(gpud_event *event, gpud_evidence from) {
    if (event->evidence_count < MAX_EVIDENCE) ADD(event, evidence, evidence_count, evidence_capacity, from);
}

void gpud_event_file(gpud_event *event, const char *path) { event_evidence(event, (gpud_evidence){.path = path}); }

void gpud_event_kmsg(gpud_event *event, uint64_t sequence) {
    event_evidence(event, (gpud_evidence){.sequence = sequence});
}

void gpud_event_merge(gpud_event *event, const char *key, uint32_t window_seconds) {
    event->merge_key = key;
    event->merge_window_seconds = window_seconds;
}

gpud_metric *gpud_add_gauge(gpud_report *report, const char *name, double value) {
    return gpud_add_metric(report, name, value, GPUD_GAUGE);
}

gpud_metric *gpud_add_metric(gpud_report *report, const char *name, double value, gpud_metric_kind kind) {
    if (value - value != 0) return NULL; /* NaN or infinite. */
    gpud_metric *metric = gpud_alloc(sizeof *metric);
    metric->name = name;
    metric->value = value;
    metric->kind = kind;
    ADD(report, metrics, metric_count, metric_capacity, metric);
    return metric;
}

void gpud_metric_label(gpud_metric *metric, const char *name, const char *value) {
    if (metric == NULL) return;
    gpud_pair pair = {name, value};
    ADD(metric, labels, label_count, label_capacity, pair);
}

gpud_component *gpud_add_component(gpud_descriptor *plugin, const char *name, const char *description) {
    gpud_component *all = gpud_alloc((plugin->component_count + 1) * sizeof *all);
    if (plugin->component_count > 0) memcpy(all, plugin->components, plugin->component_count * sizeof *all);
    plugin->components = all;
    gpud_component *component = &all[plugin->component_count++];
    component->name = name;
    component->description = description;
    return component;
}

void gpud_add_pattern(gpud_patterns_list *patterns, const char *expression) {
    ADD(patterns, items, count, capacity, expression);
}

static bool suggests(const gpud_state *state, gpud_action action) {
    for (size_t i = 0; i < state->action_count; i++)
        if (state->actions[i] == action) return true;
    return false;
}

gpud_state *gpud_judge(gpud_report *report, const gpud_context *context, const gpud_result *results, size_t count,
                       const char *healthy) {
    gpud_state *state = gpud_add_state(report, context, GPUD_HEALTHY, healthy);
    const char *reason = NULL;
    size_t said = 0, more = 0;
    /* Worst first. */
    static const gpud_health levels[] = {GPUD_UNHEALTHY, GPUD_DEGRADED, GPUD_INITIALIZING};
    for (size_t level = 0; level < sizeof levels / sizeof levels[0]; level++) {
        for (size_t i = 0; i < count; i++) {
            const gpud_result *one = &results[i];
            if (one->health != levels[level]) continue;
            if (said == MAX_REASONS) {
                more++;
                continue;
            }
            said++;
            state->health = gpud_worse(state->health, one->health);
            /* 400 bytes each: five of them stay below the host's limit of 4 KiB. */
            const char *words = gpud_format("%.200s: %.200s", one->name, one->reason);
            reason = reason ? gpud_format("%s; %s", reason, words) : words;
            if (one->has_action && !suggests(state, one->action)) gpud_state_action(state, one->action, one->advice);
            if (one->path) gpud_state_file(state, one->path);
        }
    }
    if (reason) state->reason = more ? gpud_format("%s; and %zu more", reason, more) : reason;
    return state;
}
