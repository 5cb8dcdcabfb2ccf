//! What answers in place of programs and services, as a file of cases writes it.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::node::simulated::{Canned, CannedHttp, CannedPage, CannedProgram};

/// What services answer, by service and path.
pub(crate) type Pages = BTreeMap<String, BTreeMap<String, Page>>;

/// What one program prints.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Program {
    program: String,
    arguments: Option<Vec<String>>,
    #[serde(default)]
    stdout: String,
    #[serde(default)]
    stderr: String,
    #[serde(default)]
    exit_code: i32,
    /// Whether the program is not there any more.
    #[serde(default)]
    missing: bool,
}

/// What one page answers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    #[serde(default = "ok")]
    status: u16,
    #[serde(default)]
    body: String,
}

fn ok() -> u16 {
    200
}

/// Changes what answers: each of these comes before what was there.
pub(crate) fn change(
    canned: &mut Canned,
    programs: &[Program],
    http: &Pages,
    tcp: Option<&Vec<String>>,
) {
    for gone in programs.iter().filter(|program| program.missing) {
        canned.remove_program(&gone.program);
    }
    let there = programs.iter().filter(|program| !program.missing);
    let programs = there.map(|program| CannedProgram {
        program: program.program.clone(),
        arguments: program.arguments.clone(),
        stdout: program.stdout.clone(),
        stderr: program.stderr.clone(),
        exit_code: program.exit_code,
    });
    let page = |page: &Page| CannedPage {
        status: page.status,
        body: page.body.clone(),
    };
    let http: CannedHttp = http
        .iter()
        .map(|(service, pages)| {
            let pages = pages.iter().map(|(path, one)| (path.clone(), page(one)));
            (service.clone(), pages.collect())
        })
        .collect();
    canned.take(programs.collect(), http, tcp.cloned());
}

#[cfg(test)]
mod tests {
    use super::{super::document::CaseFile, *};

    #[test]
    fn a_step_changes_programs_services_and_endpoints() {
        let file = CaseFile::parse(
            "cases:\n- name: a\n  tcp: ['a:1']\n  programs: [{program: p, arguments: [x], stdout: one}, {program: q}]\n  \
             http: {'loopback:1': {/a: {body: a}, /b: {body: b}}}\n  steps:\n  - expect: {}\n  - programs: [{program: p, \
             arguments: [x], stdout: two}, {program: q, missing: true}]\n    http: {'loopback:1': {/a: {status: 503}}}\n    \
             tcp: []\n    expect: {}\n",
        )
        .unwrap();
        let steps = file.cases[0].steps();
        let mut canned = file.cases[0].canned();
        steps[0].change(&mut canned);
        let run = |canned: &Canned| canned.run("p", &["x".to_owned()]).unwrap().stdout;
        assert_eq!(run(&canned), b"one");
        assert!(canned.run("q", &[]).is_ok() && canned.connect("a:1").is_ok());
        steps[1].change(&mut canned);
        assert_eq!(run(&canned), b"two");
        assert!(canned.run("q", &[]).is_err() && canned.connect("a:1").is_err());
        assert_eq!(canned.get("loopback:1", "/a", 9).unwrap().status, 503);
        assert_eq!(canned.get("loopback:1", "/b", 9).unwrap().body, b"b");
    }
}
