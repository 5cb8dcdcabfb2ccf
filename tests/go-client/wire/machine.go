package wire

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Machine is the inventory of a machine. All keys but Uptime, which is the time of the boot, may be left out.
type Machine struct {
	Version          string      `json:"gpudVersion,omitempty"`
	DriverVersion    string      `json:"gpuDriverVersion,omitempty"`
	CUDAVersion      string      `json:"cudaVersion,omitempty"`
	ContainerRuntime string      `json:"containerRuntimeVersion,omitempty"`
	KernelVersion    string      `json:"kernelVersion,omitempty"`
	OSImage          string      `json:"osImage,omitempty"`
	OperatingSystem  string      `json:"operatingSystem,omitempty"`
	SystemUUID       string      `json:"systemUUID,omitempty"`
	MachineID        string      `json:"machineID,omitempty"`
	BootID           string      `json:"bootID,omitempty"`
	Hostname         string      `json:"hostname,omitempty"`
	Uptime           metav1.Time `json:"uptime,omitempty"`
	ClusterUUID      string      `json:"clusterUUID,omitempty"`
	CliqueID         uint32      `json:"cliqueID,omitempty"`
	ChassisSerial    string      `json:"chassisSerial,omitempty"`
	CPU              *struct {
		Type         string `json:"type,omitempty"`
		Manufacturer string `json:"manufacturer,omitempty"`
		Architecture string `json:"architecture,omitempty"`
		LogicalCores int64  `json:"logicalCores,omitempty"`
	} `json:"cpuInfo,omitempty"`
	Memory *struct {
		TotalBytes uint64 `json:"totalBytes"`
	} `json:"memoryInfo,omitempty"`
	GPU *struct {
		Product      string `json:"product,omitempty"`
		Manufacturer string `json:"manufacturer,omitempty"`
		Architecture string `json:"architecture,omitempty"`
		Memory       string `json:"memory,omitempty"`
		GPUs         []struct {
			UUID    string `json:"uuid,omitempty"`
			BusID   string `json:"busID,omitempty"`
			Serial  string `json:"sn,omitempty"`
			MinorID string `json:"minorID,omitempty"`
			BoardID uint32 `json:"boardID,omitempty"`
		} `json:"gpus,omitempty"`
	} `json:"gpuInfo,omitempty"`
	Disk *struct {
		BlockDevices      []BlockDevice `json:"blockDevices,omitempty"`
		ContainerRootDisk string        `json:"containerRootDisk,omitempty"`
	} `json:"diskInfo,omitempty"`
	NIC *struct {
		PrivateIPInterfaces []struct {
			Interface string `json:"interface,omitempty"`
			MAC       string `json:"mac,omitempty"`
			IP        string `json:"ip,omitempty"`
		} `json:"privateIPInterfaces,omitempty"`
	} `json:"nicInfo,omitempty"`
}

// BlockDevice is a mounted device or an NFS mount. Sizes are in bytes.
type BlockDevice struct {
	Name       string   `json:"name,omitempty"`
	Type       string   `json:"type,omitempty"`
	Size       int64    `json:"size,omitempty"`
	Used       int64    `json:"used,omitempty"`
	Rota       bool     `json:"rota,omitempty"`
	Serial     string   `json:"serial,omitempty"`
	WWN        string   `json:"wwn,omitempty"`
	Vendor     string   `json:"vendor,omitempty"`
	Model      string   `json:"model,omitempty"`
	Rev        string   `json:"rev,omitempty"`
	MountPoint string   `json:"mountPoint,omitempty"`
	FSType     string   `json:"fsType,omitempty"`
	PartUUID   string   `json:"partUUID,omitempty"`
	Parents    []string `json:"parents,omitempty"`
	Children   []string `json:"children,omitempty"`
}
