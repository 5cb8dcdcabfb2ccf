//! Lines of slots and IOMMUs.

use super::*;

/// Lines of slots and IOMMUs.
const BUS_LINES: &[Case] = {
    use Kind::{Inaccessible, IommuFault, SlotLost, SlotPower};
    &[
        (
            "pcieport 0000:00:01.0: pciehp: Slot(1): Power fault",
            SlotPower,
            "0000:00:01.0",
            &[("slot", "1"), ("cause", "Power fault")],
        ),
        (
            "nvidia 0000:3b:00.0: Unable to change power state from D3cold to D0, device inaccessible",
            Inaccessible,
            "0000:3b:00.0",
            &[
                ("driver", "nvidia"),
                (
                    "cause",
                    "Unable to change power state from D3cold to D0, device inaccessible",
                ),
            ],
        ),
        (
            "mlx5_core 0000:5e:00.1: can't change power state from D3hot to D0 (config space inaccessible)",
            Inaccessible,
            "0000:5e:00.1",
            &[
                ("driver", "mlx5_core"),
                (
                    "cause",
                    "can't change power state from D3hot to D0 (config space inaccessible)",
                ),
            ],
        ),
        (
            "vfio-pci 0000:3b:00.0: not ready 65535ms after FLR; giving up",
            Inaccessible,
            "0000:3b:00.0",
            &[
                ("driver", "vfio-pci"),
                ("cause", "not ready 65535ms after FLR; giving up"),
            ],
        ),
        (
            "pcieport 0000:00:01.0: pciehp: Slot(1): Link Down",
            SlotLost,
            "0000:00:01.0",
            &[("slot", "1"), ("cause", "Link Down")],
        ),
        (
            "pcieport 10000:00:01.0: pciehp: Slot(0-1): Card not present",
            SlotLost,
            "10000:00:01.0",
            &[("slot", "0-1"), ("cause", "Card not present")],
        ),
        (
            "DMAR: [DMA Read NO_PASID] Request device [3b:00.0] fault addr 0xfffff000 [fault reason 0x06] PTE Read access is not set",
            IommuFault,
            "0000:3b:00.0",
            &[("access", "DMA Read NO_PASID"), ("address", "0xfffff000")],
        ),
        (
            "DMAR: [DMA Read] Request device [3b:00.1] PASID ffffffff fault addr fffff000 [fault reason 06] PTE Read access is not set",
            IommuFault,
            "0000:3b:00.1",
            &[("access", "DMA Read"), ("address", "fffff000")],
        ),
        (
            "DMAR: [DMA Write PASID 0x1] Request device [0x3b:0x00.0] fault addr 0x1000 [fault reason 0x71] SM: Present bit in first-level paging entry is clear",
            IommuFault,
            "0000:3b:00.0",
            &[("access", "DMA Write PASID 0x1"), ("address", "0x1000")],
        ),
        (
            "DMAR: [INTR-REMAP] Request device [3b:00.0] fault index 0x9 [fault reason 0x26] Blocked an interrupt request due to source-id verification failure",
            IommuFault,
            "0000:3b:00.0",
            &[("access", "INTR-REMAP"), ("address", "")],
        ),
        (
            "AMD-Vi: Event logged [IO_PAGE_FAULT device=0001:3b:00.0 domain=0x0000 address=0x7f000000 flags=0x0]",
            IommuFault,
            "0001:3b:00.0",
            &[("address", "0x7f000000")],
        ),
        (
            "nvidia 0000:3b:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0011 address=0x0 flags=0x0020]",
            IommuFault,
            "0000:3b:00.0",
            &[("address", "0x0")],
        ),
        (
            "arm-smmu-v3 arm-smmu-v3.0.auto: event 0x10 received:",
            IommuFault,
            "",
            &[("iommu", "arm-smmu-v3.0.auto")],
        ),
        (
            "arm-smmu-v3 arm-smmu-v3.9.auto: event: F_TRANSLATION client: 0009:01:00.0 sid: 0x100 ssid: 0x0 iova: 0x1000 ipa: 0x0",
            IommuFault,
            "0009:01:00.0",
            &[("access", "F_TRANSLATION"), ("iommu", "arm-smmu-v3.9.auto")],
        ),
    ]
};

#[test]
fn slots_and_iommus() {
    hold(BUS_LINES);
    for line in [
        "pcieport 0000:00:01.0: pciehp: Slot(1): Link Down/Up ignored",
        "pcieport 0000:00:01.0: pciehp: Slot(1): Link Down event queued; currently getting powered on",
        "pcieport 0000:00:01.0: pciehp: Slot(1): Link Up",
        "pcieport 0000:00:01.0: AER: Correctable error message received from 0000:01:00.0",
        "DMAR: DRHD: handling fault status reg 3",
        "DMAR: [DMA Read] Request device [x] fault addr 1 [fault reason 0x06] y",
        "DMAR: [Other] Request device [3b:00.0] fault addr 1 [fault reason 0x06] y",
        "AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0007 address=0xffffc02000 flags=0x0000]",
        "AMD-Vi: Event logged [ILLEGAL_DEV_TABLE_ENTRY device=3b:00.0 pasid=0x0 address=0x0]",
        "a nvidia 0000:3b:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0011 address=0x0]",
        "arm-smmu-v3 arm-smmu-v3.0.auto: event 0x received:",
        "arm-smmu-v3 arm-smmu-v3.0.auto: event 0x10 sent:",
        "arm-smmu-v3 arm-smmu-v3.0.auto: EVTQ overflow detected -- events lost",
    ] {
        assert_eq!(find(line), None, "{line}");
    }
}
