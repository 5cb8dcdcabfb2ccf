/* What the host calls: the author's functions behind the generated exports. */
#include "gpud_report.h"
#include "wit.h"

static gpud_wit_option_string_t optional(const char *text) {
    return (gpud_wit_option_string_t){text != NULL, gpud_to_wit(text)};
}

static gpud_plugin_types_pairs_t pairs(const gpud_pair *from, size_t count) {
    gpud_wit_tuple2_string_string_t *out = gpud_alloc(count * sizeof *out);
    for (size_t i = 0; i < count; i++)
        out[i] = (gpud_wit_tuple2_string_string_t){gpud_to_wit(from[i].key), gpud_to_wit(from[i].value)};
    return (gpud_plugin_types_pairs_t){out, count};
}

static gpud_plugin_types_option_subject_t subject(const gpud_subject *from) {
    gpud_plugin_types_option_subject_t out = {.is_some = from->kind != NULL};
    if (from->is_gpu) {
        out.val.tag = GPUD_PLUGIN_TYPES_SUBJECT_GPU;
        out.val.val.gpu = (gpud_plugin_types_gpu_id_t){.uuid = optional(from->which),
                                                       .serial = optional(from->serial),
                                                       .pci_id = optional(from->pci_id)};
    } else if (out.is_some) {
        out.val.tag = GPUD_PLUGIN_TYPES_SUBJECT_OTHER;
        out.val.val.other =
            (gpud_wit_tuple2_string_string_t){gpud_to_wit(from->kind), gpud_to_wit(from->which)};
    }
    return out;
}

static gpud_plugin_types_list_evidence_t evidence(const gpud_evidence *from, size_t count) {
    gpud_plugin_types_evidence_t *out = gpud_alloc(count * sizeof *out);
    for (size_t i = 0; i < count; i++) {
        if (from[i].path) {
            out[i].tag = GPUD_PLUGIN_TYPES_EVIDENCE_FILE;
            out[i].val.file = gpud_to_wit(from[i].path);
        } else {
            out[i].tag = GPUD_PLUGIN_TYPES_EVIDENCE_KMSG;
            out[i].val.kmsg = from[i].sequence;
        }
    }
    return (gpud_plugin_types_list_evidence_t){out, count};
}

static gpud_plugin_types_health_state_t state(const gpud_state *from) {
    static const uint8_t healths[] = {
        [GPUD_HEALTHY] = GPUD_PLUGIN_TYPES_HEALTH_HEALTHY,
        [GPUD_INITIALIZING] = GPUD_PLUGIN_TYPES_HEALTH_INITIALIZING,
        [GPUD_DEGRADED] = GPUD_PLUGIN_TYPES_HEALTH_DEGRADED,
        [GPUD_UNHEALTHY] = GPUD_PLUGIN_TYPES_HEALTH_UNHEALTHY,
    };
    static const uint8_t ways[] = {
        [GPUD_CLEARS_BY_GOOD_READING] = GPUD_PLUGIN_TYPES_RECOVERY_NEXT_GOOD_READING,
        [GPUD_CLEARS_BY_REBOOT] = GPUD_PLUGIN_TYPES_RECOVERY_REBOOT,
        [GPUD_CLEARS_BY_SET_HEALTHY] = GPUD_PLUGIN_TYPES_RECOVERY_SET_HEALTHY,
    };
    gpud_plugin_types_health_state_t out = {
        .name = optional(from->name),
        .time = {from->time != 0, from->time},
        .health = {.tag = healths[from->health & 3]},
        .reason = gpud_to_wit(from->reason),
        .error = optional(from->error),
        .subject = subject(&from->subject),
        .latch = from->latch,
        .evidence = evidence(from->evidence, from->evidence_count),
        .extra_info = pairs(from->info, from->info_count),
    };
    if (from->has_actions) {
        gpud_plugin_types_repair_action_t *actions = gpud_alloc(from->action_count * sizeof *actions);
        /* The actions stand in the order of the contract's cases. */
        for (size_t i = 0; i < from->action_count; i++) actions[i].tag = (uint8_t)from->actions[i] & 3;
        out.suggested_actions.is_some = true;
        out.suggested_actions.val.description = gpud_to_wit(from->description);
        out.suggested_actions.val.repair_actions.ptr = actions;
        out.suggested_actions.val.repair_actions.len = from->action_count;
    }
    out.recovery.ptr = gpud_alloc(from->recovery_count * sizeof *out.recovery.ptr);
    out.recovery.len = from->recovery_count;
    for (size_t i = 0; i < from->recovery_count; i++) out.recovery.ptr[i].tag = ways[from->recovery[i] % 3];
    return out;
}

