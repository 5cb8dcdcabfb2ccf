-- What a state was before: read for each change that is shown.
CREATE INDEX state_change_by_state ON state_change (component, name);
