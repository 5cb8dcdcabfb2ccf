//! The instances that become one, and what their modules name.

use std::collections::{HashMap, HashSet};

use crate::component::Component;
use crate::error::Error;
use crate::module::Module;
use crate::space::{Kind, Origin};
use crate::value::{Value, evaluate};

/// The instances that become one.
pub(crate) struct Members<'c, 'a> {
    pub(crate) component: &'c Component<'a>,
    numbers: Vec<u32>,
    set: HashSet<u32>,
    pub(crate) values: &'c HashMap<Origin, Value>,
}

impl<'c, 'a> Members<'c, 'a> {
    pub(crate) fn new(
        component: &'c Component<'a>,
        numbers: &[u32],
        values: &'c HashMap<Origin, Value>,
    ) -> Self {
        Self {
            component,
            numbers: numbers.to_vec(),
            set: numbers.iter().copied().collect(),
            values,
        }
    }

    /// The core instances, in the order in which they are instantiated.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.numbers.iter().copied()
    }

    pub(crate) fn contains(&self, instance: u32) -> bool {
        self.set.contains(&instance)
    }

    /// Whether a member defines this.
    pub(crate) fn define(&self, origin: Origin) -> bool {
        matches!(origin, Origin::Instance { instance, .. } if self.contains(instance))
    }

    pub(crate) fn module(&self, instance: u32) -> Result<&'c Module<'a>, Error> {
        let real = self.component.expect_real(instance)?;
        Ok(&self.component.module(real.module)?.parsed)
    }

    /// The origin of what a member's module knows by this index.
    pub(crate) fn origin(&self, instance: u32, kind: Kind, index: u32) -> Result<Origin, Error> {
        Ok(self
            .component
            .expect_real(instance)?
            .origin(instance, kind, index))
    }

    /// The value of a constant expression in a member's module, if it is known.
    pub(crate) fn evaluate(
        &self,
        instance: u32,
        expression: &wasmparser::ConstExpr<'_>,
    ) -> Option<Value> {
        let real = self.component.real(instance)?;
        evaluate(expression, |global| {
            self.values
                .get(&real.origin(instance, Kind::Global, global))
                .copied()
        })
    }

    /// Everything of one kind that members define, with the member.
    pub(crate) fn defined(&self, kind: Kind) -> Result<Vec<(u32, Origin)>, Error> {
        let mut all = Vec::new();
        for instance in self.numbers() {
            let module = self.module(instance)?;
            let first = module.imported(kind);
            for number in 0..module.defined(kind) {
                all.push((
                    instance,
                    Origin::Instance {
                        instance,
                        kind,
                        index: first + number,
                    },
                ));
            }
        }
        Ok(all)
    }
}
