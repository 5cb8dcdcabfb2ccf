;; Modules that share a memory and call each other, all directly.
(component
  (core module $memory
    (memory (export "memory") 1)
    (data (i32.const 8) "\01\02\03\04"))
  (core module $load
    (import "env" "memory" (memory 1))
    (func (export "load") (param i32) (result i32) (i32.load8_u (local.get 0))))
  (core module $write
    (import "env" "memory" (memory 1))
    (data (i32.const 9) "\0a"))
  (core module $sum
    (import "load" "load" (func $load (param i32) (result i32)))
    (import "env" "memory" (memory $memory 1))
    (func $sum (export "run") (result i32)
      (i32.add
        (i32.add (call $load (i32.const 8)) (call $load (i32.const 9)))
        (i32.load8_u (i32.const 10)))))
  (core instance $memory (instantiate $memory))
  (core instance $load (instantiate $load (with "env" (instance $memory))))
  (core instance $write (instantiate $write (with "env" (instance $memory))))
  (core instance $sum (instantiate $sum (with "load" (instance $load)) (with "env" (instance $memory))))
  (func (export "run") (result u32) (canon lift (core func $sum "run"))))
