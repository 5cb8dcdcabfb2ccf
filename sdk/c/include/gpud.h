/* Write a gpud checker in C.
 *
 * A checker is two functions that you define: gpud_describe says what it is, gpud_check judges.
 *
 *     #include <gpud.h>
 *
 *     void gpud_describe(gpud_descriptor *plugin) {
 *         plugin->version = "0.1.0";
 *         gpud_add_component(plugin, "uptime", "How long the machine has been up");
 *     }
 *
 *     gpud_error gpud_check(const gpud_context *context, gpud_report *report) {
 *         gpud_text text;
 *         gpud_error error = gpud_read("/proc/uptime", 4096, &text);
 *         if (error.code) return error;            // a capability error becomes an honest state
 *         gpud_add_state(report, context, GPUD_HEALTHY, gpud_format("up for %s", gpud_trimmed(text)));
 *         return GPUD_NO_ERROR;
 *     }
 *
 * gpud.mk builds it: a component for gpud, and a native program for unit tests (gpud_testing.h). What it may touch is
 * decided by the operator's grants; what it imports is what it asks for, and only what it calls is imported.
 *
 * Every call runs in a fresh instance: static variables do not survive it. What must survive goes through
 * gpud_state_set and gpud_state_get. context->now is the only clock.
 *
 * Memory: everything that these functions give lives until the call ends, and nothing has to be freed. They do not
 * return when memory runs out. A NULL pointer to characters stands for an absent text.
 */
#ifndef GPUD_H
#define GPUD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Milliseconds since 1970-01-01T00:00:00Z. */
typedef uint64_t gpud_millis;

/* Bytes from outside: not always UTF-8, and possibly with zeros in them. data[length] is always a zero. */
typedef struct gpud_text {
    const char *data;
    size_t length;
} gpud_text;

/* A key and a value. */
typedef struct gpud_pair {
    const char *key;
    const char *value;
} gpud_pair;

/* ---- errors ---------------------------------------------------------------------------------------------------- */

/* Why there was no answer. */
typedef enum gpud_code {
    GPUD_OK = 0,           /* There was one. */
    GPUD_DENIED,           /* Not granted by the operator (the text names the line to add), or refused by the kernel. */
    GPUD_NOT_SUPPORTED,    /* The source exists but cannot do this. */
    GPUD_NOT_FOUND,        /* The file, program, device or library is not there. */
    GPUD_TOO_LARGE,        /* The answer is larger than allowed; nothing of it is given. */
    GPUD_TIMED_OUT,        /* No answer in time. */
    GPUD_SOURCE_LOST,      /* The device behind the source is gone. */
    GPUD_NEEDS_RESET,      /* The device behind the source wants a reset. */
    GPUD_INVALID_ARGUMENT, /* The argument cannot be used. */
    GPUD_OVER_BUDGET,      /* This call's budget of host calls or bytes is spent. */
    GPUD_OTHER,            /* Anything else that a source says. */
    GPUD_FAILED            /* The checker itself failed: not a source's, but your own error. */
} gpud_code;

/* What happened. Trouble with a source is not trouble with the node: return it from gpud_check, and the host says so
 * honestly, instead of calling the node healthy or broken. */
typedef struct gpud_error {
    gpud_code code;
    const char *what;      /* What was asked; for the last four codes the whole text. Never NULL when code is not 0. */
    uint64_t size;         /* GPUD_TOO_LARGE: bytes or entries, at least as far as they were counted. */
    uint64_t limit;        /* GPUD_TOO_LARGE: the limit that size broke. */
    uint64_t after_ms;     /* GPUD_TIMED_OUT: how long was waited. */
    bool answered_before;  /* GPUD_TIMED_OUT: last_good is known. */
    gpud_millis last_good; /* GPUD_TIMED_OUT: when the source last answered. */
} gpud_error;

/* All went well. */
#define GPUD_NO_ERROR ((gpud_error){.code = GPUD_OK})

/* An error of the checker's own. */
gpud_error gpud_failed(const char *what);

/* An error in words, as the host words it. */
const char *gpud_error_text(gpud_error error);

