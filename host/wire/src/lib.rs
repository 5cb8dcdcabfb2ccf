//! The documents of the HTTP API: what a client of gpud sends and receives, and how Go would spell it.
//!
//! gpud answers byte for byte like the Go daemon whose clients it serves, so the spelling rules of Go's `encoding/json`
//! and of its YAML conversion live here, beside the types. Nothing here touches a socket or the machine.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make their own machines")
)]

use gpud_model as model;

mod duration;
mod encode;
mod event;
mod fault;
mod float;
mod health;
mod machine;
mod metric;
mod plugin;
mod quote;
mod reply;
mod shadow;
mod since;
pub mod text;
mod time;
mod yaml;
mod yaml_scalar;

pub use duration::{GoDuration, ParseDurationError};
pub use encode::{EncodeError, Form, Render, to_json, to_json_indented, to_yaml};
pub use event::{ComponentEvents, Event};
pub use fault::{DecodeFaultError, FaultRequest, KernelMessage};
pub use health::{ComponentHealthStates, HealthState, Origin, SuggestedActions};
pub use machine::{
    BlockDevice, CpuInfo, DiskInfo, GpuInfo, GpuInstance, MachineInfo, MemoryInfo, NicInfo,
    PrivateIpInterface,
};
pub use metric::{ComponentInfo, ComponentMetrics, Info, Metric};
pub use plugin::{
    ActionRules, HealthStatePlugin, JsonPath, LimitOverrides, MatchRule, OutputParser, PluginSpec,
    QueryLanguage, RolledBack, RunBashScript, RunningVersion, ShadowSpec, Step, WasmSpec,
};
pub use quote::go_quote;
pub use reply::{
    ComponentDetail, Deregistered, Healthz, Message, NumericError, Registered, SetHealthyReply,
    TagTriggered, TextError, TypedError,
};
pub use shadow::{CallCost, Comparison, Difference, Differing, ShadowView};
pub use since::{ParseSinceError, parse_since};
pub use time::{GoTime, MetaTime};

/// True for `None` and for a list, map or text that Go's `omitempty` leaves out.
fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
