//! Every route of the API, in one table: the router, the rights and the OpenAPI document are made from it, so that no
//! route is without its description.

use axum::routing::{MethodRouter, delete, get, post, put};
use http::Method;

use super::{
    admin, components, events, healthz, history, info, inject_fault, machine_info, metrics, page,
    plugins, pprof, prometheus, router::App, set_healthy, states, stream, summary, swagger,
    trigger,
};

/// The permission that a route needs, by its effect on the machine or the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permission {
    /// Says only that the daemon answers. Never asks for a token: probes have none.
    Alive,
    /// Shows something.
    Read,
    /// Runs or changes something. Triggers do, although they are GET for the sake of existing clients.
    Write,
    /// Brings code in, which then has all rights of the daemon: more than a token is asked for.
    Code,
}

/// How the answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forms {
    /// JSON, or YAML if the request's `Content-Type` says so; any other is refused.
    Strict,
    /// The same, but any other gives JSON.
    Lenient,
    /// JSON, whatever the request's headers say.
    Json,
    /// Something else, of this content type.
    Other(&'static str),
}

/// A parameter of the query.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    /// The request is refused without it.
    pub(super) required: bool,
    pub(super) example: &'static str,
}

/// One status that a route answers with; those that every route can give are in `openapi.rs`.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) what: &'static str,
    /// A name of `openapi_schemas.json`; empty for what is not JSON.
    pub(super) schema: &'static str,
}

/// One method of one path.
pub(super) struct Route {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) permission: Permission,
    pub(super) forms: Forms,
    pub(super) what: &'static str,
    pub(super) parameters: &'static [&'static Parameter],
    /// Content type and schema of the request's body, if it has one.
    pub(super) body: Option<(&'static str, &'static str)>,
    pub(super) answers: &'static [Answer],
    /// These routes exist only with `--pprof`.
    pub(super) profiling: bool,
    pub(super) handler: fn() -> MethodRouter<App>,
}

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

const fn optional(name: &'static str, what: &'static str, example: &'static str) -> Parameter {
    Parameter {
        name,
        what,
        required: false,
        example,
    }
}

static COMPONENTS: Parameter = optional(
    "components",
    "Names of components, separated by commas; all of them without it.",
    "cpu,disk",
);
static START_TIME: Parameter = optional(
    "startTime",
    "Unix seconds; what is later is shown. Now without it, so that nothing is.",
    "1741064767",
);
static END_TIME: Parameter = optional(
    "endTime",
    "Unix seconds; repeated in the answer, nothing else.",
    "1741064767",
);
static SINCE: Parameter = optional(
    "since",
    "How far back samples go, as a Go duration; 30 minutes without it.",
    "1h30m",
);
static COMPONENT_NAME: Parameter = optional("componentName", "Name of a component.", "cpu");
static TAG_NAME: Parameter = optional("tagName", "A tag of components.", "gpu");
static GONE_NAME: Parameter = Parameter {
    required: true,
    ..optional("componentName", "Name of a plugin's component.", "fan-tray")
};
static SHADOWED: Parameter = Parameter {
    required: true,
    ..optional("componentName", "Name of a plugin's component.", "fan-tray")
};
static HOW_FAR_BACK: Parameter = optional(
    "since",
    "RFC 3339, or how long ago: 2d, 12h, 90m; all that is kept without it.",
    "2d",
);
static LIMIT: Parameter = optional("limit", "Most entries, 1 to 1000; 100 without it.", "50");
static OF_COMPONENTS: Parameter = optional(
    "component",
    "Names of components, separated by commas, also of those that are gone; all without it.",
    "accelerator-nvidia-error-xid,disk",
);
static BEFORE: Parameter = optional(
    "before",
    "Where to go on: `next` of the answer before.",
    "1741064767000-e12",
);
static EVENT_ID: Parameter = Parameter {
    required: true,
    ..optional("id", "The `id` of an event in the history.", "e12")
};
static GROUP: Parameter = Parameter {
    required: true,
    ..optional("tagName", "A tag of components.", "gpu")
};

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

/// The routes that there are, with or without `--pprof`.
pub(super) fn routes(profiling: bool) -> impl Iterator<Item = &'static Route> {
    ROUTES
        .iter()
        .filter(move |route| profiling || !route.profiling)
}

/// The route of a request, if there is one.
pub(super) fn find(method: &Method, path: &str) -> Option<&'static Route> {
    ROUTES
        .iter()
        .find(|route| route.path == path && route.method == method.as_str())
}

/// The path if it is one of the API, else a word for all others: what a stranger asks for does not go into the log.
pub(super) fn known_path(path: &str) -> &'static str {
    ROUTES
        .iter()
        .find(|route| route.path == path)
        .map_or("other", |route| route.path)
}
