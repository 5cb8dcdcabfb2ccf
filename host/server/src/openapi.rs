//! The OpenAPI document, made from the table of routes.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::routes::{Answer, Forms, Parameter, Permission, Route, routes};
/// Of gpud.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The schemas of answers and bodies. A test validates every golden document against them.
const SCHEMAS: &str = include_str!("openapi_schemas.json");

/// The answers that any route can give.
static ANYWHERE: [Answer; 5] = [
    Answer {
        status: 401,
        what: "The route asks for a bearer token.",
        schema: "TypedError",
    },
    Answer {
        status: 403,
        what: "The client may not ask for this, or a browser asks for another web site or by a foreign name.",
        schema: "TypedError",
    },
    Answer {
        status: 413,
        what: "The request's body is larger than 1 MiB.",
        schema: "TypedError",
    },
    Answer {
        status: 500,
        what: "The daemon failed.",
        schema: "NumericError",
    },
    Answer {
        status: 503,
        what: "Too many requests are under way.",
        schema: "TypedError",
    },
];

/// The whole document.
pub(super) fn document(profiling: bool) -> Value {
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in routes(profiling) {
        paths
            .entry(route.path)
            .or_default()
            .insert(route.method.to_ascii_lowercase(), operation(route));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "gpud",
            "version": VERSION,
            "description": "Health of a GPU machine. JSON or YAML is chosen by the request's Content-Type, also on GET.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

/// The schemas by name.
fn schemas() -> Value {
    // It is part of the program, and a test reads it.
    serde_json::from_str(SCHEMAS).unwrap_or_default()
}

/// Every answer of a route, also those that any route can give.
pub(super) fn answers(route: &Route) -> impl Iterator<Item = &'static Answer> {
    let own = route.answers;
    let common = ANYWHERE
        .iter()
        .filter(move |common| own.iter().all(|answer| answer.status != common.status))
        .filter(move |common| common.status != 401 || route.permission != Permission::Alive);
    own.iter().chain(common)
}

fn operation(route: &Route) -> Value {
    let answers: Map<String, Value> = answers(route)
        .map(|answer| (answer.status.to_string(), described(route, answer)))
        .collect();
    let mut operation = json!({
        "summary": route.what,
        "operationId": name(route),
        "parameters": route.parameters.iter().map(|p| parameter(p)).collect::<Vec<_>>(),
        "responses": answers,
        "security": match route.permission {
            Permission::Alive => json!([{}]),
            _ => json!([{}, {"token": []}]),
        },
    });
    if let (Some((content_type, schema)), Some(fields)) = (route.body, operation.as_object_mut()) {
        let body = json!({
            "required": true,
            "content": {(content_type): {"schema": reference(schema)}},
        });
        fields.insert("requestBody".to_owned(), body);
    }
    operation
}

/// `get /v1/states` as `getV1States`.
fn name(route: &Route) -> String {
    let words = route.path.split(|c: char| !c.is_ascii_alphanumeric());
    words.fold(route.method.to_ascii_lowercase(), |mut name, word| {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name + letters.as_str()
    })
}

fn parameter(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "in": "query",
        "description": parameter.what,
        "required": parameter.required,
        "schema": {"type": "string"},
        "example": parameter.example,
    })
}

fn described(route: &Route, answer: &Answer) -> Value {
    if answer.schema.is_empty() && answer.status != 200 {
        return json!({"description": answer.what});
    }
    let as_json = json!({"schema": reference(answer.schema)});
    let content = match (route.forms, answer.status) {
        (Forms::Other(content_type), 200) => {
            json!({(content_type): {"schema": {"type": "string"}}})
        }
        (Forms::Strict | Forms::Lenient, 200) => json!({
            "application/json; charset=utf-8": as_json,
            "text/plain; charset=utf-8": {"schema": {"type": "string"}},
        }),
        _ => json!({"application/json; charset=utf-8": as_json}),
    };
    json!({"description": answer.what, "content": content})
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}