/* ---- the call --------------------------------------------------------------------------------------------------- */

/* Why a check runs. */
typedef enum gpud_trigger {
    GPUD_TRIGGER_STARTUP,     /* The first check after the daemon started. */
    GPUD_TRIGGER_SCHEDULED,   /* Its interval. */
    GPUD_TRIGGER_MANUAL,      /* A person or a script asked. */
    GPUD_TRIGGER_EVENT,       /* Its own events were stored. */
    GPUD_TRIGGER_SET_HEALTHY, /* An operator set the component healthy. */
    GPUD_TRIGGER_OTHER        /* A reason of a later version. */
} gpud_trigger;

/* What a call may know of the moment. Together with the answers of the capabilities it determines the report. */
typedef struct gpud_context {
    const char *component;       /* The component of the descriptor that is meant. */
    gpud_millis now;             /* Now. */
    gpud_trigger trigger;        /* Why it runs. */
    const char *boot_id;         /* Kernel's boot id; empty if unknown. */
    gpud_millis boot_time;       /* When the machine booted; 0 if unknown. */
    bool checked_before;         /* previous_check is known. */
    gpud_millis previous_check;  /* When this component was last checked in this daemon's life. */
} gpud_context;

typedef struct gpud_report gpud_report;
typedef struct gpud_descriptor gpud_descriptor;
typedef struct gpud_events gpud_events;
typedef struct gpud_messages gpud_messages;
typedef struct gpud_patterns_list gpud_patterns_list;

/* You define: what the plugin is. Called once after loading; capabilities all answer GPUD_DENIED then. */
void gpud_describe(gpud_descriptor *plugin);

/* You define: one check. */
gpud_error gpud_check(const gpud_context *context, gpud_report *report);

/* You define, with `EXPORTS += scanner` in the Makefile: a look at what is visible now, without history, for
 * "gpud scan" and manual triggers. */
gpud_error gpud_scan(const gpud_context *context, gpud_report *report);

/* You define both, with `EXPORTS += kmsg-watcher`: regular expressions (RE2 syntax) that pick kernel log messages, at
 * most 64; and what turns messages, oldest first, at most 512, into events. */
void gpud_patterns(const char *component, gpud_patterns_list *patterns);
gpud_error gpud_on_messages(const gpud_context *context, const gpud_messages *messages, gpud_events *events);

/* Adds a regular expression. */
void gpud_add_pattern(gpud_patterns_list *patterns, const char *expression);

/* ---- verdicts --------------------------------------------------------------------------------------------------- */

/* How healthy something is, from best to worst. */
typedef enum gpud_health {
    GPUD_HEALTHY,      /* Working as it should. */
    GPUD_INITIALIZING, /* Not judged yet. */
    GPUD_DEGRADED,     /* Working, but something needs attention. */
    GPUD_UNHEALTHY     /* Not working, or not to be trusted with work. */
} gpud_health;

/* The worse of two. */
static inline gpud_health gpud_worse(gpud_health a, gpud_health b) { return a > b ? a : b; }

/* What an operator should do. */
typedef enum gpud_action {
    GPUD_IGNORE,                 /* Nothing. */
    GPUD_REBOOT_SYSTEM,          /* Reboot the machine. */
    GPUD_HARDWARE_INSPECTION,    /* Have the hardware looked at. */
    GPUD_CHECK_USER_APP_AND_GPU  /* Check the user's application and the GPU that it used. */
} gpud_action;

/* How a verdict that is not healthy clears. Any listed way is enough; without any it is the next good reading. */
typedef enum gpud_recovery {
    GPUD_CLEARS_BY_GOOD_READING, /* The next reading that is good. */
    GPUD_CLEARS_BY_REBOOT,       /* A reboot of the machine. */
    GPUD_CLEARS_BY_SET_HEALTHY   /* An operator's set-healthy. */
} gpud_recovery;

/* How serious an event is. */
typedef enum gpud_severity {
    GPUD_UNKNOWN,  /* Not classified. */
    GPUD_INFO,     /* For the record. */
    GPUD_WARNING,  /* Worth a look. */
    GPUD_CRITICAL, /* Harms work. */
    GPUD_FATAL     /* The device or the machine cannot go on. */
} gpud_severity;

