//! Groups states by what they concern.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    ComponentInput, Gpus, Since, SubjectView, Trouble, TroubleState, actions,
    components::{self, NVIDIA},
    input::{is_trouble, key},
    meaning::meaning,
    mention,
    predicate::{PLAIN, Predicate, predicate},
};
use crate::{
    model::{
        Event, EventType, Evidence, Health, HealthState, RepairAction, Subject, SuggestedActions,
        UnixMillis,
    },
    wire::MetaTime,
};

/// The component that counts GPUs.
const COUNTS: &str = "accelerator-nvidia-gpu-counts";
/// How reasons begin that say nothing but that NVML does not work.
const NO_NVML: &str = "NVML initialization error: ";
/// How reasons begin that say nothing but that the kernel log cannot be read.
const NO_KERNEL_LOG: &str = "unknown: the kernel log cannot be read";
/// Most characters of a sentence.
const MAX_SENTENCE: usize = 200;

/// A state that is not healthy.
#[derive(Debug, Clone)]
pub(super) struct Item {
    component: String,
    state: HealthState,
    predicate: Option<Predicate>,
    /// When it began, where the state itself says so.
    began: Option<UnixMillis>,
    /// What of its reason is about the subject, where that names several.
    about: Option<String>,
}

impl Item {
    fn new(component: &str, state: HealthState) -> Self {
        Self {
            predicate: predicate(component, &state.reason),
            component: component.to_owned(),
            state,
            began: None,
            about: None,
        }
    }

    fn weight(&self) -> u8 {
        self.predicate.as_ref().map_or(PLAIN, |said| said.weight)
    }
}

/// The states of a component that are not healthy; what a scan found is split by the subjects of its events.
pub(super) fn items(found: ComponentInput) -> Vec<Item> {
    let ComponentInput {
        component,
        states,
        events,
        ..
    } = found;
    let mut items = Vec::new();
    for state in states {
        if !is_trouble(&state.health) {
            continue;
        }
        let split = match state.subject {
            None => by_events(&component, &state, &events),
            Some(_) => Vec::new(),
        };
        match split.is_empty() {
            true => items.push(Item::new(&component, state)),
            false => items.extend(split),
        }
    }
    items
}

/// A state that only counts events, once for each subject of the weightiest of them: the newest says why.
fn by_events(component: &str, state: &HealthState, events: &[Event]) -> Vec<Item> {
    let mut weighty = of_types(events, &[EventType::Fatal, EventType::Critical]);
    if weighty.is_empty() {
        weighty = of_types(events, &[EventType::Warning]);
    }
    let mut newest: Vec<&Event> = Vec::new();
    for event in weighty {
        match newest
            .iter_mut()
            .find(|other| other.subject == event.subject)
        {
            Some(other) if other.time < event.time => *other = event,
            Some(_) => {}
            None => newest.push(event),
        }
    }
    // The state speaks for the event whose words it has; the others speak for themselves.
    let actions = |event: &Event| {
        let (own, of_state) = (actions_of(event), state.suggested_actions.clone());
        match state.reason.contains(&event.message) {
            true => of_state.or(own),
            false => own.or(of_state),
        }
    };
    let of_event = |event: &Event| {
        let state = HealthState {
            reason: event.message.clone(),
            subject: event.subject.clone(),
            evidence: event.evidence.clone(),
            time: Some(event.time),
            extra_info: Vec::new(),
            suggested_actions: actions(event),
            ..state.clone()
        };
        Item {
            began: Some(event.time),
            ..Item::new(component, state)
        }
    };
    newest.into_iter().map(of_event).collect()
}

/// Returns what an Xid or SXid asks for by the catalogue that judges it: `nvidia_verdict`, or the actions in the document
/// under `data`.
fn actions_of(event: &Event) -> Option<SuggestedActions> {
    let fact = |key: &str| {
        let mut facts = event.extra_info.iter();
        let (_, value) = facts.find(|(known, _)| known == key)?;
        Some(value.as_str())
    };
    let repair_actions = if fact("xid_catalog") == Some("nvidia") {
        let (_, action) = fact("nvidia_verdict")?.split_once(", ")?;
        let action = Some(action).filter(|action| *action != "no action");
        action.into_iter().map(RepairAction::from).collect()
    } else {
        let document: serde_json::Value = serde_json::from_str(fact("data")?).ok()?;
        let actions = document.pointer("/suggested_actions_by_gpud/repair_actions")?;
        let words = actions.as_array()?.iter().filter_map(|word| word.as_str());
        words.map(RepairAction::from).collect()
    };
    Some(SuggestedActions {
        description: String::new(),
        repair_actions,
    })
}

/// The events of these types that name a subject.
fn of_types<'e>(events: &'e [Event], wanted: &[EventType]) -> Vec<&'e Event> {
    let fits = |event: &&Event| wanted.contains(&event.event_type) && event.subject.is_some();
    events.iter().filter(fits).collect()
}

/// What is being put together for one subject.
struct TroubleDraft {
    view: SubjectView,
    items: Vec<Item>,
}

