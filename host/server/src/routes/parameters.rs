//! The parameters of queries.

use super::Parameter;

const fn optional(name: &'static str, what: &'static str, example: &'static str) -> Parameter {
    Parameter {
        name,
        what,
        required: false,
        example,
    }
}

pub(super) static COMPONENTS: Parameter = optional(
    "components",
    "Names of components, separated by commas; all of them without it.",
    "cpu,disk",
);
pub(super) static START_TIME: Parameter = optional(
    "startTime",
    "Unix seconds; what is later is shown. Now without it, so that nothing is.",
    "1741064767",
);
pub(super) static END_TIME: Parameter = optional(
    "endTime",
    "Unix seconds; repeated in the answer, nothing else.",
    "1741064767",
);
pub(super) static SINCE: Parameter = optional(
    "since",
    "How far back samples go, as a Go duration; 30 minutes without it.",
    "1h30m",
);
pub(super) static COMPONENT_NAME: Parameter =
    optional("componentName", "Name of a component.", "cpu");
pub(super) static TAG_NAME: Parameter = optional("tagName", "A tag of components.", "gpu");
pub(super) static GONE_NAME: Parameter = Parameter {
    required: true,
    ..optional("componentName", "Name of a plugin's component.", "fan-tray")
};
pub(super) static SHADOWED: Parameter = Parameter {
    required: true,
    ..optional("componentName", "Name of a plugin's component.", "fan-tray")
};
pub(super) static HOW_FAR_BACK: Parameter = optional(
    "since",
    "RFC 3339, or how long ago: 2d, 12h, 90m; all that is kept without it.",
    "2d",
);
pub(super) static LIMIT: Parameter =
    optional("limit", "Most entries, 1 to 1000; 100 without it.", "50");
pub(super) static OF_COMPONENTS: Parameter = optional(
    "component",
    "Names of components, separated by commas, also of those that are gone; all without it.",
    "accelerator-nvidia-error-xid,disk",
);
pub(super) static BEFORE: Parameter = optional(
    "before",
    "Where to go on: `next` of the answer before.",
    "1741064767000-e12",
);
pub(super) static EVENT_ID: Parameter = Parameter {
    required: true,
    ..optional("id", "The `id` of an event in the history.", "e12")
};
pub(super) static GROUP: Parameter = Parameter {
    required: true,
    ..optional("tagName", "A tag of components.", "gpu")
};
