//! Puts the model onto a screen.

use ratatui::{
    Frame,
    layout::{Constraint, Layout},
    style::{Color, Modifier, Style},
    text::{Line, Span},
    widgets::Paragraph,
};

use super::{
    lines::{Tone, lines},
    model::{Model, Pane},
};
use crate::cli::{ages, terminal::printable};

/// The age from which on an answer is marked as old, milliseconds.
const OLD: u64 = 10_000;

/// Draws everything, and limits scrolling to the lines of the pane.
pub(super) fn draw(frame: &mut Frame<'_>, model: &mut Model) {
    let rows = [
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ];
    let [head, machine, tabs, body, foot] = Layout::vertical(rows).areas(frame.area());
    frame.render_widget(Paragraph::new(verdict(model)), head);
    frame.render_widget(Paragraph::new(about(model)), machine);
    frame.render_widget(Paragraph::new(titles(model)), tabs);
    let content = lines(model, body.width.into());
    let height = usize::from(body.height);
    model.scroll = model.scroll.min(content.len().saturating_sub(height));
    let shown = content.into_iter().skip(model.scroll).take(height);
    let shown: Vec<Line<'_>> = shown
        .map(|line| Line::styled(line.text, style(line.tone, model.color)))
        .collect();
    frame.render_widget(Paragraph::new(shown), body);
    frame.render_widget(Paragraph::new(keys(model)), foot);
}

fn style(tone: Tone, color: bool) -> Style {
    let style = Style::default();
    match tone {
        Tone::Plain => style,
        Tone::Strong => style.add_modifier(Modifier::BOLD),
        Tone::Dim => style.add_modifier(Modifier::DIM),
        Tone::Bad if color => style.fg(Color::Red),
        Tone::Warning if color => style.fg(Color::Yellow),
        Tone::Bad => style.add_modifier(Modifier::BOLD),
        Tone::Warning => style,
    }
}

/// Which machine, how it is, since when.
fn verdict(model: &Model) -> Line<'static> {
    let Some(look) = &model.look else {
        return Line::from("gpud watch");
    };
    let summary = &look.summary;
    let tone = Tone::of(&summary.verdict);
    let verdict = style(tone, model.color).add_modifier(Modifier::BOLD);
    let since = match summary.since.0 {
        Some(since) => format!(
            " since {} ({})",
            ages::moment(since),
            ages::ago(model.now, since)
        ),
        None => String::new(),
    };
    let host = match summary.machine.hostname.as_str() {
        "" => "this machine".to_owned(),
        name => printable(name),
    };
    Line::from(vec![
        Span::styled(host, Style::default().add_modifier(Modifier::BOLD)),
        Span::raw(": "),
        Span::styled(printable(summary.verdict.as_str()), verdict),
        Span::raw(since),
    ])
}

/// The machine and the counts.
fn about(model: &Model) -> Line<'static> {
    let Some(look) = &model.look else {
        return Line::default();
    };
    let (machine, counts) = (&look.summary.machine, &look.summary.counts);
    let gpus = match machine.gpu_count {
        0 => String::new(),
        count => format!(
            "{count} x {}, driver {}; ",
            machine.gpu_product, machine.driver_version
        ),
    };
    let bad = counts.unhealthy + counts.degraded;
    let text = format!("{gpus}{} of {} checks are not well", bad, counts.present());
    Line::styled(printable(&text), style(Tone::Dim, model.color))
}

/// The panes, the one that is shown inverted, and the filter.
fn titles(model: &Model) -> Line<'static> {
    let mut spans = Vec::new();
    for (pane, key) in Pane::ALL.into_iter().zip(1..) {
        let chosen = pane == model.pane && !model.help;
        let style = match chosen {
            true => Style::default().add_modifier(Modifier::REVERSED),
            false => Style::default(),
        };
        let (open, close) = if chosen { ('[', ']') } else { (' ', ' ') };
        let text = format!("{open}{key} {}{close}", pane.title());
        spans.push(Span::styled(text, style));
        spans.push(Span::raw(" "));
    }
    if model.only_bad {
        spans.push(Span::raw(" only what is not well"));
    }
    if model.typing || !model.filter.is_empty() {
        let end = if model.typing { "_" } else { "" };
        spans.push(Span::raw(format!(" /{}{end}", printable(&model.filter))));
    }
    Line::from(spans)
}

/// Returns the keys that can be typed, or why the content is not current.
fn keys(model: &Model) -> Line<'static> {
    if let Some(problem) = &model.problem {
        let text = match model.look {
            Some(_) => format!("as of {}: {problem}", ages::ago(model.now, model.taken)),
            None => problem.clone(),
        };
        return Line::styled(printable(&text), style(Tone::Bad, model.color));
    }
    let age = model.now.saturating_sub(model.taken);
    let old = match age > OLD && model.look.is_some() {
        true => format!("as of {}  ", ages::ago(model.now, model.taken)),
        false => String::new(),
    };
    let text = format!("{old}q quit  1-4 panes  / filter  w not well  arrows scroll  ? keys");
    Line::styled(text, style(Tone::Dim, model.color))
}

#[cfg(test)]
#[path = "draw_tests.rs"]
mod tests;
