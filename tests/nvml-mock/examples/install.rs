//! Puts the library with a scenario into a folder: `install <scenario file> <folder>`. Says the path to load.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scenario, folder] = arguments.as_slice() else {
        eprintln!("usage: install <scenario file> <folder>");
        return ExitCode::from(2);
    };
    let installed = gpud_nvml_mock::install::built().and_then(|library| {
        let text = std::fs::read_to_string(scenario).map_err(|error| {
            gpud_nvml_mock::install::InstallError::File {
                path: scenario.into(),
                error,
            }
        })?;
        gpud_nvml_mock::install::install(&library, &text, Path::new(folder))
    });
    match installed {
        Ok(path) => {
            println!("{}", path.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
