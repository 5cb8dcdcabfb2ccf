package witrt

import "testing"

func TestAHandleIsGivenAwayOnce(t *testing.T) {
	handle := MakeHandle(7)
	if handle.Use() != 7 || handle.Take() != 7 || handle.TakeOrNil() != 0 {
		t.Error("not the handle that was made")
	}
	handle.Set(8)
	if handle.TakeOrNil() != 8 {
		t.Error("not the handle that was set")
	}
	defer func() {
		if recover() == nil {
			t.Error("a handle was used that was given away")
		}
	}()
	handle.Use()
}
