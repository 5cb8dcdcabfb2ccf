//! Flattens a component by hand: `cargo run --example flatten -- IN OUT`.

use std::error::Error;
use std::process::ExitCode;
use std::{env, fs};

use gpud_flatten::{Outcome, flatten};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [input, output] = arguments.as_slice() else {
        eprintln!("usage: flatten IN OUT");
        return ExitCode::from(2);
    };
    match run(input, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{input}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(input: &str, output: &str) -> Result<(), Box<dyn Error>> {
    let bytes = fs::read(input)?;
    match flatten(&bytes)? {
        Outcome::Unchanged(why) => {
            println!("unchanged: {why}");
            fs::write(output, bytes)?;
        }
        Outcome::Flattened(flattened) => {
            println!(
                "{} core instances became one with {} imports and {} exports; {} functions left out; {} bytes, were {}",
                flattened.merged,
                flattened.imports,
                flattened.exports,
                flattened.dropped_funcs,
                flattened.component.len(),
                bytes.len(),
            );
            for left in &flattened.left_out {
                println!(
                    "core instance {} of module {} stays: {}",
                    left.instance, left.module, left.reason
                );
            }
            fs::write(output, flattened.component)?;
        }
    }
    Ok(())
}
