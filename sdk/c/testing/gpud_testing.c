/* The fake host: the capabilities of gpud.h over plain values. */
#include "gpud_testing.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a path is. */
typedef struct {
    char *path;
    char *data;   /* Content or target. */
    size_t length;
    bool is_link;
    gpud_code error;
} node;

/* A stored value. */
typedef struct {
    char *key, *data;
    size_t length;
} kept;

typedef struct {
    const char *name;
    gpud_output output;
} program;

typedef struct {
    const char *path;
    uint16_t status;
    const char *body;
} answer;

typedef struct {
    const char *path;
    gpud_fs_usage usage;
} mounted;

enum { MAX_NODES = 4096, MAX_KEPT = 256, MAX_OTHERS = 256 };

static struct {
    void **blocks; /* Of gpud_alloc. */
    size_t block_count, block_room;
    node nodes[MAX_NODES];
    size_t node_count;
    kept values[MAX_KEPT], before[MAX_KEPT];
    size_t value_count, before_count;
    program programs[MAX_OTHERS];
    size_t program_count;
    answer answers[MAX_OTHERS];
    size_t answer_count;
    mounted mounts[MAX_OTHERS];
    size_t mount_count;
    gpud_message messages[MAX_OTHERS];
    size_t message_count;
    gpud_millis reboots[MAX_OTHERS];
    size_t reboot_count;
    const char *denied[MAX_OTHERS];
    size_t denied_count;
    gpud_test_gpu *gpus[MAX_OTHERS];
    size_t gpu_count;
    gpud_nvml_library library;
    const char *driver_version; /* NULL when it was not given. */
    uint32_t cuda_version;
    const char *config, *log;
    gpud_context context;
    gpud_error error;
} fake;

static int passed, failed;

static void broken(const char *what) {
    fprintf(stderr, "gpud_testing: %s\n", what);
    abort();
}

static void *must(void *block) {
    if (block == NULL) broken("out of memory");
    return block;
}

void *gpud_alloc(size_t size) {
    void *block = must(calloc(1, size ? size : 1));
    if (fake.block_count == fake.block_room) {
        fake.block_room = fake.block_room ? fake.block_room * 2 : 256;
        fake.blocks = must(realloc(fake.blocks, fake.block_room * sizeof *fake.blocks));
    }
    return fake.blocks[fake.block_count++] = block;
}

static char *copy(const void *data, size_t length) {
    char *out = gpud_alloc(length + 1);
    if (length > 0) memcpy(out, data, length);
    return out;
}

static char *copy_text(const char *text) { return copy(text, strlen(text)); }

void gpud_test_end(void) {
    for (size_t i = 0; i < fake.block_count; i++) free(fake.blocks[i]);
    free(fake.blocks);
    memset(&fake, 0, sizeof fake);
}

void gpud_test_begin(void) {
    gpud_test_end();
    fake.config = "{}";
    fake.log = "";
    fake.context = (gpud_context){.component = "test",
                                  .now = 1767225600000,
                                  .trigger = GPUD_TRIGGER_SCHEDULED,
                                  .boot_id = "boot-1",
                                  .boot_time = 1767222000000};
}

static node *find(const char *path) {
    for (size_t i = 0; i < fake.node_count; i++)
        if (strcmp(fake.nodes[i].path, path) == 0) return &fake.nodes[i];
    return NULL;
}

static node *at(const char *path) {
    node *found = find(path);
    if (found == NULL) {
        if (fake.node_count == MAX_NODES) broken("too many files");
        found = &fake.nodes[fake.node_count++];
        *found = (node){.path = copy_text(path)};
    }
    return found;
}

void gpud_test_bytes(const char *path, const void *content, size_t length) {
    node *file = at(path);
    *file = (node){.path = file->path, .data = copy(content, length), .length = length};
}

void gpud_test_file(const char *path, const char *content) { gpud_test_bytes(path, content, strlen(content)); }

void gpud_test_link(const char *path, const char *target) {
    gpud_test_file(path, target);
    find(path)->is_link = true;
}

