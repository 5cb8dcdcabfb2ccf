module {{name}}

go 1.26

require gpud.internal/gpud v{{gpud}}

require (
	github.com/tetratelabs/wazero v1.12.0 // indirect
	golang.org/x/sys v0.44.0 // indirect
	gpud.internal/gpud/cmd/gpud-go v{{gpud}} // indirect
)

replace (
	gpud.internal/gpud => ./gpud-sdk
	gpud.internal/gpud/cmd/gpud-go => ./gpud-sdk/cmd/gpud-go
)

tool gpud.internal/gpud/cmd/gpud-go