static gpud_plugin_types_list_event_t events(const gpud_events *from) {
    gpud_plugin_types_event_t *out = gpud_alloc(from->count * sizeof *out);
    for (size_t i = 0; i < from->count; i++) {
        const gpud_event *one = from->items[i];
        out[i] = (gpud_plugin_types_event_t){
            .time = one->time,
            .name = gpud_to_wit(one->name),
            /* Severities stand in the order of the contract's cases. */
            .event_type = {.tag = (uint8_t)(one->severity <= GPUD_FATAL ? one->severity : GPUD_UNKNOWN)},
            .message = gpud_to_wit(one->message),
            .subject = subject(&one->subject),
            .evidence = evidence(one->evidence, one->evidence_count),
            .extra_info = pairs(one->info, one->info_count),
            .merge = {one->merge_key != NULL, {gpud_to_wit(one->merge_key), one->merge_window_seconds}},
        };
    }
    return (gpud_plugin_types_list_event_t){out, from->count};
}

static gpud_plugin_types_report_t report(const gpud_report *from) {
    gpud_plugin_types_report_t out = {.supported = !from->unsupported, .events = events(&from->events)};
    out.states.ptr = gpud_alloc(from->state_count * sizeof *out.states.ptr);
    out.states.len = from->state_count;
    for (size_t i = 0; i < from->state_count; i++) out.states.ptr[i] = state(from->states[i]);
    out.metrics.ptr = gpud_alloc(from->metric_count * sizeof *out.metrics.ptr);
    out.metrics.len = from->metric_count;
    for (size_t i = 0; i < from->metric_count; i++) {
        const gpud_metric *one = from->metrics[i];
        out.metrics.ptr[i] = (gpud_plugin_types_metric_t){
            .name = gpud_to_wit(one->name),
            .labels = pairs(one->labels, one->label_count),
            .value = one->value,
            /* Kinds stand in the order of the contract's cases. */
            .kind = {.tag = (uint8_t)(one->kind <= GPUD_HISTOGRAM ? one->kind : GPUD_GAUGE)},
        };
    }
    return out;
}

static gpud_plugin_types_check_error_t check_error(gpud_error from) {
    gpud_plugin_types_check_error_t out = {.tag = GPUD_PLUGIN_TYPES_CHECK_ERROR_SOURCE};
    gpud_plugin_types_access_error_t *source = &out.val.source;
    switch (from.code) {
    case GPUD_FAILED:
    case GPUD_OK:
        out.tag = GPUD_PLUGIN_TYPES_CHECK_ERROR_FAILED;
        out.val.failed = gpud_to_wit(from.what);
        break;
    case GPUD_TOO_LARGE:
        source->tag = GPUD_PLUGIN_TYPES_ACCESS_ERROR_TOO_LARGE;
        source->val.too_large = (gpud_plugin_types_size_info_t){gpud_to_wit(from.what), from.size, from.limit};
        break;
    case GPUD_TIMED_OUT:
        source->tag = GPUD_PLUGIN_TYPES_ACCESS_ERROR_TIMED_OUT;
        source->val.timed_out = (gpud_plugin_types_timeout_info_t){
            gpud_to_wit(from.what), from.after_ms, {from.answered_before, from.last_good}};
        break;
    default:
        source->tag = (uint8_t)(from.code - 1);
        source->val.other = gpud_to_wit(from.what);
    }
    return out;
}

static gpud_context context(const gpud_plugin_types_check_context_t *from) {
    return (gpud_context){
        .component = gpud_from_wit(from->component),
        .now = from->now,
        /* Triggers stand in the order of the contract's cases. */
        .trigger = from->trigger.tag < GPUD_TRIGGER_OTHER ? (gpud_trigger)from->trigger.tag : GPUD_TRIGGER_OTHER,
        .boot_id = gpud_from_wit(from->boot_id),
        .boot_time = from->boot_time,
        .checked_before = from->previous_check.is_some,
        .previous_check = from->previous_check.is_some ? from->previous_check.val : 0,
    };
}

