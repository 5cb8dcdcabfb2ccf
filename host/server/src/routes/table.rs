//! The table of all routes.

use axum::routing::{MethodRouter, delete, get, post, put};

use super::{
    Answer, Forms, Permission, Route,
    parameters::{
        BEFORE, COMPONENT_NAME, COMPONENTS, END_TIME, EVENT_ID, GONE_NAME, GROUP, HOW_FAR_BACK,
        LIMIT, OF_COMPONENTS, SHADOWED, SINCE, START_TIME, TAG_NAME,
    },
};
use crate::{
    admin, components, events, healthz, history, info, inject_fault, machine_info, metrics, page,
    plugins, pprof, prometheus, set_healthy, states, stream, summary, swagger, trigger,
};

/// A route that only shows something, in JSON or YAML; the others say how they differ.
const SHOWS: Route = Route {
    method: "GET",
    path: "",
    permission: Permission::Read,
    forms: Forms::Strict,
    what: "",
    parameters: &[],
    body: None,
    answers: &[],
    profiling: false,
    handler: MethodRouter::new,
};

const fn ok(what: &'static str, schema: &'static str) -> Answer {
    answer(200, what, schema)
}

const fn answer(status: u16, what: &'static str, schema: &'static str) -> Answer {
    Answer {
        status,
        what,
        schema,
    }
}

const UNKNOWN: Answer = answer(404, "A component is not known.", "TypedError");
const BAD_QUERY: Answer = answer(
    400,
    "A parameter or the request's content type is wrong.",
    "TypedError",
);
const BAD_TYPE: Answer = answer(400, "The request's content type is wrong.", "TypedError");
/// The answer to a browser that has the file.
const UNCHANGED: Answer = answer(304, "The client has this version of the file.", "");
const JSON: &str = "application/json";

