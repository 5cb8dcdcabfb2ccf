package gpud

// Subject is what a state or an event is about: Node, GPU, Port, Mount, Unit or OtherSubject.
type Subject interface{ isSubject() }

// Node is the machine as a whole.
type Node struct{}

// GPU is one GPU, by whatever is known of it; what is not known is empty.
type GPU struct {
	// UUID as NVML has it, "GPU-…".
	UUID string
	// Serial number of the board.
	Serial string
	// PCIID is domain:bus:device.function in lower case.
	PCIID string
}

// Port is one port of a network or InfiniBand device.
type Port struct {
	// Device name, for example mlx5_0.
	Device string
	// Port number, from 1.
	Port uint32
}

// Mount is a mount point, by path.
type Mount string

// Unit is a service unit, by name.
type Unit string

// OtherSubject is anything else.
type OtherSubject struct {
	// Kind, for example dimm.
	Kind string
	// Which one.
	Which string
}

func (Node) isSubject()         {}
func (GPU) isSubject()          {}
func (Port) isSubject()         {}
func (Mount) isSubject()        {}
func (Unit) isSubject()         {}
func (OtherSubject) isSubject() {}

// Evidence is what a verdict was drawn from: KmsgRecord, File, NVMLReading or OtherEvidence.
type Evidence interface{ isEvidence() }

// KmsgRecord is a kernel log record of this boot, by sequence number.
type KmsgRecord uint64

// File is a file that was read, by path.
type File string

// NVMLReading is a reading of NVML, by name.
type NVMLReading string

// OtherEvidence is anything else.
type OtherEvidence string

func (KmsgRecord) isEvidence()    {}
func (File) isEvidence()          {}
func (NVMLReading) isEvidence()   {}
func (OtherEvidence) isEvidence() {}
