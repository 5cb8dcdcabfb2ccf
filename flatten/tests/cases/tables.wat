;; A shared table with segments at offsets that only globals of another module tell, as position-independent code has.
(component
  (core module $env
    (table (export "table") 8 funcref)
    (global (export "base_b") i32 (i32.const 2))
    (global (export "base_c") i32 (i32.add (i32.const 2) (i32.const 3)))
    (global (export "got") (mut i32) (i32.const 40))
    (global (export "counter") (mut i32) (i32.const 0)))
  (core module $b
    (type $f (func (result i32)))
    (import "env" "table" (table 1 funcref))
    (import "env" "base_b" (global $base i32))
    (import "env" "got" (global $got (mut i32)))
    (func $seven (result i32) (i32.const 7))
    (func $got (result i32) (global.get $got))
    (global $second i32 (i32.add (global.get $base) (i32.const 1)))
    (func (export "index") (result i32) (global.get $second))
    (elem (global.get $base) func $seven $got))
  (core module $c
    (import "env" "table" (table 1 funcref))
    (import "env" "base_c" (global $base i32))
    (import "env" "counter" (global $counter (mut i32)))
    (func $count (result i32)
      (global.set $counter (i32.add (global.get $counter) (i32.const 100)))
      (global.get $counter))
    (elem (offset (i32.sub (global.get $base) (i32.const 1))) func $count))
  (core module $main
    (type $unused (func (param f64)))
    (type $f (func (result i32)))
    (import "env" "table" (table $table 1 funcref))
    (import "b" "index" (func $index (result i32)))
    (func (export "run") (result i32)
      (i32.add
        (call_indirect $table (type $f) (i32.const 2))
        (i32.add
          (call_indirect $table (type $f) (call $index))
          (call_indirect $table (type $f) (i32.const 4))))))
  (core instance $env (instantiate $env))
  (core instance $b (instantiate $b (with "env" (instance $env))))
  (core instance $c (instantiate $c (with "env" (instance $env))))
  (core instance $main (instantiate $main (with "env" (instance $env)) (with "b" (instance $b))))
  (func (export "run") (result u32) (canon lift (core func $main "run"))))
