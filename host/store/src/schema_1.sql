-- Times are milliseconds since the Unix epoch, in columns whose names end in `_ms`: each such column needs a rule in
-- retention.rs (a test looks).

-- `id` gives the order of insertion. `dedup` is the identity of the event, see event_row.rs. `detail` is JSON.
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    component TEXT NOT NULL,
    time_ms INTEGER NOT NULL,
    last_time_ms INTEGER NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    message TEXT NOT NULL,
    detail TEXT NOT NULL,
    count INTEGER NOT NULL,
    dedup BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX event_identity ON event (component, dedup);
-- Reads are by whole seconds, later inserts first within one: the index carries the row id as its last column.
CREATE INDEX event_by_second ON event (component, time_ms / 1000);
CREATE INDEX event_by_last_time ON event (last_time_ms);

CREATE TABLE kmsg_cursor (
    component TEXT PRIMARY KEY,
    boot_id TEXT NOT NULL,
    sequence INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE plugin_state (
    id INTEGER PRIMARY KEY,
    component TEXT NOT NULL,
    key TEXT NOT NULL,
    value BLOB NOT NULL,
    UNIQUE (component, key)
) STRICT;

CREATE TABLE healthy_mark (
    component TEXT NOT NULL,
    time_ms INTEGER NOT NULL,
    PRIMARY KEY (component, time_ms)
) STRICT, WITHOUT ROWID;

CREATE TABLE latch (
    id INTEGER PRIMARY KEY,
    component TEXT NOT NULL,
    key TEXT NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (component, key)
) STRICT;

CREATE TABLE state_change (
    id INTEGER PRIMARY KEY,
    component TEXT NOT NULL,
    time_ms INTEGER NOT NULL,
    name TEXT NOT NULL,
    health TEXT NOT NULL,
    reason TEXT NOT NULL
) STRICT;
CREATE INDEX state_change_by_component ON state_change (component, time_ms);
CREATE INDEX state_change_by_time ON state_change (time_ms);

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- `labels` is a JSON array of [name, value] pairs in order of name.
CREATE TABLE metric_series (
    id INTEGER PRIMARY KEY,
    component TEXT NOT NULL,
    name TEXT NOT NULL,
    labels TEXT NOT NULL,
    UNIQUE (component, name, labels)
) STRICT;

CREATE TABLE metric_sample (
    time_ms INTEGER NOT NULL,
    series_id INTEGER NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (time_ms, series_id)
) STRICT, WITHOUT ROWID;
