/* The capabilities: gpud.h over the generated bindings. Only what a checker calls is linked, and so imported. */
#include <string.h>

#include "wit.h"

gpud_wit_string_t gpud_to_wit(const char *text) {
    size_t length = text ? strlen(text) : 0;
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t i = 0, one; i < length; i += one) {
        one = gpud_utf8_length(bytes + i, length - i);
        if (one == 0) {
            text = gpud_trimmed((gpud_text){text, length});
            length = strlen(text);
            break;
        }
    }
    return (gpud_wit_string_t){(uint8_t *)text, length};
}

const char *gpud_from_wit(gpud_wit_string_t text) {
    /* What the host writes ends in a zero (src/memory.c); an empty text is nowhere. */
    return text.len > 0 ? (const char *)text.ptr : "";
}

gpud_text gpud_bytes_from_wit(gpud_wit_list_u8_t bytes) {
    return bytes.len > 0 ? (gpud_text){(const char *)bytes.ptr, bytes.len} : (gpud_text){"", 0};
}

gpud_error gpud_error_from_wit(const gpud_plugin_types_access_error_t *error) {
    gpud_error out = {.code = GPUD_OTHER, .what = ""};
    switch (error->tag) {
    case GPUD_PLUGIN_TYPES_ACCESS_ERROR_TOO_LARGE:
        out.code = GPUD_TOO_LARGE;
        out.what = gpud_from_wit(error->val.too_large.what);
        out.size = error->val.too_large.size;
        out.limit = error->val.too_large.limit;
        break;
    case GPUD_PLUGIN_TYPES_ACCESS_ERROR_TIMED_OUT:
        out.code = GPUD_TIMED_OUT;
        out.what = gpud_from_wit(error->val.timed_out.what);
        out.after_ms = error->val.timed_out.after_ms;
        out.answered_before = error->val.timed_out.last_good.is_some;
        out.last_good = out.answered_before ? error->val.timed_out.last_good.val : 0;
        break;
    default:
        /* The codes stand in the order of the contract's cases, from 1. */
        if (error->tag <= GPUD_PLUGIN_TYPES_ACCESS_ERROR_OTHER) out.code = (gpud_code)(error->tag + 1);
        out.what = gpud_from_wit(error->val.other);
    }
    return out;
}

gpud_error gpud_read(const char *path, uint32_t max_bytes, gpud_text *content) {
    gpud_wit_string_t name = gpud_to_wit(path);
    gpud_wit_list_u8_t bytes;
    ANSWER(gpud_plugin_sysfs_read(&name, max_bytes, &bytes, &failed));
    *content = gpud_bytes_from_wit(bytes);
    return GPUD_NO_ERROR;
}

gpud_error gpud_read_glob(const char *pattern, uint32_t max_bytes_each, uint32_t max_files, gpud_file **files,
                          size_t *count) {
    gpud_wit_string_t name = gpud_to_wit(pattern);
    gpud_plugin_sysfs_list_file_content_t found;
    ANSWER(gpud_plugin_sysfs_read_glob(&name, max_bytes_each, max_files, &found, &failed));
    gpud_file *out = gpud_alloc(found.len * sizeof *out);
    for (size_t i = 0; i < found.len; i++) {
        out[i].path = gpud_from_wit(found.ptr[i].path);
        if (found.ptr[i].content.is_err) {
            out[i].error = gpud_error_from_wit(&found.ptr[i].content.val.err);
            out[i].content = (gpud_text){"", 0};
        } else {
            out[i].content = gpud_bytes_from_wit(found.ptr[i].content.val.ok);
        }
    }
    *files = out;
    *count = found.len;
    return GPUD_NO_ERROR;
}

gpud_error gpud_list_directory(const char *path, uint32_t max_entries, gpud_entry **entries, size_t *count) {
    gpud_wit_string_t name = gpud_to_wit(path);
    gpud_plugin_sysfs_list_entry_t found;
    ANSWER(gpud_plugin_sysfs_list_directory(&name, max_entries, &found, &failed));
    gpud_entry *out = gpud_alloc(found.len * sizeof *out);
    for (size_t i = 0; i < found.len; i++)
        out[i] = (gpud_entry){gpud_from_wit(found.ptr[i].name), (gpud_file_kind)found.ptr[i].kind};
    *entries = out;
    *count = found.len;
    return GPUD_NO_ERROR;
}

gpud_error gpud_read_link(const char *path, const char **target) {
    gpud_wit_string_t name = gpud_to_wit(path), text;
    ANSWER(gpud_plugin_sysfs_read_link(&name, &text, &failed));
    *target = gpud_from_wit(text);
    return GPUD_NO_ERROR;
}

