//! Plugins that misbehave on purpose; each is an example of this crate, and `host/tests/hostile` calls them all.
