;; Start functions that build upon each other: their order shows in the result.
(component
  (core module $env
    (memory (export "memory") 1)
    (data (i32.const 0) "\01\00\00\00")
    (func $start (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1))))
    (start $start))
  (core module $times
    (import "env" "memory" (memory 1))
    (func $start (i32.store (i32.const 0) (i32.mul (i32.load (i32.const 0)) (i32.const 10))))
    (start $start))
  (core module $plus
    (import "env" "memory" (memory 1))
    (func $start (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 3))))
    (start $start))
  (core module $main
    (import "env" "memory" (memory 1))
    (func (export "run") (result i32) (i32.load (i32.const 0))))
  (core instance $env (instantiate $env))
  (core instance $times (instantiate $times (with "env" (instance $env))))
  (core instance $plus (instantiate $plus (with "env" (instance $env))))
  (core instance $main (instantiate $main (with "env" (instance $env))))
  (func (export "run") (result u32) (canon lift (core func $main "run"))))
