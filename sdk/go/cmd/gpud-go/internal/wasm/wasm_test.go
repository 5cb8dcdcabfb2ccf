package wasm

import (
	"bytes"
	"testing"
)

// tiny is a module with one memory of a page, a mutable global, and a function of type (i32, i32, i32, i32) -> i32 that
// gives 7, exported as cabi_realloc.
var tiny = append(bytes.Clone(header),
	Types, 9, 1, 0x60, 4, I32, I32, I32, I32, 1, I32,
	3, 2, 1, 0,
	Memories, 3, 1, 0, 1,
	Globals, 6, 1, I32, 1, 0x41, 5, 0x0b,
	Exports, 16, 1, 12, 'c', 'a', 'b', 'i', '_', 'r', 'e', 'a', 'l', 'l', 'o', 'c', Func, 0,
	10, 6, 1, 4, 0, 0x41, 7, 0x0b,
	Data, 1, 0,
)

func TestParseAndEncode(t *testing.T) {
	module, err := Parse(tiny)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(module.Encode(), tiny) {
		t.Error("the module changed")
	}
	exports, err := module.Exports()
	if err != nil || len(exports) != 1 || exports[0] != (Export{"cabi_realloc", Func, 0}) {
		t.Errorf("%v %v", exports, err)
	}
	if _, err := Parse(tiny[:len(tiny)-1]); err == nil {
		t.Error("a file that ends too early was taken")
	}
}

func TestMemoryBecomesSegments(t *testing.T) {
	module, err := Parse(tiny)
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, 2*page)
	copy(content[10:], "first")
	copy(content[40:], "near")
	copy(content[page+100:], "far")
	with, err := module.WithMemory(content)
	if err != nil {
		t.Fatal(err)
	}
	data, count := segments(content)
	if !bytes.Equal(with.Body(Data), data) {
		t.Error("the data are not in the module")
	}
	if count != 2 || !bytes.Contains(data, []byte("first")) || !bytes.Contains(data, []byte("near")) {
		t.Errorf("%d segments: %q", count, data)
	}
	if !bytes.Equal(with.Body(Memories), []byte{1, 0, 2}) {
		t.Errorf("%v", with.Body(Memories))
	}
	if _, err := module.WithMemory(content[:3]); err == nil {
		t.Error("a part of a page was taken")
	}
}

func TestGlobalsKeepTheirBits(t *testing.T) {
	module, err := Parse(tiny)
	if err != nil {
		t.Fatal(err)
	}
	globals, err := module.Globals()
	if err != nil || len(globals) != 1 || !globals[0].Mutable {
		t.Fatalf("%v %v", globals, err)
	}
	globals[0].Bits = 0xffff_fff0
	with, err := module.WithGlobals(globals)
	if err != nil || !bytes.Equal(with.Body(Globals), []byte{1, I32, 1, 0x41, 0x70, 0x0b}) {
		t.Errorf("%v %v", with.Body(Globals), err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(tiny)
	f.Fuzz(func(t *testing.T, file []byte) {
		module, err := Parse(file)
		if err != nil {
			return
		}
		// None of these may panic, whatever the sections say.
		module.Imports()
		module.Exports()
		module.Globals()
		module.WithMemory(make([]byte, page))
	})
}
