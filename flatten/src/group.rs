//! Which core instances become one.
//!
//! The merged instance comes into being at one place: where the last of its members did. What the members need must
//! exist before; what needs a member, but came before the last one, has to wait until after. So an instance can be a
//! member only if nothing that has to wait is among what it needs: a function that is lowered with a member's memory,
//! say. And waiting, like coming earlier, must not show: instances run their start functions and write their segments
//! when they are made, so two instances change places only if neither sees what the other does.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use wasmparser::CanonicalFunction;

use crate::component::{Component, Item, Real, What};
use crate::error::Error;
use crate::module::Module;
use crate::space::{Kind, Origin, index};

/// The instances to merge, and what happens to the others.
#[derive(Debug)]
pub(crate) struct Group {
    /// The core instances to merge, in the order in which they are instantiated.
    pub(crate) members: Vec<u32>,
    /// The item with which the last member is instantiated.
    pub(crate) last: usize,
    /// Items before `last` that need a member.
    pub(crate) waiting: HashSet<usize>,
    /// The instances of modules that stay by themselves.
    pub(crate) left_out: Vec<LeftOut>,
}

/// A core instance that was not merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Index of the core instance in the component that was given.
    pub instance: u32,
    /// Index of its module in the component that was given.
    pub module: u32,
    /// Why it stays by itself.
    pub reason: Reason,
}

/// Why a core instance was not merged with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It is instantiated before the first member of the group.
    Before,
    /// It needs something that in turn needs a member, as a function that is lowered with a member's memory.
    NeedsWhatNeedsTheGroup,
    /// A function is lifted, or a resource is defined, with a member before this instance is made.
    AfterUse,
    /// The merged module would have two tables, where pooling runtimes give a module one.
    SecondTable,
    /// The merged module would have two memories, where pooling runtimes give a module one.
    SecondMemory,
    /// Its types are more than functions.
    Types,
    /// What it does when it is instantiated, or what the start function of a member does, could be told apart.
    Order,
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Before => "it is instantiated before the first member of the group",
            Self::NeedsWhatNeedsTheGroup => {
                "it needs something that itself needs the merged instance"
            }
            Self::AfterUse => "the component uses the merged instance before this one is made",
            Self::SecondTable => "a module with two tables would result",
            Self::SecondMemory => "a module with two memories would result",
            Self::Types => "it has types other than functions",
            Self::Order => "the order of start functions and segments would change",
        })
    }
}

/// How many groups are tried at most. Real components need a handful; made-up ones shall not take forever.
const TRIES: u32 = 1000;

/// What comes when, for everything up to the last member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    Member,
    After,
}

/// Finds the best group, and of several the first. `None` if no two instances can become one.
pub(crate) fn choose(component: &Component<'_>) -> Result<Option<Group>, Error> {
    let effects = effects(component)?;
    // One member may define the table; which one makes all the difference where a shim with a table comes early.
    let mut owners = vec![None];
    for instance in effects.keys() {
        let module = &component
            .module_of(component.expect_real(*instance)?)?
            .parsed;
        if module.defined(Kind::Table) == 1 {
            owners.push(Some(*instance));
        }
    }
    owners.sort_unstable();
    let mut left = i64::from(index(effects.len()));
    let mut best: Option<(i64, Group)> = None;
    let mut tries = 0;
    for (first, item) in component.items.iter().enumerate() {
        let What::Instance(instance) = item.what else {
            continue;
        };
        if !effects.contains_key(&instance) {
            continue;
        }
        for owner in &owners {
            // No later start can give a better group.
            if best.as_ref().is_some_and(|(score, _)| *score >= left) {
                return Ok(best.map(|(_, group)| group));
            }
            tries += 1;
            if tries > TRIES {
                return Ok(best.map(|(_, group)| group));
            }
            let group = grow(component, &effects, first, *owner)?;
            let score = score(&group, &effects);
            if group.members.len() >= 2 && best.as_ref().is_none_or(|(best, _)| score > *best) {
                best = Some((score, group));
            }
        }
        left -= 1;
    }
    Ok(best.map(|(_, group)| group))
}

/// How good a group is: the more members the better; but segments that go to the table or memory of an instance outside
/// are written anew for each instance, where a runtime can prepare a module's own.
fn score(group: &Group, effects: &BTreeMap<u32, Effects>) -> i64 {
    let written = group
        .members
        .iter()
        .filter_map(|member| effects.get(member))
        .flat_map(|it| &it.writes);
    let outside: HashSet<&Origin> = written
        .filter(|origin| !matches!(origin, Origin::Instance { instance, .. } if group.members.contains(instance)))
        .collect();
    i64::from(index(group.members.len())) - 2 * i64::from(index(outside.len()))
}

/// Takes instances into a group in their order, beginning at one item, whenever that is possible.
fn grow(
    component: &Component<'_>,
    effects: &BTreeMap<u32, Effects>,
    first: usize,
    owner: Option<u32>,
) -> Result<Group, Error> {
    let mut growing = Growing {
        component,
        effects,
        owner,
        instances: HashMap::new(),
        canons: HashMap::new(),
        waiting: Vec::new(),
        used: false,
        memories: 0,
        group: Group {
            members: Vec::new(),
            last: first,
            waiting: HashSet::new(),
            left_out: Vec::new(),
        },
    };
    for (number, item) in component.items.iter().enumerate() {
        growing.step(number, item, number < first)?;
    }
    let Growing { mut group, .. } = growing;
    group.waiting.retain(|item| *item < group.last);
    Ok(group)
}

