/* What a report is made of. Part of gpud.h; checkers build reports with its functions, and look into them here. */
#ifndef GPUD_REPORT_H
#define GPUD_REPORT_H

#include "gpud.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What something is about; kind is NULL when it is the whole component. */
typedef struct gpud_subject {
    const char *kind;
    const char *which;  /* Of a GPU, its UUID. */
    bool is_gpu;        /* From gpud_state_gpu or gpud_event_gpu; serial and pci_id count. */
    const char *serial; /* Or NULL. */
    const char *pci_id; /* Or NULL. */
} gpud_subject;

/* What something was drawn from: a file, or without a path a kernel log record. */
typedef struct gpud_evidence {
    const char *path;
    uint64_t sequence;
} gpud_evidence;

/* One verdict. */
struct gpud_state {
    const char *name;
    gpud_millis time;
    gpud_health health;
    const char *reason;
    const char *error; /* Or NULL. */
    bool has_actions;  /* description and actions count. */
    const char *description;
    gpud_action *actions;
    size_t action_count, action_capacity;
    gpud_subject subject;
    gpud_recovery *recovery;
    size_t recovery_count, recovery_capacity;
    bool latch;
    gpud_evidence *evidence;
    size_t evidence_count, evidence_capacity;
    gpud_pair *info;
    size_t info_count, info_capacity;
};

/* Something that happened. */
struct gpud_event {
    gpud_millis time;
    const char *name;
    gpud_severity severity;
    const char *message;
    gpud_subject subject;
    gpud_evidence *evidence;
    size_t evidence_count, evidence_capacity;
    gpud_pair *info;
    size_t info_count, info_capacity;
    const char *merge_key; /* Or NULL. */
    uint32_t merge_window_seconds;
};

/* Events. */
struct gpud_events {
    gpud_event **items;
    size_t count, capacity;
};

/* One sample. */
struct gpud_metric {
    const char *name;
    double value;
    gpud_metric_kind kind;
    gpud_pair *labels;
    size_t label_count, label_capacity;
};

/* What one check found. */
struct gpud_report {
    bool unsupported;
    gpud_state **states;
    size_t state_count, state_capacity;
    gpud_events events;
    gpud_metric **metrics;
    size_t metric_count, metric_capacity;
};

/* Regular expressions. */
struct gpud_patterns_list {
    const char **items;
    size_t count, capacity;
};

#ifdef __cplusplus
}
#endif
#endif
