//! The table of commands, from which the command line, the help, the completions and the manual are made.

use super::{
    command::Command, compact, compile_builtins, compile_component, completion, custom_plugins,
    down, explain, exports, healthcheck, history, inject_fault, list_plugins, machine_info, man,
    metadata, notify, pack, plugin, release, root_helper, run, run_plugin_group, scan, set_healthy,
    status, up, update, validate_config, watch,
};

/// All commands, in the order in which the help shows them.
static COMMANDS: &[Command] = &[
    up::COMMAND,
    down::COMMAND,
    run::COMMAND,
    status::COMMAND,
    healthcheck::COMMAND,
    watch::COMMAND,
    history::COMMAND,
    scan::COMMAND,
    custom_plugins::COMMAND,
    plugin::COMMAND,
    pack::COMMAND,
    exports::COMMAND,
    list_plugins::COMMAND,
    run_plugin_group::COMMAND,
    machine_info::COMMAND,
    explain::COMMAND,
    inject_fault::COMMAND,
    set_healthy::COMMAND,
    compact::COMMAND,
    metadata::COMMAND,
    completion::COMMAND,
    man::COMMAND,
    notify::COMMAND,
    update::COMMAND,
    release::COMMAND,
    root_helper::COMMAND,
    compile_component::COMMAND,
    compile_builtins::COMMAND,
    validate_config::COMMAND,
];

/// Returns the command with this name.
pub fn find(name: &str) -> Option<Command> {
    let found = COMMANDS.iter().find(|command| command.name == name);
    found.copied()
}

/// Returns gpud with all its commands, as clap knows it. It is not built yet.
pub fn root() -> clap::Command {
    clap::Command::new("gpud")
        .about(
            "Watches one GPU machine: is it healthy, what went wrong, what should be done about it",
        )
        .disable_help_subcommand(true)
        .after_help(
            "`gpud help <command>` shows the flags of a command; `gpud --version` the version.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(COMMANDS.iter().map(|command| command.to_clap()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_word_names_one_command() {
        let mut root = root();
        root.build();
        let mut words = BTreeSet::new();
        for command in root.get_subcommands() {
            let name = command.get_name();
            for word in [name].into_iter().chain(command.get_all_aliases()) {
                assert!(words.insert(word.to_owned()), "{word}");
            }
            let found = find(name).unwrap();
            assert_eq!(found.to_clap().get_about(), command.get_about(), "{name}");
        }
        assert!(words.contains("st") && find("st").is_none());
    }
}