/* How a metric's value is to be understood. */
typedef enum gpud_metric_kind {
    GPUD_GAUGE,    /* The value as it is now. */
    GPUD_COUNTER,  /* An amount, not negative, to add to a count that the host keeps. */
    GPUD_HISTOGRAM /* One observation for a histogram that the host keeps; its buckets stand in the descriptor. */
} gpud_metric_kind;

typedef struct gpud_state gpud_state;
typedef struct gpud_event gpud_event;
typedef struct gpud_metric gpud_metric;

/* Adds a verdict under the component's name, judged now. The reason is one line for a person, at most 4 KiB. Texts are
 * not copied: they have to live until the call ends, as those of gpud_format do. */
gpud_state *gpud_add_state(gpud_report *report, const gpud_context *context, gpud_health health, const char *reason);
/* With the technical error behind it. */
void gpud_state_error(gpud_state *state, const char *error);
/* With an action to take, at most 16, most important first. The first description that is given is shown. */
void gpud_state_action(gpud_state *state, gpud_action action, const char *description);
/* With what it is about, when it is not the whole component: kind (for example fan) and which one. */
void gpud_state_subject(gpud_state *state, const char *kind, const char *which);
/* With a file that it was drawn from, at most 64. */
void gpud_state_file(gpud_state *state, const char *path);
/* With one fact shown beside it. Built-in checkers keep one JSON document under "data". */
void gpud_state_info(gpud_state *state, const char *key, const char *value);
/* With a way in which it clears. */
void gpud_state_clears(gpud_state *state, gpud_recovery way);
/* The host keeps it until a way of clearing comes true, also when later checks stop reporting it. */
void gpud_state_latch(gpud_state *state);

/* This machine has nothing for this checker to watch: the component is hidden from states, events and info. */
void gpud_report_unsupported(gpud_report *report, const gpud_context *context, const char *reason);

/* Adds something that happened now: a transition, not a condition. The message may be empty. */
gpud_event *gpud_add_event(gpud_report *report, const gpud_context *context, const char *name, gpud_severity severity,
                           const char *message);
/* The same to the events of gpud_on_messages, with the time of the message. */
gpud_event *gpud_add_message_event(gpud_events *events, gpud_millis time, const char *name, gpud_severity severity,
                                   const char *message);
/* With what it is about. */
void gpud_event_subject(gpud_event *event, const char *kind, const char *which);
/* With a fact that is kept with it. */
void gpud_event_info(gpud_event *event, const char *key, const char *value);
/* With a file that it was drawn from. */
void gpud_event_file(gpud_event *event, const char *path);
/* With the kernel log record that it was drawn from. */
void gpud_event_kmsg(gpud_event *event, uint64_t sequence);
/* Counts repeats with the same key within a window instead of storing them. */
void gpud_event_merge(gpud_event *event, const char *key, uint32_t window_seconds);

/* Adds a gauge, by full Prometheus name with its unit. NaN and infinities are left out. */
gpud_metric *gpud_add_gauge(gpud_report *report, const char *name, double value);
/* Adds a metric of any kind. NULL when the value is not finite (gpud_metric_label takes it). */
gpud_metric *gpud_add_metric(gpud_report *report, const char *name, double value, gpud_metric_kind kind);
/* With a label, at most 16. */
void gpud_metric_label(gpud_metric *metric, const char *name, const char *value);

/* What one look at one thing gave: the plain value that gpud_judge makes a report of. */
typedef struct gpud_result {
    const char *name;    /* Name of the thing, for example of a sensor. */
    gpud_health health;  /* Its health. */
    const char *reason;  /* In words, without the name. */
    bool has_action;     /* action is to be suggested. */
    gpud_action action;  /* For an operator. */
    const char *advice;  /* A word about the action; may be NULL. */
    const char *path;    /* File that it was drawn from; may be NULL. */
} gpud_result;

/* Turns plain results into one state: as healthy as the worst of them, with the reasons of those that are not
 * healthy, worst first (the first five in words, the rest as a number), their actions, and their files as evidence.
 * Without any that is not healthy, the reason is the given one. */