void gpud_test_file_error(const char *path, gpud_code code) { at(path)->error = code; }

void gpud_test_remove(const char *path) {
    node *found = find(path);
    if (found) *found = fake.nodes[--fake.node_count];
}

#define KEEP(list, count, ...)                          \
    do {                                                \
        if ((count) == MAX_OTHERS) broken("too many");   \
        (list)[(count)++] = __VA_ARGS__;                \
    } while (0)

void gpud_test_filesystem(const char *path, gpud_fs_usage usage) {
    KEEP(fake.mounts, fake.mount_count, (mounted){copy_text(path), usage});
}
void gpud_test_config(const char *document) { fake.config = copy_text(document); }
void gpud_test_program(const char *name, gpud_output output) {
    KEEP(fake.programs, fake.program_count, (program){copy_text(name), output});
}
void gpud_test_bash(gpud_output output) { gpud_test_program("bash", output); }
void gpud_test_kmsg(gpud_message message) { KEEP(fake.messages, fake.message_count, message); }
void gpud_test_http(const char *path, uint16_t status, const char *body) {
    KEEP(fake.answers, fake.answer_count, (answer){copy_text(path), status, copy_text(body)});
}
void gpud_test_reboot(gpud_millis time) { KEEP(fake.reboots, fake.reboot_count, time); }
void gpud_test_deny(const char *capability) { KEEP(fake.denied, fake.denied_count, copy_text(capability)); }
gpud_context *gpud_test_context(void) { return &fake.context; }

static gpud_error error_of(gpud_code code, const char *what) {
    gpud_error error = {.code = code, .what = copy_text(what)};
    if (code == GPUD_TIMED_OUT) error.after_ms = 5000;
    return error;
}

static gpud_error allowed(const char *capability, const char *what) {
    for (size_t i = 0; i < fake.denied_count; i++)
        if (strcmp(fake.denied[i], capability) == 0) return error_of(GPUD_DENIED, what);
    return GPUD_NO_ERROR;
}

static gpud_error too_large(const char *what, size_t size, uint32_t limit) {
    gpud_error error = error_of(GPUD_TOO_LARGE, what);
    error.size = size;
    error.limit = limit;
    return error;
}

static gpud_text text_of(const char *data, size_t length) { return (gpud_text){copy(data, length), length}; }

gpud_error gpud_read(const char *path, uint32_t max_bytes, gpud_text *content) {
    gpud_error error = allowed("sysfs", path);
    if (error.code) return error;
    const node *file = find(path);
    if (file == NULL || (file->is_link && file->error == GPUD_OK)) return error_of(GPUD_NOT_FOUND, path);
    if (file->error) return error_of(file->error, path);
    if (file->length > max_bytes) return too_large(path, file->length, max_bytes);
    *content = text_of(file->data, file->length);
    return GPUD_NO_ERROR;
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const gpud_file *)a)->path, ((const gpud_file *)b)->path);
}

gpud_error gpud_read_glob(const char *pattern, uint32_t max_bytes_each, uint32_t max_files, gpud_file **files,
                          size_t *count) {
    gpud_error error = allowed("sysfs", pattern);
    if (error.code) return error;
    gpud_file *all = gpud_alloc(MAX_NODES * sizeof *all);
    size_t found = 0;
    for (size_t i = 0; i < fake.node_count; i++) {
        const node *one = &fake.nodes[i];
        if (one->is_link || fnmatch(pattern, one->path, FNM_PATHNAME | FNM_NOESCAPE) != 0) continue;
        gpud_file *file = &all[found++];
        file->path = copy_text(one->path);
        file->error = gpud_read(one->path, max_bytes_each, &file->content);
        if (file->error.code) file->content = text_of("", 0);
    }
    if (found > max_files) return too_large(pattern, found, max_files);
    qsort(all, found, sizeof *all, by_path);
    *files = all;
    *count = found;
    return GPUD_NO_ERROR;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const gpud_entry *)a)->name, ((const gpud_entry *)b)->name);
}