gpud_error gpud_count_entries(const char *pattern, uint32_t max_directories, gpud_entry_count **directories,
                              size_t *count) {
    gpud_wit_string_t name = gpud_to_wit(pattern);
    gpud_plugin_sysfs_list_entry_count_t found;
    ANSWER(gpud_plugin_sysfs_count_entries(&name, max_directories, &found, &failed));
    gpud_entry_count *out = gpud_alloc(found.len * sizeof *out);
    for (size_t i = 0; i < found.len; i++) {
        const gpud_plugin_sysfs_entry_count_t *one = &found.ptr[i];
        out[i] = (gpud_entry_count){.path = gpud_from_wit(one->path)};
        if (one->count.is_err) out[i].error = gpud_error_from_wit(&one->count.val.err);
        else out[i].entries = one->count.val.ok;
    }
    *directories = out;
    *count = found.len;
    return GPUD_NO_ERROR;
}

gpud_error gpud_stat(const char *path, gpud_file_stat *facts) {
    gpud_wit_string_t name = gpud_to_wit(path);
    gpud_plugin_sysfs_file_stat_t found;
    ANSWER(gpud_plugin_sysfs_stat(&name, &found, &failed));
    *facts = (gpud_file_stat){.kind = (gpud_file_kind)found.kind,
                              .size = found.size,
                              .mode = found.mode,
                              .modified = found.modified,
                              .device_major = found.device_major,
                              .device_minor = found.device_minor,
                              .uid = found.uid};
    return GPUD_NO_ERROR;
}

static gpud_fs_usage usage_from_wit(const gpud_plugin_sysfs_fs_usage_t *found) {
    return (gpud_fs_usage){.total_bytes = found->total_bytes,
                           .free_bytes = found->free_bytes,
                           .available_bytes = found->available_bytes,
                           .total_inodes = found->total_inodes,
                           .free_inodes = found->free_inodes,
                           .read_only = found->read_only};
}

gpud_error gpud_statvfs(const char *path, gpud_fs_usage *usage) {
    gpud_wit_string_t name = gpud_to_wit(path);
    gpud_plugin_sysfs_fs_usage_t found;
    ANSWER(gpud_plugin_sysfs_statvfs(&name, &found, &failed));
    *usage = usage_from_wit(&found);
    return GPUD_NO_ERROR;
}

gpud_error gpud_statvfs_all(const char *const *paths, size_t count, gpud_fs_answer **answers) {
    gpud_wit_list_string_t names = {gpud_alloc(count * sizeof *names.ptr), count};
    for (size_t i = 0; i < count; i++) names.ptr[i] = gpud_to_wit(paths[i]);
    gpud_plugin_sysfs_list_result_fs_usage_access_error_t found;
    ANSWER(gpud_plugin_sysfs_statvfs_all(&names, &found, &failed));
    gpud_fs_answer *out = gpud_alloc(count * sizeof *out);
    for (size_t i = 0; i < count; i++) {
        out[i] = (gpud_fs_answer){0};
        /* The contract has an answer for each path. */
        if (i >= found.len) out[i].error = (gpud_error){.code = GPUD_OTHER, .what = paths[i]};
        else if (found.ptr[i].is_err) out[i].error = gpud_error_from_wit(&found.ptr[i].val.err);
        else out[i].usage = usage_from_wit(&found.ptr[i].val.ok);
    }
    *answers = out;
    return GPUD_NO_ERROR;
}

const char *gpud_config(void) {
    gpud_wit_string_t document;
    gpud_plugin_config_document(&document);
    return gpud_from_wit(document);
}

gpud_error gpud_state_get(const char *key, gpud_text *value, bool *present) {
    gpud_wit_string_t name = gpud_to_wit(key);
    gpud_wit_option_list_u8_t found;
    ANSWER(gpud_plugin_state_get(&name, &found, &failed));
    *present = found.is_some;
    *value = found.is_some ? gpud_bytes_from_wit(found.val) : (gpud_text){"", 0};
    return GPUD_NO_ERROR;
}

gpud_error gpud_state_set(const char *key, const char *value, size_t length) {
    gpud_wit_string_t name = gpud_to_wit(key);
    gpud_wit_list_u8_t bytes = {(uint8_t *)value, length};
    ANSWER(gpud_plugin_state_set(&name, &bytes, &failed));
    return GPUD_NO_ERROR;
}

gpud_error gpud_state_delete(const char *key) {
    gpud_wit_string_t name = gpud_to_wit(key);
    ANSWER(gpud_plugin_state_delete(&name, &failed));
    return GPUD_NO_ERROR;
}

void gpud_log(gpud_level level, const char *message) {
    gpud_wit_string_t text = gpud_to_wit(message);
    gpud_plugin_log_write((gpud_plugin_log_level_t)level, &text);
}

static gpud_output output_from_wit(const gpud_plugin_exec_output_t *from) {
    return (gpud_output){.exited = from->exit_code.is_some,
                         .exit_code = from->exit_code.is_some ? from->exit_code.val : -1,
                         .signal = from->signal.is_some ? from->signal.val : 0,
                         .standard_output = gpud_bytes_from_wit(from->stdout_),
                         .standard_error = gpud_bytes_from_wit(from->stderr_),
                         .truncated = from->truncated,
                         .duration_ms = from->duration_ms};
}

