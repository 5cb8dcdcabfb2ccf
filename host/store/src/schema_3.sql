-- What a change of health is about, as JSON like that of an event; null where the state names nothing, and in rows of
-- earlier versions.
ALTER TABLE state_change ADD COLUMN subject TEXT;
