;; A program of several libraries in the shape that wit-component gives it: a shim first, as its imports can only be
;; lowered with the memory and allocator of the libraries, and a fix-up that puts the lowered function into the shim.
;; The last library comes even after the fix-up.
(component
  (component $other
    (core module $m
      (memory (export "memory") 1)
      (global $next (mut i32) (i32.const 64))
      (func (export "realloc") (param i32 i32 i32 i32) (result i32)
        (global.set $next (i32.add (global.get $next) (local.get 3)))
        (i32.sub (global.get $next) (local.get 3)))
      (data (i32.const 8) "\10\00\00\00\04\00\00\00")
      (data (i32.const 16) "text")
      (func (export "text") (result i32) (i32.const 8)))
    (core instance $m (instantiate $m))
    (func (export "text") (result string)
      (canon lift (core func $m "text") (memory (core memory $m "memory")) (realloc (core func $m "realloc")))))
  (instance $other (instantiate $other))
  (alias export $other "text" (func $text))
  (core module $shim
    (table (export "$imports") 1 1 funcref)
    (type $f (func (param i32)))
    (func (export "0") (param i32) (call_indirect (type $f) (local.get 0) (i32.const 0))))
  (core module $libc
    (memory (export "memory") 1)
    (table (export "table") 4 funcref)
    (global (export "base") i32 (i32.const 1))
    (global $next (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (global.set $next (i32.add (global.get $next) (local.get 3)))
      (i32.sub (global.get $next) (local.get 3))))
  (core module $lib
    (import "env" "memory" (memory 1))
    (import "host" "text" (func $text (param i32)))
    (func (export "letter") (result i32)
      (call $text (i32.const 32))
      (i32.load8_u (i32.load (i32.const 32)))))
  (core module $main
    (type $f (func (result i32)))
    (import "env" "table" (table 1 funcref))
    (func (export "run") (result i32) (call_indirect (type $f) (i32.const 1))))
  (core module $init
    (import "env" "table" (table 1 funcref))
    (import "env" "base" (global $base i32))
    (import "lib" "letter" (func $letter (result i32)))
    (elem (global.get $base) func $letter))
  (core module $fixup
    (import "" "0" (func $0 (param i32)))
    (import "" "$imports" (table 1 1 funcref))
    (elem (i32.const 0) func $0))
  (core instance $shim (instantiate $shim))
  (core instance $libc (instantiate $libc))
  (alias core export $shim "0" (core func $shim0))
  (core instance $host (export "text" (func $shim0)))
  (core instance $lib (instantiate $lib (with "env" (instance $libc)) (with "host" (instance $host))))
  (core instance $main (instantiate $main (with "env" (instance $libc))))
  (alias core export $shim "$imports" (core table $imports))
  (core func $lowered (canon lower (func $text) (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core instance $fixes (export "0" (func $lowered)) (export "$imports" (table $imports)))
  (core instance $fixup (instantiate $fixup (with "" (instance $fixes))))
  (core instance $init (instantiate $init (with "env" (instance $libc)) (with "lib" (instance $lib))))
  (func (export "run") (result u32) (canon lift (core func $main "run"))))
