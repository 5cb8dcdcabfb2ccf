use super::*;

fn facts(cpuinfo: &str) -> (u32, String, String, String, String) {
    let cpu = CpuFacts::parse(cpuinfo, "cpu  1 2\ncpu0 1 2\ncpu1 1 2\ncpu2 1\nintr 5\n");
    let text = |value: Option<String>| value.unwrap_or_default();
    (
        cpu.logical_cores,
        text(cpu.vendor),
        text(cpu.model_name),
        text(cpu.model),
        text(cpu.family),
    )
}

#[test]
fn processors_are_recognised() {
    let x86 = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R) Platinum 8480+\nflags\t\t: fpu\n\nprocessor\t: 1\nvendor_id\t: Other\n\n";
    let arm = |maker, part| {
        format!(
            "processor\t: 0\nBogoMIPS\t: 2000.00\nCPU implementer\t: {maker}\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: {part}\n\nprocessor\t: 1\n"
        )
    };
    for (cpuinfo, cores, vendor, name, model, family) in [
        (
            x86.to_owned(),
            2,
            "GenuineIntel",
            "Intel(R) Xeon(R) Platinum 8480+",
            "143",
            "6",
        ),
        (arm("0x41", "0xd4f"), 2, "ARM", "Neoverse-V2", "0xd4f", "8"),
        (arm("0x4e", "0x004"), 2, "NVIDIA", "Carmel", "0x004", "8"),
        (arm("0xc0", "0xac3"), 2, "Ampere", "Ampere-1", "0xac3", "8"),
        (arm("0x41", "0xfff"), 2, "ARM", "Undefined", "0xfff", "8"),
        (arm("0x99", "0xd4f"), 2, "", "Undefined", "0xd4f", "8"),
        // Old 32-bit ARM kernels name the first line `Processor : ARMv7`, which is no core.
        ("Processor : ARMv7 rev 1\n".to_owned(), 3, "", "", "", ""),
        (String::new(), 3, "", "", "", ""),
    ] {
        let found = facts(&cpuinfo);
        let found = (
            found.0,
            found.1.as_str(),
            found.2.as_str(),
            found.3.as_str(),
            found.4.as_str(),
        );
        assert_eq!(found, (cores, vendor, name, model, family), "{cpuinfo}");
    }
}
