;; A resource whose destructor a library has, before other libraries that use the resource are made.
(component
  (core module $free
    (global $n (mut i32) (i32.const 0))
    (func (export "free") (param i32) (global.set $n (local.get 0)))
    (func (export "freed") (result i32) (global.get $n)))
  (core module $two (func (export "two") (result i32) (i32.const 2)))
  (core module $main
    (import "r" "new" (func $new (param i32) (result i32)))
    (import "r" "drop" (func $drop (param i32)))
    (import "free" "freed" (func $freed (result i32)))
    (import "two" "two" (func $two (result i32)))
    (func (export "run") (result i32)
      (call $drop (call $new (i32.const 20)))
      (i32.add (call $freed) (call $two))))
  (core module $last (import "main" "run" (func $run (result i32))) (func (export "run") (result i32) (call $run)))
  (core instance $free (instantiate $free))
  (core instance $two (instantiate $two))
  (type $r (resource (rep i32) (dtor (core func $free "free"))))
  (core func $new (canon resource.new $r))
  (core func $drop (canon resource.drop $r))
  (core instance $main (instantiate $main
    (with "r" (instance (export "new" (func $new)) (export "drop" (func $drop))))
    (with "free" (instance $free))
    (with "two" (instance $two))))
  (core instance $last (instantiate $last (with "main" (instance $main))))
  (func (export "run") (result u32) (canon lift (core func $last "run"))))
