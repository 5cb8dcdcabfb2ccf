//! Which tables `gpud scan` shows of which component, and their columns: those that GPUd has. Whatever else a checker
//! tells stands in `--json`. Components without a layout are shown as their document is built (`details.rs`).

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Show {
    /// As it is; a list with commas.
    Plain,
    /// Bytes, as `1.5 GiB`.
    Bytes,
    /// Milliwatts, as watts.
    Watts,
    /// Degrees Celsius.
    Celsius,
    /// Seconds, as `1d 2h`.
    Seconds,
    /// How many items a list has; none without a list.
    Count,
    /// How many items of a list have this key set to true, of how many.
    Set(&'static str),
    /// Texts of a list, without the UUID of the row that GPUd puts in front of each.
    OwnTexts,
}

/// A column, or a row of a table of names and values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    /// Heading.
    pub title: &'static str,
    /// Where the value stands, names joined by dots.
    pub path: &'static str,
    /// How it is written.
    pub show: Show,
}

/// One table.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// Names and values.
    Pairs(&'static [Column]),
    /// A row for each object of the list at this path.
    Rows(&'static str, &'static [Column]),
    /// A row for each object of the lists under the second name in the values of the map under the first.
    RowsOfMap(&'static str, &'static str, &'static [Column]),
    /// A row for each object of the lists under the second name in the rows of the list under the first; names that
    /// begin with `^` are those of the outer row.
    RowsOfRows(&'static str, &'static str, &'static [Column]),
}

// Macros, since what a function gives does not live long enough to be borrowed in a table.
macro_rules! column {
    ($title:literal, $path:literal, $show:expr $(,)?) => {
        Column {
            title: $title,
            path: $path,
            show: $show,
        }
    };
}

macro_rules! plain {
    ($title:literal, $path:literal $(,)?) => {
        column!($title, $path, Show::Plain)
    };
}

mod gpus;
mod host;

const UUID: Column = plain!("GPU UUID", "uuid");
const BUS_ID: Column = plain!("GPU Bus ID", "bus_id");
const SUPPORTED: Column = plain!("Supported", "supported");

/// The tables of a component; none for those that have no layout of their own.
pub(super) fn of(component: &str) -> &'static [Part] {
    let gpu = component.strip_prefix("accelerator-nvidia-");
    gpu.map_or_else(|| host::of(component), gpus::of)
}
