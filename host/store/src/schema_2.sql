-- Which events are repeats of one another within a boot, whatever the window in which they were counted: see
-- event_row.rs. Null for events that are never condensed (condense.rs).
ALTER TABLE event ADD COLUMN kin BLOB;
