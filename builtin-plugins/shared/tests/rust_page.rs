//! The example of the page for authors in Rust is the one that the SDK's documentation compiles.

/// The code of the first example of a module: its lines as a reader sees them.
fn example(module: &str) -> String {
    let lines = module.lines().map_while(|line| line.strip_prefix("//!"));
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
    let code = lines.skip_while(|line| *line != "```").skip(1);
    let code = code.take_while(|line| *line != "```");
    let shown = code.filter(|line| !line.starts_with("# "));
    shown.map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_page_has_the_example_that_is_compiled() {
    let example = example(include_str!("../../../sdk/rust/src/kernel_lines.rs"));
    let page = include_str!("../../../docs/plugins/rust.md");
    assert!(example.lines().count() > 50, "{example}");
    // The page explains the checker before it shows the test.
    let (checker, test) = example.split_once("\nfn a_site_policy").unwrap();
    for part in [checker, &format!("fn a_site_policy{test}")] {
        let block = format!("```rust\n{part}```\n");
        assert!(page.contains(&block), "the page lacks:\n{block}");
    }
}