gpud_state *gpud_judge(gpud_report *report, const gpud_context *context, const gpud_result *results, size_t count,
                       const char *healthy);

/* ---- the descriptor --------------------------------------------------------------------------------------------- */

/* What an operator's set-healthy does. */
typedef enum gpud_set_healthy {
    GPUD_SET_HEALTHY_UNSUPPORTED,   /* Not offered. */
    GPUD_SET_HEALTHY_CLEARS_EVENTS, /* The component's stored events are deleted, and it is checked at once. */
    GPUD_SET_HEALTHY_MARKS          /* Only a mark is recorded, and the component is checked at once. */
} gpud_set_healthy;

/* One metric that a component gives. */
typedef struct gpud_metric_description {
    const char *name;      /* Full Prometheus name. */
    const char *help;      /* Help text with the unit. */
    const double *buckets; /* Upper bounds of a histogram's buckets, ascending; NULL otherwise. */
    size_t bucket_count;   /* How many. */
} gpud_metric_description;

/* One component. Each is scheduled, limited and shown by itself. */
typedef struct gpud_component {
    const char *name;             /* Unique: lower-case letters, digits, - . _ /; 1 to 128 bytes. */
    const char *description;      /* One line. */
    const char *const *tags;      /* For trigger-by-tag, at most 32; NULL: the name alone. */
    size_t tag_count;             /* How many. */
    uint64_t interval_ms;         /* Milliseconds between two checks, at least 1,000; 0 means 60,000. */
    bool manual;                  /* Runs only when triggered. */
    gpud_set_healthy set_healthy; /* What set-healthy does. */
    const gpud_metric_description *metrics; /* Metrics that it gives. */
    size_t metric_count;          /* How many. */
    const char *config_schema;    /* JSON Schema of its configuration; NULL if it takes none. */
} gpud_component;

/* What a plugin is. */
struct gpud_descriptor {
    const char *version;        /* The plugin's own version, for people. */
    gpud_component *components; /* At least one, at most 64. */
    size_t component_count;     /* How many. */
};

/* Adds a component. The pointer is good until the next one is added. */
gpud_component *gpud_add_component(gpud_descriptor *plugin, const char *name, const char *description);

/* ---- capabilities ----------------------------------------------------------------------------------------------- */

/* A whole small file of sysfs or procfs, at most max_bytes (at most 4 MiB). Grant: sysfs, path patterns. */
gpud_error gpud_read(const char *path, uint32_t max_bytes, gpud_text *content);

/* One file of gpud_read_glob. */
typedef struct gpud_file {
    const char *path;
    gpud_text content; /* Empty after an error. */
    gpud_error error;  /* Why there is no content. */
} gpud_file;

/* All files that match a pattern (*, ?, [a-z] within a segment), sorted by path, in one call. More than max_files is
 * GPUD_TOO_LARGE. */
gpud_error gpud_read_glob(const char *pattern, uint32_t max_bytes_each, uint32_t max_files, gpud_file **files,
                          size_t *count);

/* What a directory entry is. */
typedef enum gpud_file_kind { GPUD_FILE, GPUD_DIRECTORY, GPUD_LINK, GPUD_SPECIAL } gpud_file_kind;

/* One entry of a directory. */
typedef struct gpud_entry {
    const char *name;
    gpud_file_kind kind;
} gpud_entry;

/* Entries of a directory, sorted by name; more than max_entries is GPUD_TOO_LARGE. */
gpud_error gpud_list_directory(const char *path, uint32_t max_entries, gpud_entry **entries, size_t *count);

/* How many entries a directory has. */
typedef struct gpud_entry_count {
    const char *path;
    uint32_t entries; /* 0 after an error. */
    gpud_error error; /* Why the number is not known. */
} gpud_entry_count;

/* The number of entries of every directory that matches a pattern, sorted by path; more than max_directories is
 * GPUD_TOO_LARGE. For /proc/PID/fd it is the number of open files, which newer kernels (6.2) know without listing them. */
gpud_error gpud_count_entries(const char *pattern, uint32_t max_directories, gpud_entry_count **directories,
                              size_t *count);

