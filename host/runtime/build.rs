//! Passes on the target that this build is for.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The engine compiles code for this target, see `engine.rs`.
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=GPUD_TARGET={target}");
}
