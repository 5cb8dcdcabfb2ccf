package witrt

// Handle is what the host knows one of its resources by; 0 when it was given away.
type Handle struct{ value int32 }

// MakeHandle of what the host gave.
func MakeHandle(value int32) *Handle { return &Handle{value} }

// Use gives it for a call.
func (h *Handle) Use() int32 { return held(h.value) }

// Take gives it away.
func (h *Handle) Take() int32 { return held(h.TakeOrNil()) }

// TakeOrNil gives it away, or 0.
func (h *Handle) TakeOrNil() int32 {
	value := h.value
	h.value = 0
	return value
}

// Set takes it back.
func (h *Handle) Set(value int32) { h.value = value }

func held(value int32) int32 {
	if value == 0 {
		panic("the handle was given away")
	}
	return value
}