/* Facts about a file; links are followed. */
typedef struct gpud_file_stat {
    gpud_file_kind kind;
    uint64_t size;         /* Bytes as stat(2) says; 0 or 4096 for most kernel files. */
    uint32_t mode;         /* Permission bits. */
    gpud_millis modified;  /* Last change of the content. */
    uint32_t device_major; /* Numbers of the device that the file is on. */
    uint32_t device_minor;
    uint32_t uid;          /* Owner. */
} gpud_file_stat;

/* Facts about a file. Grant: sysfs or statvfs. */
gpud_error gpud_stat(const char *path, gpud_file_stat *facts);

/* Target of a symbolic link, as written. */
gpud_error gpud_read_link(const char *path, const char **target);

/* Space of a mounted filesystem, from statvfs(3). */
typedef struct gpud_fs_usage {
    uint64_t total_bytes;
    uint64_t free_bytes;      /* Root's reserve included. */
    uint64_t available_bytes; /* For ordinary users. */
    uint64_t total_inodes;
    uint64_t free_inodes;
    bool read_only;           /* Mounted read-only. */
} gpud_fs_usage;

/* Space of the filesystem that holds a path. Grant: sysfs or statvfs. */
gpud_error gpud_statvfs(const char *path, gpud_fs_usage *usage);

/* One answer of gpud_statvfs_all. */
typedef struct gpud_fs_answer {
    gpud_fs_usage usage; /* Zeros after an error. */
    gpud_error error;    /* Why it is not known. */
} gpud_fs_answer;

/* The same for many paths in one call: as many answers, in the same order. More than 1,024 paths are GPUD_TOO_LARGE. A
 * path that does not answer is GPUD_TIMED_OUT by itself and holds up the others for a moment only; after three of that
 * kind those that were not asked yet are GPUD_OVER_BUDGET: leave them to the next check. */
gpud_error gpud_statvfs_all(const char *const *paths, size_t count, gpud_fs_answer **answers);

/* The component's configuration, one JSON object; "{}" when nothing was configured. Grant: config. */
const char *gpud_config(void);

/* A value that survives from call to call and across restarts; *present is false when there is none. At most 256 keys,
 * 64 KiB per value. Grant: state. */
gpud_error gpud_state_get(const char *key, gpud_text *value, bool *present);
/* Sets one. It is kept only when the call ends well. */
gpud_error gpud_state_set(const char *key, const char *value, size_t length);
/* Removes one; removing what is not there is fine. */
gpud_error gpud_state_delete(const char *key);

/* How loud a log line is. */
typedef enum gpud_level { GPUD_LOG_DEBUG, GPUD_LOG_INFO, GPUD_LOG_WARN, GPUD_LOG_ERROR } gpud_level;

/* One line in the daemon's log, at most 64 a call. Needs no grant. */
void gpud_log(gpud_level level, const char *message);

/* One program run. */
typedef struct gpud_output {
    bool exited;          /* It ended by itself, with exit_code; otherwise by signal. */
    int32_t exit_code;
    int32_t signal;
    gpud_text standard_output;
    gpud_text standard_error;
    bool truncated;       /* Output was longer than the limit. */
    uint64_t duration_ms;
} gpud_output;

/* Runs one program without a shell; the resolved path must be granted. Grant: exec, a list of programs. */
gpud_error gpud_run_program(const char *program, const char *const *arguments, size_t argument_count,
                            uint32_t timeout_ms, uint32_t max_output_bytes, gpud_output *output);
/* Runs a bash script. Grant: exec: bash. */
gpud_error gpud_run_bash(const char *script, uint32_t timeout_ms, uint32_t max_output_bytes, gpud_output *output);

/* One record of the kernel log. */
typedef struct gpud_message {
    uint64_t sequence; /* Within this boot. */
    gpud_millis time;
    uint8_t level;     /* 0 emergency to 7 debug. */
    uint32_t facility; /* 0 kernel; what user space writes is never 0. */
    const char *text;  /* First line; other than printable ASCII appears as \xNN. */
} gpud_message;

/* Messages of a call. */
struct gpud_messages {
    const gpud_message *items;
    size_t count;
};