static gpud_wit_list_string_t strings(const char *const *texts, size_t count) {
    gpud_wit_string_t *out = gpud_alloc(count * sizeof *out);
    for (size_t i = 0; i < count; i++) out[i] = gpud_to_wit(texts[i]);
    return (gpud_wit_list_string_t){out, count};
}

gpud_error gpud_run_program(const char *program, const char *const *arguments, size_t argument_count,
                            uint32_t timeout_ms, uint32_t max_output_bytes, gpud_output *output) {
    gpud_wit_string_t name = gpud_to_wit(program);
    gpud_wit_list_string_t list = strings(arguments, argument_count);
    gpud_plugin_exec_options_t options = {.timeout_ms = timeout_ms, .max_output_bytes = max_output_bytes};
    gpud_plugin_exec_output_t found;
    ANSWER(gpud_plugin_exec_run_program(&name, &list, &options, &found, &failed));
    *output = output_from_wit(&found);
    return GPUD_NO_ERROR;
}

gpud_error gpud_run_bash(const char *script, uint32_t timeout_ms, uint32_t max_output_bytes, gpud_output *output) {
    gpud_wit_string_t text = gpud_to_wit(script);
    gpud_plugin_exec_options_t options = {.timeout_ms = timeout_ms, .max_output_bytes = max_output_bytes};
    gpud_plugin_exec_output_t found;
    ANSWER(gpud_plugin_exec_run_bash(&text, &options, &found, &failed));
    *output = output_from_wit(&found);
    return GPUD_NO_ERROR;
}

gpud_messages gpud_messages_from_wit(const gpud_plugin_kmsg_message_t *from, size_t count) {
    gpud_message *out = gpud_alloc(count * sizeof *out);
    for (size_t i = 0; i < count; i++)
        out[i] = (gpud_message){.sequence = from[i].sequence,
                                .time = from[i].time,
                                .level = from[i].level,
                                .facility = from[i].facility,
                                .text = gpud_from_wit(from[i].text)};
    return (gpud_messages){out, count};
}

gpud_error gpud_kmsg_read_back(const char *const *patterns, size_t pattern_count, uint32_t max_messages,
                               gpud_messages *messages) {
    gpud_wit_list_string_t list = strings(patterns, pattern_count);
    gpud_plugin_kmsg_look_back_t found;
    ANSWER(gpud_plugin_kmsg_read_back(&list, max_messages, &found, &failed));
    *messages = gpud_messages_from_wit(found.messages.ptr, found.messages.len);
    return GPUD_NO_ERROR;
}

gpud_error gpud_own_events(gpud_millis since, uint32_t limit, gpud_stored_event **events, size_t *count) {
    gpud_plugin_history_list_stored_event_t found;
    ANSWER(gpud_plugin_history_own_events(since, limit, &found, &failed));
    gpud_stored_event *out = gpud_alloc(found.len * sizeof *out);
    for (size_t i = 0; i < found.len; i++)
        out[i] = (gpud_stored_event){.time = found.ptr[i].event.time,
                                     .name = gpud_from_wit(found.ptr[i].event.name),
                                     .message = gpud_from_wit(found.ptr[i].event.message),
                                     .count = found.ptr[i].count,
                                     .last_time = found.ptr[i].last_time};
    *events = out;
    *count = found.len;
    return GPUD_NO_ERROR;
}

gpud_error gpud_reboots(gpud_millis since, gpud_millis **times, size_t *count) {
    gpud_plugin_history_list_reboot_t found;
    ANSWER(gpud_plugin_history_reboots(since, &found, &failed));
    gpud_millis *out = gpud_alloc(found.len * sizeof *out);
    for (size_t i = 0; i < found.len; i++) out[i] = found.ptr[i].time;
    *times = out;
    *count = found.len;
    return GPUD_NO_ERROR;
}

gpud_error gpud_http_get(const char *unix_socket, uint16_t port, const char *path, uint32_t max_body_bytes,
                         uint32_t timeout_ms, uint16_t *status, gpud_text *body) {
    gpud_plugin_net_request_t request = {
        .path = gpud_to_wit(path), .max_body_bytes = max_body_bytes, .timeout_ms = timeout_ms};
    if (unix_socket) {
        request.endpoint.tag = GPUD_PLUGIN_NET_ENDPOINT_UNIX_SOCKET;
        request.endpoint.val.unix_socket = gpud_to_wit(unix_socket);
    } else {
        request.endpoint.tag = GPUD_PLUGIN_NET_ENDPOINT_LOOPBACK;
        request.endpoint.val.loopback = port;
    }
    gpud_plugin_net_response_t found;
    ANSWER(gpud_plugin_net_http_get(&request, &found, &failed));
    *status = found.status;
    *body = gpud_bytes_from_wit(found.body);
    return GPUD_NO_ERROR;
}

gpud_error gpud_tcp_connect(const char *host, uint16_t port, uint32_t timeout_ms, uint64_t *microseconds) {
    gpud_wit_string_t name = gpud_to_wit(host);
    ANSWER(gpud_plugin_net_tcp_connect(&name, port, timeout_ms, microseconds, &failed));
    return GPUD_NO_ERROR;
}
