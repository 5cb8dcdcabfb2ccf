;; Two programs with a memory each: two memories in one module are more than pooling runtimes give it.
(component
  (core module $a (memory (export "memory") 1) (data (i32.const 0) "\01"))
  (core module $la (import "a" "memory" (memory 1)) (func (export "get") (result i32) (i32.load8_u (i32.const 0))))
  (core module $b (memory (export "memory") 1) (data (i32.const 0) "\02"))
  (core module $lb (import "b" "memory" (memory 1)) (func (export "get") (result i32) (i32.load8_u (i32.const 0))))
  (core module $sum
    (import "a" "get" (func $a (result i32)))
    (import "b" "get" (func $b (result i32)))
    (func (export "run") (result i32) (i32.sub (call $b) (call $a))))
  (core instance $a (instantiate $a))
  (core instance $la (instantiate $la (with "a" (instance $a))))
  (core instance $b (instantiate $b))
  (core instance $lb (instantiate $lb (with "b" (instance $b))))
  (core instance $sum (instantiate $sum (with "a" (instance $la)) (with "b" (instance $lb))))
  (func (export "run") (result u32) (canon lift (core func $sum "run"))))
