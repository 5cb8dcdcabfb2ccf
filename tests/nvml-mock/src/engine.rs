//! Decides what a call does: counts it, looks for faults, keeps the machine's present state. No clock and no files here.

use std::collections::HashMap;
use std::sync::Arc;

use crate::code::Code;
use crate::scenario::Scenario;
use crate::scenario::fault::Key;
use crate::scenario::node::Node;
use crate::scenario::product::Product;

/// A scenario at work.
#[derive(Debug)]
pub struct Engine {
    scenario: Scenario,
    product: &'static Product,
    /// For each fault, how many calls it was about.
    seen: Vec<u64>,
    /// For each call by name.
    counts: HashMap<&'static str, u64>,
    /// The steps that were in force when `node` was made.
    active: Vec<bool>,
    node: Arc<Node>,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Answers from this.
    Go(Arc<Node>),
    /// Gives back a code.
    Fail(Code),
    /// Waits, then asks again with [`Engine::still_hangs`].
    Hang(Hang),
}

/// A call that hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hang {
    fault: usize,
    /// When it comes back; `None`: when the fault is over.
    until_ms: Option<u64>,
}

impl Engine {
    /// Starts a scenario that was checked; `None` where its product is not there.
    #[must_use]
    pub fn new(scenario: Scenario) -> Option<Engine> {
        let product = Product::find(&scenario.product.value)?;
        let active = vec![false; scenario.timeline.len()];
        let node = Arc::new(Node::build(&scenario, product, &active, 0));
        Some(Engine {
            seen: vec![0; scenario.faults.len()],
            counts: HashMap::new(),
            active,
            node,
            scenario,
            product,
        })
    }

    /// The scenario.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The machine now.
    pub fn node(&mut self, now_ms: u64) -> Arc<Node> {
        let count = |fits: &dyn Fn(&str) -> bool| {
            self.counts
                .iter()
                .filter(|(name, _)| fits(name))
                .map(|(_, n)| *n)
                .sum()
        };
        let active: Vec<bool> = self
            .scenario
            .timeline
            .iter()
            .map(|step| step.value.in_force(now_ms, count))
            .collect();
        if active != self.active {
            self.node = Arc::new(Node::build(&self.scenario, self.product, &active, now_ms));
            self.active = active;
        }
        Arc::clone(&self.node)
    }

    /// A call comes in. The machine it sees is that of before the call, so a step "after one call" is seen by the next.
    pub fn decide(&mut self, key: Key, now_ms: u64) -> Decision {
        let node = self.node(now_ms);
        *self.counts.entry(key.name).or_default() += 1;
        if self
            .scenario
            .missing_symbols
            .iter()
            .any(|name| name.value == key.name)
        {
            return Decision::Fail(Code::FUNCTION_NOT_FOUND);
        }
        let mut found = None;
        for (at, (fault, seen)) in self.scenario.faults.iter().zip(&mut self.seen).enumerate() {
            let fault = &fault.value;
            if fault.is_about(key) {
                *seen += 1;
                if found.is_none() && fault.in_force(now_ms, *seen) {
                    found = Some((at, fault));
                }
            }
        }
        match found {
            None => Decision::Go(node),
            Some((fault, of)) if of.hang.is_some() => Decision::Hang(Hang {
                fault,
                until_ms: of.until_ms,
            }),
            Some((fault, of)) => match (of.hang_ms, of.error) {
                (Some(ms), _) => Decision::Hang(Hang {
                    fault,
                    until_ms: Some(now_ms.saturating_add(ms)),
                }),
                (None, Some(code)) => Decision::Fail(code),
                (None, None) => Decision::Go(node),
            },
        }
    }

    /// A call that hung asks whether it may go on.
    pub fn still_hangs(&mut self, hang: Hang, now_ms: u64) -> Decision {
        if hang.until_ms.is_none_or(|until| now_ms < until) {
            return Decision::Hang(hang);
        }
        match self
            .scenario
            .faults
            .get(hang.fault)
            .and_then(|fault| fault.value.error)
        {
            Some(code) => Decision::Fail(code),
            None => Decision::Go(self.node(now_ms)),
        }
    }
}

#[cfg(test)]
mod tests;
