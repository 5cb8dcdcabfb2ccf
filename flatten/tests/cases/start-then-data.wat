;; A segment overwrites what an earlier instance's start function has written. In a module all segments come first, so
;; the instance with the segment has to stay by itself.
(component
  (core module $env
    (memory (export "memory") 1)
    (func $start (i32.store8 (i32.const 0) (i32.const 1)))
    (start $start))
  (core module $other (import "env" "memory" (memory 1)) (func (export "one") (result i32) (i32.const 1)))
  (core module $late (import "env" "memory" (memory 1)) (data (i32.const 0) "\09"))
  (core module $main
    (import "env" "memory" (memory 1))
    (import "other" "one" (func $one (result i32)))
    (func (export "run") (result i32) (i32.add (call $one) (i32.load8_u (i32.const 0)))))
  (core instance $env (instantiate $env))
  (core instance $other (instantiate $other (with "env" (instance $env))))
  (core instance $late (instantiate $late (with "env" (instance $env))))
  (core instance $main (instantiate $main (with "env" (instance $env)) (with "other" (instance $other))))
  (func (export "run") (result u32) (canon lift (core func $main "run"))))
