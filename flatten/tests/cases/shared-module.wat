;; A nested component instantiates a module of the outer one.
(component
  (core module $a (func (export "a") (result i32) (i32.const 1)))
  (core module $b (import "a" "a" (func $a (result i32))) (func (export "b") (result i32) (call $a)))
  (core module $c (import "b" "b" (func $b (result i32))) (func (export "c") (result i32) (call $b)))
  (core module $d (import "c" "c" (func $c (result i32))) (func (export "run") (result i32) (call $c)))
  (core instance $a (instantiate $a))
  (core instance $b (instantiate $b (with "a" (instance $a))))
  (core instance $c (instantiate $c (with "b" (instance $b))))
  (core instance $d (instantiate $d (with "c" (instance $c))))
  (component $nested
    (core instance $a (instantiate $a))
    (func (export "one") (result u32) (canon lift (core func $a "a"))))
  (func (export "run") (result u32) (canon lift (core func $d "run"))))
