;; Three instances are as few as it gets.
(component
  (core module $a (func (export "a") (result i32) (i32.const 1)))
  (core module $b (import "a" "a" (func $a (result i32))) (func (export "b") (result i32) (call $a)))
  (core module $c (import "b" "b" (func $b (result i32))) (func (export "run") (result i32) (call $b)))
  (core instance $a (instantiate $a))
  (core instance $b (instantiate $b (with "a" (instance $a))))
  (core instance $c (instantiate $c (with "b" (instance $b))))
  (func (export "run") (result u32) (canon lift (core func $c "run"))))