gpud_error gpud_list_directory(const char *path, uint32_t max_entries, gpud_entry **entries, size_t *count) {
    gpud_error error = allowed("sysfs", path);
    if (error.code) return error;
    const node *self = find(path);
    if (self && self->error) return error_of(self->error, path);
    gpud_entry *all = gpud_alloc((fake.node_count + 1) * sizeof *all);
    size_t found = 0, length = strlen(path);
    for (size_t i = 0; i < fake.node_count; i++) {
        const node *one = &fake.nodes[i];
        if (strncmp(one->path, path, length) != 0 || one->path[length] != '/') continue;
        const char *rest = one->path + length + 1, *slash = strchr(rest, '/');
        char *name = copy(rest, slash ? (size_t)(slash - rest) : strlen(rest));
        size_t same = 0;
        while (same < found && strcmp(all[same].name, name) != 0) same++;
        if (same < found) continue;
        all[found++] = (gpud_entry){name, slash ? GPUD_DIRECTORY : one->is_link ? GPUD_LINK : GPUD_FILE};
    }
    if (found == 0) return error_of(GPUD_NOT_FOUND, path);
    if (found > max_entries) return too_large(path, found, max_entries);
    qsort(all, found, sizeof *all, by_name);
    *entries = all;
    *count = found;
    return GPUD_NO_ERROR;
}

gpud_error gpud_read_link(const char *path, const char **target) {
    gpud_error error = allowed("sysfs", path);
    if (error.code) return error;
    const node *link = find(path);
    if (link && link->error) return error_of(link->error, path);
    if (link == NULL) return error_of(GPUD_NOT_FOUND, path);
    if (!link->is_link) return error_of(GPUD_INVALID_ARGUMENT, path);
    *target = copy_text(link->data);
    return GPUD_NO_ERROR;
}

static int by_directory(const void *a, const void *b) {
    return strcmp(((const gpud_entry_count *)a)->path, ((const gpud_entry_count *)b)->path);
}

gpud_error gpud_count_entries(const char *pattern, uint32_t max_directories, gpud_entry_count **directories,
                              size_t *count) {
    gpud_error error = allowed("sysfs", pattern);
    if (error.code) return error;
    gpud_entry_count *all = NULL;
    size_t found = 0, room = 0;
    for (size_t i = 0; i < fake.node_count; i++) {
        const char *path = fake.nodes[i].path;
        for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
            char *folder = copy(path, (size_t)(slash - path));
            size_t same = 0;
            while (same < found && strcmp(all[same].path, folder) != 0) same++;
            if (same < found || fnmatch(pattern, folder, FNM_PATHNAME | FNM_NOESCAPE) != 0) continue;
            all = gpud_grow(all, found, &room, sizeof *all);
            gpud_entry *entries;
            size_t entry_count = 0;
            gpud_error failed = gpud_list_directory(folder, UINT32_MAX, &entries, &entry_count);
            all[found++] = (gpud_entry_count){folder, (uint32_t)entry_count, failed};
        }
    }
    if (found > max_directories) return too_large(pattern, found, max_directories);
    if (found > 0) qsort(all, found, sizeof *all, by_directory);
    *directories = all;
    *count = found;
    return GPUD_NO_ERROR;
}

gpud_error gpud_stat(const char *path, gpud_file_stat *facts) {
    gpud_error error = allowed("sysfs", path);
    if (error.code) return error;
    const node *file = find(path);
    for (int links = 0; file && file->is_link && file->error == GPUD_OK && links < 40; links++) file = find(file->data);
    if (file && file->error) return error_of(file->error, path);
    if (file && !file->is_link) {
        *facts = (gpud_file_stat){.kind = GPUD_FILE, .size = file->length, .mode = 0644, .modified = fake.context.now};
        return GPUD_NO_ERROR;
    }
    gpud_entry *entries;
    size_t count;
    if (file || gpud_list_directory(path, UINT32_MAX, &entries, &count).code) return error_of(GPUD_NOT_FOUND, path);
    *facts = (gpud_file_stat){.kind = GPUD_DIRECTORY, .mode = 0755, .modified = fake.context.now};
    return GPUD_NO_ERROR;
}

