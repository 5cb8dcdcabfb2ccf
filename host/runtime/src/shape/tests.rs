use super::*;

fn shape(imports: &[&str], exports: &[&str]) -> Shape {
    Shape {
        imports: imports.iter().map(|name| (*name).to_owned()).collect(),
        exports: exports.iter().map(|name| (*name).to_owned()).collect(),
    }
}

#[test]
fn imports_are_sorted_into_what_they_mean() {
    let shape = shape(
        &[
            "gpud:plugin/types@0.1.0",
            "gpud:plugin/sysfs@0.1.0",
            "gpud:plugin/exec@0.1.3",
            "gpud:plugin/disks@0.1.0",
            "gpud:plugin/nvml@0.2.0",
            "wasi:io/poll@0.2.6",
            "acme:own/thing@1.0.0",
        ],
        &[
            "gpud:plugin/scanner@0.1.0",
            "gpud:plugin/checker@0.1.0",
            "exports",
        ],
    );
    assert_eq!(shape.requests(), [Interface::Exec, Interface::Sysfs]);
    assert_eq!(
        shape.interfaces(),
        [Interface::Types, Interface::Exec, Interface::Sysfs]
    );
    assert_eq!(
        shape.unknown(),
        [
            "gpud:plugin/disks@0.1.0",
            "gpud:plugin/nvml@0.2.0",
            "acme:own/thing@1.0.0"
        ]
    );
    assert_eq!(shape.wasi(), ["wasi:io/poll@0.2.6"]);
    assert_eq!(shape.contracts(), ["0.1.0", "0.1.3", "0.2.0"]);
    assert_eq!(shape.parts(), ["checker", "scanner"]);
}