/// All troubles, worst first.
pub(super) fn troubles(items: Vec<Item>, mut gpus: Gpus, since: &Since) -> Vec<Trouble> {
    // First everything that names its GPU, so that all names are known when others are looked for in texts; what only
    // NVIDIA's driver can have named may be the GPU that has lost its names.
    let (own, others): (Vec<&Item>, Vec<&Item>) = items
        .iter()
        .partition(|item| item.component.starts_with(NVIDIA));
    for subject in own.iter().filter_map(|item| item.state.subject.as_ref()) {
        gpus.place(subject);
    }
    gpus.join_strangers();
    for subject in others.iter().filter_map(|item| item.state.subject.as_ref()) {
        gpus.place(subject);
    }
    let mut drafts: BTreeMap<String, TroubleDraft> = BTreeMap::new();
    for item in items {
        for ConcernedSubject { id, view, about } in subjects(&item, &mut gpus) {
            let draft = drafts.entry(id).or_insert_with(|| TroubleDraft {
                view,
                items: Vec::new(),
            });
            draft.items.push(Item {
                about,
                ..item.clone()
            });
        }
    }
    join_count_of_gpus(&mut drafts);
    let drafts = drafts.into_iter();
    let mut troubles: Vec<Trouble> = drafts
        .map(|(id, draft)| draft.finish(id, &gpus, since))
        .collect();
    troubles.sort_by_cached_key(|trouble| {
        (
            Reverse(trouble.health.rank()),
            trouble.subject.place(),
            trouble.subject.index,
            trouble.id.clone(),
        )
    });
    troubles
}

/// A subject that a state concerns.
struct ConcernedSubject {
    id: String,
    view: SubjectView,
    about: Option<String>,
}

impl ConcernedSubject {
    fn new((id, view): (String, SubjectView)) -> Self {
        Self {
            id,
            view,
            about: None,
        }
    }

    /// By kind and label, from which the id is made.
    fn labelled(kind: &str, label: &str) -> Self {
        let name = label.trim_start_matches("the ").replace(' ', "-");
        Self::new((format!("{kind}:{name}"), SubjectView::new(kind, label)))
    }
}

/// What a state concerns. Several, if its reason names several GPUs.
fn subjects(item: &Item, gpus: &mut Gpus) -> Vec<ConcernedSubject> {
    let state = &item.state;
    if let Some(subject) = &state.subject {
        if let Some(place) = gpus.place(subject) {
            return vec![ConcernedSubject::new(gpus.view(place))];
        }
        let view = SubjectView::of(subject);
        match subject {
            // Without any name: perhaps the reason has one.
            Subject::Gpu { .. } => {}
            Subject::Node => return vec![ConcernedSubject::new(("node".to_owned(), view))],
            _ => {
                let id = format!("{}:{}", view.kind, view.label);
                return vec![ConcernedSubject::new((id, view))];
            }
        }
    }
    if state.reason.starts_with(NO_NVML) && item.component.starts_with(NVIDIA) {
        return vec![ConcernedSubject::labelled("driver", "NVIDIA's driver")];
    }
    if state.reason.starts_with(NO_KERNEL_LOG) {
        return vec![ConcernedSubject::labelled("kernel", "the kernel log")];
    }
    let named = named(state, gpus);
    if named.len() == gpus.count() && named.len() > 1 {
        let label = format!("all {} GPUs", named.len());
        return vec![ConcernedSubject::labelled("gpus", &label)];
    }
    if !named.is_empty() {
        let several = named.len() > 1;
        let concerned = |place| {
            let about = mention::about(&state.reason, place, gpus);
            ConcernedSubject {
                about: Some(about).filter(|about| several && !about.is_empty()),
                ..ConcernedSubject::new(gpus.view(place))
            }
        };
        return named.into_iter().map(concerned).collect();
    }
    let (kind, label) = components::subject(&item.component);
    vec![match kind {
        "node" => ConcernedSubject::new(("node".to_owned(), SubjectView::node())),
        _ => ConcernedSubject::labelled(kind, label),
    }]
}

/// The GPUs that a state without a subject names: in its reason, else as readings that it was drawn from, else in its
/// error.
fn named(state: &HealthState, gpus: &Gpus) -> BTreeSet<usize> {
    let readings = state.evidence.iter().filter_map(|evidence| match evidence {
        Evidence::Nvml(reading) => Some(reading.as_str()),
        _ => None,
    });
    let readings: BTreeSet<usize> = readings
        .flat_map(|text| mention::gpus(text, gpus))
        .collect();
    let error = || state.error.as_deref().unwrap_or_default();
    let in_reason = mention::gpus(&state.reason, gpus);
    [in_reason, readings]
        .into_iter()
        .find(|found| !found.is_empty())
        .unwrap_or_else(|| mention::gpus(error(), gpus))
}

