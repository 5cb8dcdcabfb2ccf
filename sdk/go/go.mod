module gpud.internal/gpud

go 1.26
