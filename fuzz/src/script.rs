//! The pure part of gpud's module of the same name: what reads the output of scripts, without what runs them.

#[path = "../../host/src/script/json/mod.rs"]
pub mod json;
#[path = "../../host/src/script/jsonpath.rs"]
pub mod jsonpath;
#[path = "../../host/src/script/judge/mod.rs"]
pub mod judge;
#[path = "../../host/src/script/pattern/mod.rs"]
pub mod pattern;
#[path = "../../host/src/script/query/mod.rs"]
pub mod query;
#[path = "../../host/src/script/text.rs"]
pub mod text;
