//! Checks the components, one after another.

use std::io::{self, Write as _};

use tokio::time::Instant;

use super::{ScanOptions, progress::Progress};
use crate::{
    cli::{
        exit::Exit, output, settings::component_config, site_configs::SiteConfigs,
        terminal::Terminal,
    },
    component::{Component, Services, builtin},
    daemon,
    runtime::Runtime,
    summary::ComponentInput,
    wire::{ComponentHealthStates, HealthState, Origin},
};

/// A scan under way.
pub struct Scan<'a> {
    /// How to scan.
    pub options: &'a ScanOptions,
    /// The configuration of the site.
    pub site: SiteConfigs,
    /// Where components run.
    pub runtime: Runtime,
    /// Their grants.
    pub services: Services,
    /// Standard output.
    pub terminal: Terminal,
}

/// The components' findings.
#[derive(Default)]
pub struct Findings {
    /// The inputs of the summary.
    pub found: Vec<ComponentInput>,
    /// Of components that this machine supports.
    pub scanned: Vec<ComponentHealthStates>,
    /// Components for which there was no time.
    pub left_out: Vec<&'static str>,
}

impl Scan<'_> {
    /// GPUd's layout is printed while components are checked.
    fn is_classic(&self) -> bool {
        self.options.classic && !self.options.json
    }

    /// Prints text of GPUd's layout, where that was asked for.
    pub fn print(&self, text: String) -> io::Result<()> {
        match self.is_classic() {
            true => io::stdout().write_all(text.as_bytes()),
            false => Ok(()),
        }
    }

    /// Looks at all components that were chosen, one after another.
    ///
    /// # Errors
    /// The output cannot be written.
    pub async fn look_at_all(&self, deadline: Instant, stderr: Terminal) -> Result<Findings, Exit> {
        let mut findings = Findings::default();
        let components = &self.options.components;
        let builtins = builtin::all().into_iter();
        let wanted = builtins.filter(|builtin| components.includes(builtin.component));
        let wanted: Vec<_> = wanted.collect();
        let mut progress = Progress::new(stderr, wanted.len());
        for builtin in wanted {
            let name = builtin.component;
            progress.next(name);
            let component = Component::loading(name);
            let config = component_config(name, &self.options.checks, &self.site);
            let look = async {
                daemon::load(&self.runtime, &builtin, &component, &config).await;
                component.look(&self.services).await
            };
            let Ok(report) = tokio::time::timeout_at(deadline, look).await else {
                findings.left_out.push(name);
                continue;
            };
            if report.supported {
                let wire = |state| HealthState::from_model(name, &Origin::default(), state);
                let states: Vec<HealthState> = report.states.iter().cloned().map(wire).collect();
                if self.is_classic() {
                    progress.clear();
                }
                self.print(output::component(self.terminal, name, &states))?;
                findings.scanned.push(ComponentHealthStates {
                    component: name.to_owned(),
                    states: Some(states),
                });
            }
            findings.found.push(ComponentInput {
                component: name.to_owned(),
                supported: report.supported,
                states: report.states,
                events: report.events,
            });
        }
        Ok(findings)
    }
}
