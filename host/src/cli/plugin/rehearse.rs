//! The rehearsal of a component that was just built: its cases are run to see which pages of its memory a check writes to,
//! and the component is made to write to these first, when an instance of it begins.
//!
//! Only for components whose memory is given back to the kernel after each call (Go's, Python's). It compiles the component
//! once, quickly, in a temporary folder (some two seconds for Go, six for Python), and runs the first steps of at most
//! [`MOST_CASES`] cases.

use std::{path::Path, sync::Arc, time::Duration};

use super::{
    cases::Cases,
    component_file::{ComponentFile, runtime_in},
};
use crate::{
    node::Node,
    runtime::{Rehearsal, Runtime, is_given_back},
};

/// Cases beyond these say nothing new of what a check writes to.
const MOST_CASES: usize = 32;
/// Longest rehearsal.
const DEADLINE: Duration = Duration::from_secs(180);

/// A component that writes first to the pages that it will need.
pub struct Rehearsed {
    /// It.
    pub component: Vec<u8>,
    /// How many pages these are.
    pub pages: usize,
}

/// Rehearses a component, with the cases of its project. `None` where nothing would be gained.
///
/// # Errors
/// In words: why it stays as it is.
pub async fn rehearsed(
    component: &ComponentFile,
    cases: Option<&Path>,
) -> Result<Option<Rehearsed>, String> {
    if !is_given_back(&component.bytes) {
        return Ok(None);
    }
    let memory = gpud_flatten::start_memory(&component.bytes).map_err(|error| error.to_string())?;
    let cases = cases.ok_or("the project has no cases")?;
    let cases = Cases::about(cases, component.clone()).await?;
    let rehearsal = Arc::new(Rehearsal::of(memory)?);
    let code = tempfile::tempdir().map_err(|error| error.to_string())?;
    let start = |node: Arc<Node>| -> Result<Runtime, String> {
        let runtime = runtime_in(code.path(), node)?;
        runtime.rehearse(Arc::clone(&rehearsal));
        Ok(runtime)
    };
    let running = cases.first_steps(MOST_CASES, start);
    let ran = tokio::time::timeout(DEADLINE, running)
        .await
        .map_err(|_| format!("its cases took longer than {} s", DEADLINE.as_secs()))?;
    let pages = match (rehearsal.pages(), ran) {
        (Ok(pages), _) => pages,
        (Err(_), Err(problem)) | (Err(problem), Ok(())) => return Err(problem),
    };
    let touched = gpud_flatten::touch_first(&component.bytes, &pages);
    let touched = touched.map_err(|error| error.to_string())?;
    Ok(touched.map(|component| Rehearsed {
        component,
        pages: pages.len(),
    }))
}