/* Messages still in the kernel's ring buffer that match any pattern, oldest first. Grant: kmsg. */
gpud_error gpud_kmsg_read_back(const char *const *patterns, size_t pattern_count, uint32_t max_messages,
                               gpud_messages *messages);

/* One stored event. */
typedef struct gpud_stored_event {
    gpud_millis time;
    const char *name;
    const char *message;
    uint64_t count;
    gpud_millis last_time;
} gpud_stored_event;

/* This component's own events later than `since`, newest first. Grant: history. */
gpud_error gpud_own_events(gpud_millis since, uint32_t limit, gpud_stored_event **events, size_t *count);
/* When the machine came up, later than `since`, newest first. Grant: history. */
gpud_error gpud_reboots(gpud_millis since, gpud_millis **times, size_t *count);

/* An HTTP/1.1 GET on this machine: over a unix socket (absolute path), or with a NULL socket to a port of 127.0.0.1.
 * Grant: net. */
gpud_error gpud_http_get(const char *unix_socket, uint16_t port, const char *path, uint32_t max_body_bytes,
                         uint32_t timeout_ms, uint16_t *status, gpud_text *body);
/* Opens and closes a TCP connection; gives the microseconds that it took. Grant: net. */
gpud_error gpud_tcp_connect(const char *host, uint16_t port, uint32_t timeout_ms, uint64_t *microseconds);

/* ---- memory, text, numbers -------------------------------------------------------------------------------------- */

/* Zeroed memory that lives until the call ends. Never NULL. */
void *gpud_alloc(size_t size);
/* Makes room for at least one more item in an array from gpud_alloc; gives the array. */
void *gpud_grow(void *items, size_t count, size_t *capacity, size_t item_size);

/* Text as printf makes it: %s %.*s %c %d %i %u %x %zu %ld %lu %lld %llu %llx %f %.Nf %%, with width and zero padding for
 * whole numbers. Anything else is copied as it stands. */
const char *gpud_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Content as text for people and names: without white space at the ends, bytes that are not UTF-8 replaced by '?'. */
const char *gpud_trimmed(gpud_text text);
/* A whole decimal number, white space around it allowed; false for anything else, also beyond 64 bits. */
bool gpud_parse_integer(const char *text, int64_t *value);
/* The part of a path after its last slash. */
const char *gpud_base_name(const char *path);
/* The part of a path before its last slash. */
const char *gpud_folder(const char *path);

/* ---- JSON, for the configuration -------------------------------------------------------------------------------- */

/* What a JSON value is. */
typedef enum gpud_json_kind {
    GPUD_JSON_NULL,
    GPUD_JSON_BOOL,
    GPUD_JSON_NUMBER,
    GPUD_JSON_STRING,
    GPUD_JSON_ARRAY,
    GPUD_JSON_OBJECT
} gpud_json_kind;

/* One value. */
typedef struct gpud_json gpud_json;
struct gpud_json {
    gpud_json_kind kind;
    bool boolean;
    double number;
    const char *string;     /* Without zeros: \u0000 is refused. */
    const gpud_json *items; /* Of an array or object. */
    const char *const *keys; /* Of an object, one for each item. */
    size_t count;           /* Of items. */
};

/* Reads a document, at most 32 levels deep. NULL when it is not JSON. */
const gpud_json *gpud_json_parse(const char *document);
/* A member of an object; NULL when it is not there or `object` is none. The last of equal keys counts. */
const gpud_json *gpud_json_get(const gpud_json *object, const char *key);
/* A number of an object, or the given one when it is not there or is no number. */
double gpud_json_number(const gpud_json *object, const char *key, double otherwise);
/* A text of an object, or the given one. */
const char *gpud_json_string(const gpud_json *object, const char *key, const char *otherwise);
/* A truth value of an object, or the given one. */
bool gpud_json_bool(const gpud_json *object, const char *key, bool otherwise);

#ifdef __cplusplus
}
#endif

/* GPUs, and the structures behind the types above for those who want to look into a report. */
#include "gpud_nvml.h"
#include "gpud_report.h"
#endif