/// The table.
pub(super) static ROUTES: [Route; 35] = [
    Route {
        path: "/healthz",
        permission: Permission::Alive,
        forms: Forms::Lenient,
        what: "Whether the daemon answers.",
        answers: &[ok("It does.", "Healthz")],
        handler: || get(healthz::show),
        ..SHOWS
    },
    Route {
        path: "/machine-info",
        forms: Forms::Json,
        what: "The machine's inventory, at most 5 seconds old.",
        answers: &[
            ok("The inventory.", "MachineInfo"),
            answer(500, "It could not be taken.", "TypedError"),
        ],
        handler: || get(machine_info::show),
        ..SHOWS
    },
    Route {
        path: "/metrics",
        forms: Forms::Other("text/plain; version=0.0.4; charset=utf-8; escaping=underscores"),
        what: "Every metric in the Prometheus text format.",
        answers: &[ok("The metrics.", "")],
        handler: || get(prometheus::show),
        ..SHOWS
    },
    Route {
        method: "POST",
        path: "/inject-fault",
        permission: Permission::Write,
        forms: Forms::Json,
        what: "Writes a line into the kernel log, to see what the checks make of it.",
        body: Some((JSON, "FaultRequest")),
        answers: &[
            ok("It is written.", "Message"),
            answer(
                400,
                "The body asks for nothing that can be written.",
                "TypedError",
            ),
            answer(408, "The body did not arrive in time.", "TypedError"),
            answer(500, "It could not be written.", "TypedError"),
        ],
        handler: || post(inject_fault::inject),
        ..SHOWS
    },
    Route {
        path: "/v1/components",
        what: "Names of all components, ascending. With `detail`, a list of `component`, `component_type`, `applicable` and \
               `reason`: why one has nothing to watch on this machine.",
        answers: &[ok("The names.", "Names"), BAD_TYPE],
        handler: || get(components::list),
        ..SHOWS
    },
    Route {
        method: "DELETE",
        path: "/v1/components",
        permission: Permission::Write,
        forms: Forms::Json,
        what: "Ends and removes a plugin's component until the next start.",
        parameters: &[&GONE_NAME],
        answers: &[
            ok("It is gone.", "Deregistered"),
            answer(400, "No name, or that of a built-in check.", "TypedError"),
            UNKNOWN,
            answer(500, "It could not be ended.", "NumericError"),
        ],
        handler: || delete(components::deregister),
        ..SHOWS
    },
    Route {
        path: "/v1/components/trigger-check",
        permission: Permission::Write,
        forms: Forms::Json,
        what: "Checks a component, or all with a tag, now; shows what was found. The name wins over the tag.",
        parameters: &[&COMPONENT_NAME, &TAG_NAME],
        answers: &[
            ok("What these checks found.", "ComponentStates"),
            answer(400, "Neither name nor tag.", "TypedError"),
            UNKNOWN,
        ],
        handler: || get(trigger::check),
        ..SHOWS
    },
    Route {
        path: "/v1/components/trigger-tag",
        permission: Permission::Write,
        forms: Forms::Json,
        what: "Checks all components with a tag now; shows whether all are healthy.",
        parameters: &[&GROUP],
        answers: &[
            ok("Whether they are.", "TagTriggered"),
            answer(400, "No tag.", "TextError"),
        ],
        handler: || get(trigger::tag),
        ..SHOWS
    },
    Route {
        path: "/v1/states",
        what: "The latest verdicts. Checks nothing.",
        parameters: &[&COMPONENTS],
        answers: &[
            ok(
                "The verdicts; null where there is nothing to watch.",
                "ComponentStates",
            ),
            BAD_QUERY,
            UNKNOWN,
        ],
        handler: || get(states::list),
        ..SHOWS
    },
    Route {
        path: "/v1/events",
        what: "Stored events, newest first.",
        parameters: &[&COMPONENTS, &START_TIME, &END_TIME],
        answers: &[ok("The events.", "ComponentEvents"), BAD_QUERY, UNKNOWN],
        handler: || get(events::list),
        ..SHOWS
    },
    Route {
        path: "/v1/summary",
        what: "What all latest verdicts amount to: one sentence, and what is wrong, by what it concerns. Checks nothing.",
        answers: &[ok("The summary.", "Summary"), BAD_TYPE],
        handler: || get(summary::show),
        ..SHOWS
    },
    Route {
        path: "/v1/history",
        what: "Stored events and changes of health together, newest first.",
        parameters: &[&HOW_FAR_BACK, &LIMIT, &OF_COMPONENTS, &BEFORE],
        answers: &[
            ok("A part of the history.", "History"),
            BAD_QUERY,
            answer(500, "It could not be read.", "NumericError"),
        ],
        handler: || get(history::list),
        ..SHOWS
    },
    Route {
        path: "/v1/history/event",
        what: "One event of the history, with its kernel line, what it means and what to do about it.",
        parameters: &[&EVENT_ID],
        answers: &[
            ok("The event and its explanation.", "ExplainedEvent"),
            BAD_QUERY,
            answer(404, "No such event is stored, or no longer.", "TypedError"),
            answer(500, "It could not be read.", "NumericError"),
        ],
        handler: || get(history::event),
        ..SHOWS
    },
    Route {
        path: "/v1/info",
        what: "Verdicts, events and metric samples together. Samples go back from startTime.",
        parameters: &[&COMPONENTS, &START_TIME, &END_TIME, &SINCE],
        answers: &[ok("All three.", "ComponentInfo"), BAD_QUERY, UNKNOWN],
        handler: || get(info::list),
        ..SHOWS
    },
    Route {
        path: "/v1/metrics",
        what: "Stored metric samples, oldest first.",
        parameters: &[&COMPONENTS, &SINCE],
        answers: &[
            ok("The samples.", "ComponentMetrics"),
            BAD_QUERY,
            UNKNOWN,
            answer(500, "They could not be read.", "NumericError"),
        ],
        handler: || get(metrics::list),
        ..SHOWS
    },
    Route {
        method: "POST",
        path: "/v1/health-states/set-healthy",
        permission: Permission::Write,
        forms: Forms::Json,
        what: "Declares components repaired: clears what is recorded against them.",
        parameters: &[&COMPONENTS],
        answers: &[
            ok("Done.", "SetHealthy"),
            answer(400, "None of them could be set.", "SetHealthy"),
            answer(404, "A component is not known.", "SetHealthy"),
        ],
        handler: || post(set_healthy::set),
        ..SHOWS
    },
    Route {
        path: "/v1/plugins",
        what: "Specs of the plugins.",
        answers: &[ok("The specs; null without any.", "PluginSpecs"), BAD_TYPE],
        handler: || get(plugins::list),
        ..SHOWS
    },
    Route {
        path: "/v1/plugins/shadow",
        what: "How the version that runs beside a plugin's component compares with it.",
        parameters: &[&SHADOWED],
        answers: &[
            ok("The last comparisons, newest first.", "Shadow"),
            BAD_QUERY,
            answer(
                404,
                "No such component, or none runs beside it.",
                "TypedError",
            ),
        ],
        handler: || get(plugins::shadow),
        ..SHOWS
    },
    Route {
        method: "POST",
        path: "/v1/plugins",
        permission: Permission::Code,
        forms: Forms::Json,
        what: "Adds plugins until the next start; all or none.",
        body: Some(("application/yaml", "PluginSpecs")),
        answers: &[
            ok("They run.", "Registered"),
            answer(
                400,
                "Something is wrong with the specs; every problem is named.",
                "TypedError",
            ),
            answer(
                403,
                "Not root or gpud's own user on this machine.",
                "TypedError",
            ),
            answer(408, "The body did not arrive in time.", "TypedError"),
            answer(409, "A name is taken.", "TypedError"),
        ],
        handler: || post(plugins::add),
        ..SHOWS
    },
    Route {
        method: "PUT",
        path: "/v1/plugins",
        permission: Permission::Code,
        forms: Forms::Json,
        what: "Adds plugins, also in place of those of the same names; all or none.",
        body: Some(("application/yaml", "PluginSpecs")),
        answers: &[
            ok("They run.", "Registered"),
            answer(
                400,
                "Something is wrong with the specs; every problem is named.",
                "TypedError",
            ),
            answer(
                403,
                "Not root or gpud's own user on this machine.",
                "TypedError",
            ),
            answer(408, "The body did not arrive in time.", "TypedError"),
            answer(409, "A name is taken.", "TypedError"),
        ],
        handler: || put(plugins::put),
        ..SHOWS
    },
    Route {
        path: "/admin/config",
        forms: Forms::Lenient,
        what: "The settings that the daemon runs with.",
        answers: &[ok("The settings.", "Config")],
        handler: || get(admin::config),
        ..SHOWS
    },
    Route {
        path: "/admin/packages",
        forms: Forms::Json,
        what: "Always null: gpud installs no packages.",
        answers: &[ok("Nothing.", "Nothing")],
        handler: || get(admin::packages),
        ..SHOWS
    },
    Route {
        path: "/",
        forms: Forms::Other(page::HTML),
        what: "The page for people.",
        answers: &[ok("The page.", ""), UNCHANGED],
        handler: || get(page::index),
        ..SHOWS
    },
    Route {
        path: "/page/app.js",
        forms: Forms::Other(page::SCRIPT),
        what: "The page's program.",
        answers: &[ok("The file.", ""), UNCHANGED],
        handler: || get(page::app),
        ..SHOWS
    },
    Route {
        path: "/page/app.css",
        forms: Forms::Other(page::STYLE),
        what: "The page's style sheet.",
        answers: &[ok("The file.", ""), UNCHANGED],
        handler: || get(page::app_style),
        ..SHOWS
    },
    Route {
        path: "/page/charts.js",
        forms: Forms::Other(page::SCRIPT),
        what: "The part of the page's program that draws charts.",
        answers: &[ok("The file.", ""), UNCHANGED],
        handler: || get(page::charts),
        ..SHOWS
    },
    Route {
        path: "/page/charts.css",
        forms: Forms::Other(page::STYLE),
        what: "The style sheet of charts.",
        answers: &[ok("The file.", ""), UNCHANGED],
        handler: || get(page::charts_style),
        ..SHOWS
    },
    Route {
        path: "/page/icon.svg",
        forms: Forms::Other(page::ICON),
        what: "The page's icon.",
        answers: &[ok("The file.", ""), UNCHANGED],
        handler: || get(page::icon),
        ..SHOWS
    },
    Route {
        path: "/page/licenses.txt",
        forms: Forms::Other(page::TEXT),
        what: "Licences of the libraries in the page.",
        answers: &[ok("The file.", ""), UNCHANGED],
        handler: || get(page::licenses),
        ..SHOWS
    },
    Route {
        path: "/v1/stream",
        forms: Forms::Other(stream::EVENTS),
        what: "Changes as they happen, as server-sent events: health, event, summary-changed, reset. Goes on after the id in the header Last-Event-ID.",
        answers: &[
            ok("The events, without an end.", ""),
            answer(503, "Too many readers.", "TypedError"),
        ],
        handler: || get(stream::follow),
        ..SHOWS
    },
    Route {
        path: "/swagger/index.html",
        forms: Forms::Other("text/html; charset=utf-8"),
        what: "This description, to be read.",
        answers: &[ok("The page.", "")],
        handler: || get(swagger::page),
        ..SHOWS
    },
    Route {
        path: "/swagger/doc.json",
        forms: Forms::Json,
        what: "This description as an OpenAPI document.",
        answers: &[ok("The document.", "Document")],
        handler: || get(swagger::document),
        ..SHOWS
    },
    PROFILE,
    Route {
        path: "/admin/pprof/heap",
        ..PROFILE
    },
    Route {
        path: "/admin/pprof/trace",
        ..PROFILE
    },
];

/// The routes that GPUd serves with Go's own profiler.
const PROFILE: Route = Route {
    path: "/admin/pprof/profile",
    forms: Forms::Json,
    what: "Says how a native program is profiled instead.",
    answers: &[answer(
        501,
        "There is no profile of a Go program.",
        "TypedError",
    )],
    profiling: true,
    handler: || get(pprof::instead),
    ..SHOWS
};