struct Growing<'c, 'a> {
    component: &'c Component<'a>,
    effects: &'c BTreeMap<u32, Effects>,
    /// The member that may define a table.
    owner: Option<u32>,
    instances: HashMap<u32, Place>,
    canons: HashMap<usize, Place>,
    /// Whether the component level uses a member already: its items keep their order, so no member can come later.
    used: bool,
    /// Instances that have to wait.
    waiting: Vec<u32>,
    memories: u32,
    group: Group,
}

impl Growing<'_, '_> {
    fn step(&mut self, number: usize, item: &Item<'_>, before: bool) -> Result<(), Error> {
        match &item.what {
            What::Instance(instance) => {
                let Some(real) = self.component.real(*instance) else {
                    return Ok(());
                };
                let module = &self.component.module_of(real)?.parsed;
                let (place, reason) = if before {
                    (Place::Before, Some(Reason::Before))
                } else {
                    self.place(*instance, module, &item.needs)
                };
                self.instances.insert(*instance, place);
                match place {
                    Place::Before => {}
                    Place::After => {
                        self.waiting.push(*instance);
                        self.group.waiting.insert(number);
                    }
                    Place::Member => {
                        self.memories += module.defined(Kind::Memory);
                        self.group.members.push(*instance);
                        self.group.last = number;
                    }
                }
                if let Some(reason) = reason {
                    self.group.left_out.push(LeftOut {
                        instance: *instance,
                        module: real.module,
                        reason,
                    });
                }
            }
            What::Canon(canon) => {
                let waits = self.waits(&item.needs);
                self.canons
                    .insert(number, if waits { Place::After } else { Place::Before });
                if waits && matches!(canon, CanonicalFunction::Lift { .. }) {
                    self.used = true;
                } else if waits {
                    self.group.waiting.insert(number);
                }
            }
            What::Type(_) => self.used |= self.waits(&item.needs),
            What::Module(_) | What::Alias(_) | What::Names(..) | What::Section { .. } => {}
        }
        Ok(())
    }

    /// Where an instance belongs, and why it is no member.
    fn place(
        &self,
        instance: u32,
        module: &Module<'_>,
        needs: &[Origin],
    ) -> (Place, Option<Reason>) {
        if needs
            .iter()
            .any(|need| self.place_of(*need) == Place::After)
        {
            return (Place::After, Some(Reason::NeedsWhatNeedsTheGroup));
        }
        let Some(reason) = self.refuse(instance, module) else {
            return (Place::Member, None);
        };
        // By itself, then. It may come before the group, where later members can still use it, if it can do without
        // the members and changes places unseen with them and with what waits.
        let mut passed = self.group.members.iter().chain(&self.waiting);
        let free = !self.waits(needs) && passed.all(|other| self.commute(*other, instance));
        (
            if free { Place::Before } else { Place::After },
            Some(reason),
        )
    }

    fn refuse(&self, instance: u32, module: &Module<'_>) -> Option<Reason> {
        let effects = self.effects.get(&instance)?;
        // In the merged module all segments are written first, then the start functions are called in order.
        let started = self
            .group
            .members
            .iter()
            .any(|member| self.effects.get(member).is_some_and(|it| it.starts));
        if self.used {
            Some(Reason::AfterUse)
        } else if !module.has_plain_types() {
            Some(Reason::Types)
        } else if module.defined(Kind::Table) > u32::from(self.owner == Some(instance)) {
            Some(Reason::SecondTable)
        } else if self.memories + module.defined(Kind::Memory) > 1 {
            Some(Reason::SecondMemory)
        } else if (started && effects.segments)
            || !self
                .waiting
                .iter()
                .all(|other| self.commute(*other, instance))
        {
            Some(Reason::Order)
        } else {
            None
        }
    }

    fn place_of(&self, origin: Origin) -> Place {
        match origin {
            Origin::Instance { instance, .. } => self.instances.get(&instance),
            Origin::Canon { item } => self.canons.get(&item),
        }
        .copied()
        .unwrap_or(Place::Before)
    }

    /// Whether something with these needs has to wait for the merged instance.
    fn waits(&self, needs: &[Origin]) -> bool {
        needs
            .iter()
            .any(|need| self.place_of(*need) != Place::Before)
    }

    fn commute(&self, one: u32, other: u32) -> bool {
        match (self.effects.get(&one), self.effects.get(&other)) {
            (Some(one), Some(other)) => one.commutes(other),
            _ => true,
        }
    }
}

/// What happens when an instance is made.
struct Effects {
    starts: bool,
    /// Whether it writes any segment, be it to its own memory.
    segments: bool,
    /// The tables and memories of others into which it writes.
    writes: HashSet<Origin>,
}

impl Effects {
    fn commutes(&self, other: &Self) -> bool {
        let silent = |it: &Self| !it.starts && it.writes.is_empty();
        (!self.starts || silent(other))
            && (!other.starts || silent(self))
            && self.writes.is_disjoint(&other.writes)
    }
}

fn effects(component: &Component<'_>) -> Result<BTreeMap<u32, Effects>, Error> {
    let mut effects = BTreeMap::new();
    for item in &component.items {
        let What::Instance(instance) = item.what else {
            continue;
        };
        let Some(real) = component.real(instance) else {
            continue;
        };
        let module = &component.module_of(real)?.parsed;
        effects.insert(instance, effects_of(instance, real, module));
    }
    Ok(effects)
}

fn effects_of(number: u32, real: &Real<'_>, module: &Module<'_>) -> Effects {
    let writes = module
        .writes()
        .map(|(kind, index)| real.origin(number, kind, index))
        .filter(
            |origin| !matches!(origin, Origin::Instance { instance, .. } if *instance == number),
        )
        .collect();
    Effects {
        starts: module.start.is_some(),
        segments: module.writes().next().is_some(),
        writes,
    }
}
