//! Lines of kernels from 5.4 on, and of firmware.

use super::*;

#[test]
fn lines_of_real_kernels() {
    let error = |severity, layer, agent| LineContent::Error {
        severity,
        layer,
        agent,
    };
    for (line, expected) in [
        (
            // 5.4
            "pcieport 0000:00:1c.0: AER: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
            Some((
                "0000:00:1c.0",
                error(Severity::Corrected, "Physical Layer", "Receiver ID"),
            )),
        ),
        (
            // 5.15
            "nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)",
            Some((
                "0000:3b:00.0",
                error(Severity::NonFatal, "Transaction Layer", "Requester ID"),
            )),
        ),
        (
            // 6.8
            "pcieport 10000:e0:06.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Receiver ID)",
            Some((
                "10000:e0:06.0",
                error(Severity::Fatal, "Transaction Layer", "Receiver ID"),
            )),
        ),
        (
            "mlx5_core 0000:17:00.0: AER: PCIe Bus Error: severity=Uncorrected (Fatal), type=Inaccessible, (Unregistered Agent ID)",
            Some((
                "0000:17:00.0",
                error(Severity::Fatal, "Inaccessible", "Unregistered Agent ID"),
            )),
        ),
        (
            "pcieport 0000:0c:00.0: CXL Bus Error: severity=Correctable, type=Data Link Layer, (Transmitter ID)",
            Some((
                "0000:0c:00.0",
                error(Severity::Corrected, "Data Link Layer", "Transmitter ID"),
            )),
        ),
        (
            "nvme 0000:01:00.0:    [ 0] RxErr                  (First)",
            Some(("0000:01:00.0", LineContent::Bit(kind("RxErr")))),
        ),
        (
            "nvidia 0000:3b:00.0:    [14] CmpltTO                (First)",
            Some(("0000:3b:00.0", LineContent::Bit(kind("CmpltTO")))),
        ),
        (
            "pcieport 0000:00:1c.0: AER:    [ 6] BadTLP                ",
            Some(("0000:00:1c.0", LineContent::Bit(kind("BadTLP")))),
        ),
        (
            "pcieport 0000:00:1c.0:    [20] UnsupReq",
            Some(("0000:00:1c.0", LineContent::Bit(kind("UnsupReq")))),
        ),
        (
            "pcieport 0000:3a:00.0: AER: aer_status: 0x00000001, aer_mask: 0x00002000",
            Some(("0000:3a:00.0", LineContent::Status(1))),
        ),
        (
            "pcieport 0000:3a:00.0: aer_status: 0x00100000, aer_mask: 0x00000000",
            Some(("0000:3a:00.0", LineContent::Status(0x0010_0000))),
        ),
        (
            "pcieport 0000:3a:00.0: AER: aer_layer=Physical Layer, aer_agent=Receiver ID",
            Some((
                "0000:3a:00.0",
                LineContent::Layer {
                    layer: "Physical Layer",
                    agent: "Receiver ID",
                },
            )),
        ),
        (
            "pcieport 0000:3a:00.0: AER: aer_uncor_severity: 0x00463010",
            Some(("0000:3a:00.0", LineContent::FatalBits(0x0046_3010))),
        ),
        (
            "pcieport 0000:3a:00.0: AER: Correctable error message received from 0000:3b:00.0 (no details found",
            Some((
                "0000:3a:00.0",
                LineContent::NoDetails {
                    severity: Some(Severity::Corrected),
                    source: Some("0000:3b:00.0"),
                },
            )),
        ),
        (
            "pcieport 0000:3a:00.0: AER: Multiple Uncorrectable (Fatal) error message received from 0000:3b:00.0 (no details found)",
            Some((
                "0000:3a:00.0",
                LineContent::NoDetails {
                    severity: Some(Severity::Fatal),
                    source: Some("0000:3b:00.0"),
                },
            )),
        ),
        (
            "pcieport 0000:3a:00.0: AER: found no error details for 0000:3b:00.0",
            Some((
                "0000:3a:00.0",
                LineContent::NoDetails {
                    severity: None,
                    source: Some("0000:3b:00.0"),
                },
            )),
        ),
        (
            "pcieport 0000:3a:00.0: AER: can't find device of ID3b00",
            Some((
                "0000:3a:00.0",
                LineContent::NoDetails {
                    severity: None,
                    source: None,
                },
            )),
        ),
        (
            "pcieport 0000:3a:00.0: AER: device recovery successful",
            Some(("0000:3a:00.0", LineContent::Recovered)),
        ),
        (
            "pcieport 0000:3a:00.0: AER: Device recovery failed",
            Some(("0000:3a:00.0", LineContent::RecoveryFailed)),
        ),
        (
            "pcieport 0000:3a:00.0: DPC: containment event, status:0x1f01 source:0x0000",
            Some(("0000:3a:00.0", LineContent::Contained)),
        ),
        (
            "pcieport 0000:3a:00.0: DPC: containment event, status:0x1f05: ERR_FATAL received from 0000:3b:00.0",
            Some(("0000:3a:00.0", LineContent::Contained)),
        ),
        // What only announces, and lookalikes.
        (
            "pcieport 0000:00:1c.0: AER: Corrected error received: 0000:00:1c.0",
            None,
        ),
        (
            "pcieport 0000:00:1c.0: AER: Multiple Uncorrected (Non-Fatal) error received: 0000:04:00.0",
            None,
        ),
        (
            "pcieport 0000:3a:00.0: AER: Correctable error message received from 0000:3b:00.0",
            None,
        ),
        (
            "pcieport 0000:00:1c.0:   device [8086:a340] error status/mask=00000001/00002000",
            None,
        ),
        (
            "pcieport 0000:00:1c.0:   Error of this Agent is reported first",
            None,
        ),
        (
            "pcieport 0000:00:1c.0:   TLP Header: 40000001 0000000f fee00000 00000000",
            None,
        ),
        ("pcieport 0000:00:1c.0: AER: enabled with IRQ 122", None),
        (
            "pcieport 0000:00:1c.0: AER: broadcast error_detected message",
            None,
        ),
        (
            "nvidia 0000:3b:00.0: AER: can't recover (no error_detected callback)",
            None,
        ),
        (
            "pcieport 0000:3a:00.0: AER: Root Port link has been reset (0)",
            None,
        ),
        (
            "pcieport 0000:3a:00.0: DPC: error containment capabilities: Int Msg #0, RPExt+ PoisonedTLP+ SwTrigger+ RP PIO Log 4, DL_ActiveErr+",
            None,
        ),
        ("pcieport 0000:3a:00.0: DPC: enabled with IRQ 40", None),
        (
            "pcieport 0000:3a:00.0: DPC: [ 0] Configuration Request received UR Completion (First)",
            None,
        ),
        (
            "acpi PNP0A08:00: _OSC: OS now controls [PCIeHotplug PME AER PCIeCapability LTR DPC]",
            None,
        ),
        ("mlx5_core 0000:17:00.0:    [14] something else", None),
        ("nvidia 0000:3b:00.0:    [14] CmpltTOx", None),
        (
            "0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
            None,
        ),
        (
            "app 0000:3b:00.0 PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
            None,
        ),
        (
            "nvidia 0000:3b:00.8: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
            None,
        ),
        (
            "nvidia 0000:3b:00.0: PCIe Bus Error: severity=Terrible, type=Physical Layer, (Receiver ID)",
            None,
        ),
        (
            "nvidia 0000:3b:00.0: note: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
            None,
        ),
        ("{1}[Hardware Error]:   device_id: 0000:3a:00.0", None),
        ("", None),
    ] {
        let found = Line::parse(line).map(|line| (line.device, line.said));
        assert_eq!(found, expected, "{line}");
        assert!(expected.is_none() || DELIVERED.is_match(line), "{line}");
    }
}