gpud_error gpud_statvfs_all(const char *const *paths, size_t count, gpud_fs_answer **answers) {
    gpud_error error = allowed("sysfs", "statvfs-all");
    if (error.code) return error;
    if (count > 1024) return too_large("statvfs-all", count, 1024);
    gpud_fs_answer *all = gpud_alloc(count * sizeof *all);
    for (size_t i = 0; i < count; i++) {
        all[i] = (gpud_fs_answer){0};
        all[i].error = gpud_statvfs(paths[i], &all[i].usage);
    }
    *answers = all;
    return GPUD_NO_ERROR;
}

gpud_error gpud_statvfs(const char *path, gpud_fs_usage *usage) {
    gpud_error error = allowed("sysfs", path);
    if (error.code) return error;
    for (size_t i = 0; i < fake.mount_count; i++) {
        if (strcmp(fake.mounts[i].path, path) != 0) continue;
        *usage = fake.mounts[i].usage;
        return GPUD_NO_ERROR;
    }
    return error_of(GPUD_NOT_FOUND, path);
}

const char *gpud_config(void) { return copy_text(fake.config); }

static kept *value_of(const char *key) {
    for (size_t i = 0; i < fake.value_count; i++)
        if (strcmp(fake.values[i].key, key) == 0) return &fake.values[i];
    return NULL;
}

gpud_error gpud_state_get(const char *key, gpud_text *value, bool *present) {
    gpud_error error = allowed("state", key);
    if (error.code) return error;
    const kept *found = value_of(key);
    *present = found != NULL;
    *value = found ? text_of(found->data, found->length) : text_of("", 0);
    return GPUD_NO_ERROR;
}

gpud_error gpud_state_set(const char *key, const char *value, size_t length) {
    gpud_error error = allowed("state", key);
    if (error.code) return error;
    if (length > 65536) return too_large(key, length, 65536);
    kept *found = value_of(key);
    if (found == NULL) {
        if (fake.value_count == MAX_KEPT) return too_large("keys", fake.value_count + 1, MAX_KEPT);
        found = &fake.values[fake.value_count++];
        found->key = copy_text(key);
    }
    found->data = copy(value, length);
    found->length = length;
    return GPUD_NO_ERROR;
}

gpud_error gpud_state_delete(const char *key) {
    gpud_error error = allowed("state", key);
    if (error.code) return error;
    kept *found = value_of(key);
    if (found) *found = fake.values[--fake.value_count];
    return GPUD_NO_ERROR;
}

void gpud_log(gpud_level level, const char *message) {
    static const char *const words[] = {"debug", "info", "warn", "error"};
    fake.log = gpud_format("%s%s: %s\n", fake.log ? fake.log : "", words[level], message);
}

static gpud_error run(const char *name, uint32_t max_output_bytes, gpud_output *output) {
    gpud_error error = allowed("exec", name);
    if (error.code) return error;
    for (size_t i = 0; i < fake.program_count; i++) {
        if (strcmp(fake.programs[i].name, name) != 0) continue;
        *output = fake.programs[i].output;
        gpud_text *both[] = {&output->standard_output, &output->standard_error};
        for (int j = 0; j < 2; j++) {
            if (both[j]->length > max_output_bytes) {
                both[j]->length = max_output_bytes;
                output->truncated = true;
            }
            *both[j] = text_of(both[j]->data, both[j]->length);
        }
        return GPUD_NO_ERROR;
    }
    return error_of(GPUD_NOT_FOUND, name);
}

gpud_error gpud_run_program(const char *name, const char *const *arguments, size_t argument_count, uint32_t timeout_ms,
                            uint32_t max_output_bytes, gpud_output *output) {
    (void)arguments, (void)argument_count, (void)timeout_ms;
    return run(name, max_output_bytes, output);
}

gpud_error gpud_run_bash(const char *script, uint32_t timeout_ms, uint32_t max_output_bytes, gpud_output *output) {
    (void)script, (void)timeout_ms;
    return run("bash", max_output_bytes, output);
}

