//! Installs a pack.

use std::{fmt::Write as _, path::Path};

use gpud_author::pack_components;
use serde_json::json;

use super::{
    Installation, described,
    files::read_text,
    remote::{OCI, fetch},
    signing::{signed, signer},
};
use crate::{
    cli::{
        VERSION,
        plugin::compilation,
        terminal::{Terminal, printable},
    },
    node::process::find_program,
    pack::{
        PackRefusal, archive,
        installed::{Decisions, OwnConfig, Packs},
    },
    spec::parse_configs,
};

/// Largest file with an operator's own configurations, bytes.
const MAX_CONFIG: usize = 1 << 20;

/// Installs an archive, or a pack of a registry.
pub(super) async fn install(
    options: &Installation,
    stdout: Terminal,
) -> Result<String, PackRefusal> {
    let pack = match options.pack.strip_prefix(OCI) {
        Some(reference) => fetch(reference, &options.access).await?,
        None => archive::read(Path::new(&options.pack))?,
    };
    let signer = signer(&pack, &options.trust)?;
    pack.manifest.check_gpud(VERSION)?;
    pack_components::check(&pack, &compilation()).await?;
    let decisions = Decisions {
        approved: options.approve,
        downgrade: options.downgrade,
        config: options.config.as_deref().map(own_config).transpose()?,
    };
    let packs = Packs::of(&options.data_dir);
    let installed = packs.install(&pack, signer.as_ref(), decisions)?;
    let mut missing = Vec::new();
    for program in &pack.manifest.needs.programs {
        if find_program(program).await.is_err() {
            missing.push(program.clone());
        }
    }
    let before = installed.before.map(|before| before.manifest.version);
    if options.json {
        let document =
            json!({"record": installed.record, "before": before, "missing_programs": missing});
        return Ok(format!("{document}\n"));
    }
    let mut text = format!("{} installed {}", stdout.good(), described(&pack.manifest));
    if let Some(before) = before {
        let _ = writeln!(text, "  in the place of version {before}");
    }
    let _ = writeln!(text, "  {}", signed(signer.as_ref()));
    for program in missing {
        let _ = writeln!(
            text,
            "  ! it needs {}, which is not on this machine",
            printable(&program)
        );
    }
    text.push_str("  a daemon with this data folder loads it within seconds\n");
    Ok(text)
}

fn own_config(path: &Path) -> Result<OwnConfig, PackRefusal> {
    let text = read_text(path, MAX_CONFIG)?;
    parse_configs(&text, &path.display().to_string()).map_err(PackRefusal)
}