void exports_gpud_plugin_checker_describe(exports_gpud_plugin_checker_descriptor_t *ret) {
    gpud_descriptor plugin = {.version = "0.1.0"};
    gpud_describe(&plugin);
    exports_gpud_plugin_checker_component_descriptor_t *out = gpud_alloc(plugin.component_count * sizeof *out);
    for (size_t i = 0; i < plugin.component_count; i++) {
        const gpud_component *from = &plugin.components[i];
        const char *const *tags = from->tags ? from->tags : &from->name;
        size_t tag_count = from->tags ? from->tag_count : 1;
        out[i].name = gpud_to_wit(from->name);
        out[i].description = gpud_to_wit(from->description);
        out[i].tags.ptr = gpud_alloc(tag_count * sizeof *out[i].tags.ptr);
        out[i].tags.len = tag_count;
        for (size_t j = 0; j < tag_count; j++) out[i].tags.ptr[j] = gpud_to_wit(tags[j]);
        out[i].interval_ms.is_some = from->interval_ms != 0;
        out[i].interval_ms.val = from->interval_ms;
        out[i].run_mode.tag = from->manual ? EXPORTS_GPUD_PLUGIN_CHECKER_RUN_MODE_MANUAL
                                           : EXPORTS_GPUD_PLUGIN_CHECKER_RUN_MODE_AUTO;
        /* The modes stand in the order of the contract's cases. */
        out[i].set_healthy.tag = (uint8_t)(from->set_healthy % 3);
        out[i].metrics.ptr = gpud_alloc(from->metric_count * sizeof *out[i].metrics.ptr);
        out[i].metrics.len = from->metric_count;
        for (size_t j = 0; j < from->metric_count; j++) {
            out[i].metrics.ptr[j].name = gpud_to_wit(from->metrics[j].name);
            out[i].metrics.ptr[j].help = gpud_to_wit(from->metrics[j].help);
            out[i].metrics.ptr[j].buckets.ptr = (double *)from->metrics[j].buckets;
            out[i].metrics.ptr[j].buckets.len = from->metrics[j].bucket_count;
        }
        out[i].config_schema = optional(from->config_schema);
    }
    *ret = (exports_gpud_plugin_checker_descriptor_t){.version = gpud_to_wit(plugin.version)};
    ret->components.ptr = out;
    ret->components.len = plugin.component_count;
}

static bool look(gpud_error (*with)(const gpud_context *, gpud_report *), const gpud_plugin_types_check_context_t *from,
                 gpud_plugin_types_report_t *ret, gpud_plugin_types_check_error_t *err) {
    gpud_context of = context(from);
    gpud_report found = {0};
    gpud_error error = with(&of, &found);
    if (error.code) {
        *err = check_error(error);
        return false;
    }
    *ret = report(&found);
    return true;
}

bool exports_gpud_plugin_checker_check(exports_gpud_plugin_checker_check_context_t *from,
                                       exports_gpud_plugin_checker_report_t *ret,
                                       exports_gpud_plugin_checker_check_error_t *err) {
    return look(gpud_check, from, ret, err);
}

#ifdef GPUD_EXPORT_SCANNER
bool exports_gpud_plugin_scanner_scan(exports_gpud_plugin_scanner_check_context_t *from,
                                      exports_gpud_plugin_scanner_report_t *ret,
                                      exports_gpud_plugin_scanner_check_error_t *err) {
    return look(gpud_scan, from, ret, err);
}
#endif

#ifdef GPUD_EXPORT_KMSG_WATCHER
void exports_gpud_plugin_kmsg_watcher_patterns(gpud_wit_string_t *component, gpud_wit_list_string_t *ret) {
    gpud_patterns_list found = {0};
    gpud_patterns(gpud_from_wit(*component), &found);
    ret->ptr = gpud_alloc(found.count * sizeof *ret->ptr);
    ret->len = found.count;
    for (size_t i = 0; i < found.count; i++) ret->ptr[i] = gpud_to_wit(found.items[i]);
}

bool exports_gpud_plugin_kmsg_watcher_on_messages(exports_gpud_plugin_kmsg_watcher_check_context_t *from,
                                                  exports_gpud_plugin_kmsg_watcher_list_message_t *messages,
                                                  exports_gpud_plugin_kmsg_watcher_list_event_t *ret,
                                                  exports_gpud_plugin_kmsg_watcher_check_error_t *err) {
    gpud_context of = context(from);
    gpud_messages delivered = gpud_messages_from_wit(messages->ptr, messages->len);
    gpud_events found = {0};
    gpud_error error = gpud_on_messages(&of, &delivered, &found);
    if (error.code) {
        *err = check_error(error);
        return false;
    }
    gpud_plugin_types_list_event_t all = events(&found);
    ret->ptr = all.ptr;
    ret->len = all.len;
    return true;
}
#endif