gpud_error gpud_kmsg_read_back(const char *const *patterns, size_t pattern_count, uint32_t max_messages,
                               gpud_messages *messages) {
    (void)patterns, (void)pattern_count;
    gpud_error error = allowed("kmsg", "kernel log");
    if (error.code) return error;
    size_t skip = fake.message_count > max_messages ? fake.message_count - max_messages : 0;
    *messages = (gpud_messages){fake.messages + skip, fake.message_count - skip};
    return GPUD_NO_ERROR;
}

gpud_error gpud_own_events(gpud_millis since, uint32_t limit, gpud_stored_event **events, size_t *count) {
    (void)since, (void)limit;
    *events = gpud_alloc(sizeof **events);
    *count = 0;
    return allowed("history", "own events");
}

gpud_error gpud_reboots(gpud_millis since, gpud_millis **times, size_t *count) {
    *times = gpud_alloc(sizeof fake.reboots);
    *count = 0;
    for (size_t i = 0; i < fake.reboot_count; i++)
        if (fake.reboots[i] > since) (*times)[(*count)++] = fake.reboots[i];
    return allowed("history", "reboots");
}

gpud_error gpud_http_get(const char *unix_socket, uint16_t port, const char *path, uint32_t max_body_bytes,
                         uint32_t timeout_ms, uint16_t *status, gpud_text *body) {
    (void)unix_socket, (void)port, (void)timeout_ms;
    gpud_error error = allowed("net", path);
    if (error.code) return error;
    for (size_t i = 0; i < fake.answer_count; i++) {
        const answer *one = &fake.answers[i];
        if (strcmp(one->path, path) != 0) continue;
        size_t length = strlen(one->body);
        if (length > max_body_bytes) return too_large(path, length, max_body_bytes);
        *status = one->status;
        *body = text_of(one->body, length);
        return GPUD_NO_ERROR;
    }
    return error_of(GPUD_NOT_FOUND, path);
}

gpud_error gpud_tcp_connect(const char *host, uint16_t port, uint32_t timeout_ms, uint64_t *microseconds) {
    (void)port, (void)timeout_ms;
    *microseconds = 100;
    return allowed("net", host);
}

#include "gpud_testing_gpus.c"

gpud_report *gpud_test_check(void) {
    gpud_report *report = gpud_alloc(sizeof *report);
    memcpy(fake.before, fake.values, sizeof fake.values);
    fake.before_count = fake.value_count;
    fake.error = gpud_check(&fake.context, report);
    if (fake.error.code) {
        memcpy(fake.values, fake.before, sizeof fake.values);
        fake.value_count = fake.before_count;
        return gpud_alloc(sizeof *report);
    }
    return report;
}

gpud_error gpud_test_error(void) { return fake.error; }

gpud_descriptor *gpud_test_describe(void) {
    gpud_descriptor *plugin = gpud_alloc(sizeof *plugin);
    gpud_describe(plugin);
    return plugin;
}

const char *gpud_test_log(void) { return fake.log ? fake.log : ""; }

double gpud_test_metric(const gpud_report *report, const char *name, const char *label_value) {
    for (size_t i = 0; i < report->metric_count; i++) {
        const gpud_metric *metric = report->metrics[i];
        if (strcmp(metric->name, name) != 0) continue;
        if (label_value == NULL) return metric->value;
        for (size_t j = 0; j < metric->label_count; j++)
            if (strcmp(metric->labels[j].value, label_value) == 0) return metric->value;
    }
    return NAN;
}

bool gpud_test_expect(bool holds, const char *condition, const char *file, int line) {
    if (holds) {
        passed++;
    } else {
        failed++;
        fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    }
    return holds;
}

bool gpud_test_expect_text(const char *found, const char *wanted, const char *file, int line) {
    bool same = found && wanted ? strcmp(found, wanted) == 0 : found == wanted;
    if (same) {
        passed++;
    } else {
        failed++;
        fprintf(stderr, "%s:%d:\n   found: %s\n  wanted: %s\n", file, line, found ? found : "(null)",
                wanted ? wanted : "(null)");
    }
    return same;
}

int gpud_test_summary(void) {
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}