/// Fewer GPUs than expected are no trouble of their own where one lost GPU is all that is missing.
fn join_count_of_gpus(drafts: &mut BTreeMap<String, TroubleDraft>) {
    let is_lost = |draft: &TroubleDraft| {
        let mut said = draft
            .items
            .iter()
            .filter_map(|item| item.predicate.as_ref());
        draft.view.kind == "gpu" && said.any(Predicate::is_lost)
    };
    let lost: Vec<String> = drafts
        .iter()
        .filter(|(_, draft)| is_lost(draft))
        .map(|(id, _)| id.clone())
        .collect();
    let [lost] = lost.as_slice() else { return };
    let mut counts = Vec::new();
    for draft in drafts.values_mut() {
        counts.extend(draft.items.extract_if(.., |item| {
            item.component == COUNTS && missing(&item.state.reason) == Some(1)
        }));
    }
    drafts.retain(|_, draft| !draft.items.is_empty());
    if let Some(draft) = drafts.get_mut(lost) {
        draft.items.extend(counts);
    }
}

/// How many GPUs a reason of the component that counts them says are missing.
fn missing(reason: &str) -> Option<u64> {
    let (_, counts) = reason.split_once("(found ")?;
    let (found, rest) = counts.split_once(", expected ")?;
    let expected = rest.split(')').next()?;
    let (found, expected): (u64, u64) = (found.parse().ok()?, expected.parse().ok()?);
    expected.checked_sub(found)
}

impl TroubleDraft {
    fn finish(mut self, id: String, gpus: &Gpus, since: &Since) -> Trouble {
        self.items.sort_by(|a, b| {
            let order = |item: &Item| (Reverse(item.state.health.rank()), item.weight());
            (order(a), &a.component).cmp(&(order(b), &b.component))
        });
        let speaker = self.items.first();
        let health = speaker.map_or(Health::Healthy, |item| item.state.health.clone());
        let beginnings = self.items.iter().filter_map(|item| {
            let known = since.states.get(&key(&item.component, &item.state));
            known.copied().or(item.began)
        });
        let since = MetaTime(beginnings.min());
        let (sentence, headline, advice) = speaker
            .map(|item| said(&self.view, item, gpus))
            .unwrap_or_default();
        let (repair_actions, action) = to_do(&self.items, advice);
        let states = self.items.into_iter().map(|item| {
            let reason = item.state.reason.clone();
            let means = gpus.shortened(&meaning(&item.component, &reason));
            TroubleState::new(&item.component, item.state, reason, means)
        });
        Trouble {
            id,
            subject: self.view,
            health,
            since,
            sentence,
            headline,
            action,
            repair_actions,
            states: states.collect(),
        }
    }
}

/// What is wrong, without and with the subject, and the advice that the reason ends with.
fn said(view: &SubjectView, item: &Item, gpus: &Gpus) -> (String, String, String) {
    let label = &view.label;
    if let Some(said) = item.predicate.as_ref().filter(|_| is_one(&view.kind)) {
        let text = short(&said.text);
        return (text.clone(), format!("{label} {text}"), String::new());
    }
    let reason = item.about.as_ref().unwrap_or(&item.state.reason);
    let reason = gpus.shortened(&meaning(&item.component, reason));
    let (reason, advice) = match reason.split_once(". ") {
        Some((reason, advice)) if advice.starts_with(char::is_uppercase) => {
            (reason.to_owned(), advice.trim_end_matches('.').to_owned())
        }
        _ => (reason, String::new()),
    };
    let reason = match reason.as_str() {
        "" => item.state.health.as_str().to_lowercase(),
        reason => short(reason),
    };
    // What begins with its subject needs it only once.
    match reason.strip_prefix(label.as_str()) {
        Some(rest) if rest.starts_with([' ', ':']) => {
            let sentence = rest.trim_start_matches([' ', ':']).to_owned();
            (sentence, reason, advice)
        }
        _ => {
            let headline = format!("{label}: {reason}");
            (reason, headline, advice)
        }
    }
}

/// Whether the kind is one thing, of which a predicate can be said.
fn is_one(kind: &str) -> bool {
    matches!(kind, "gpu" | "nvswitch")
}

/// The words of the API, and one thing to do.
fn to_do(items: &[Item], advice: String) -> (Vec<String>, String) {
    let suggested = || {
        items
            .iter()
            .filter_map(|item| item.state.suggested_actions.as_ref())
    };
    let mut words = Vec::new();
    let mut phrases = Vec::new();
    for action in suggested().flat_map(|suggested| &suggested.repair_actions) {
        let word = action.as_str().to_owned();
        if !words.contains(&word) {
            words.push(word);
            phrases.extend(actions::phrase(action));
        }
    }
    let mut descriptions = suggested().map(|suggested| suggested.description.trim());
    let action = phrases.into_iter().next();
    let action = action.or_else(|| Some(advice).filter(|advice| !advice.is_empty()));
    let action = action.or_else(|| {
        let described = descriptions.find(|text| text.contains(' '))?;
        Some(short(described.trim_end_matches('.')))
    });
    (words, action.unwrap_or_default())
}

/// The text on one line, cut at a word where it is long.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MAX_SENTENCE {
        return line;
    }
    let cut: String = line.chars().take(MAX_SENTENCE).collect();
    let whole = cut
        .rsplit_once(' ')
        .map_or(cut.as_str(), |(whole, _)| whole);
    format!("{} …", whole.trim_end_matches([',', ';', ':']))
}
