;; A lowered function that needs one library's memory, and that another one imports without a shim in between: the two
;; libraries cannot become one, as the merged one would need a function that needs it.
(component
  (component $other
    (core module $m (func (export "f") (param i32 i32)) (memory (export "memory") 1)
      (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 64)))
    (core instance $m (instantiate $m))
    (func (export "f") (param "s" string)
      (canon lift (core func $m "f") (memory (core memory $m "memory")) (realloc (core func $m "realloc")))))
  (instance $other (instantiate $other))
  (alias export $other "f" (func $f))
  (core module $libc (memory (export "memory") 1))
  (core module $two (import "env" "memory" (memory 1)) (func (export "two") (result i32) (i32.const 2)))
  (core module $main
    (import "host" "f" (func $f (param i32 i32)))
    (func (export "run") (result i32) (call $f (i32.const 0) (i32.const 0)) (i32.const 5)))
  (core module $last
    (import "main" "run" (func $run (result i32)))
    (import "two" "two" (func $two (result i32)))
    (func (export "run") (result i32) (i32.add (call $run) (call $two))))
  (core instance $libc (instantiate $libc))
  (core instance $two (instantiate $two (with "env" (instance $libc))))
  (core func $lowered (canon lower (func $f) (memory (core memory $libc "memory"))))
  (core instance $main (instantiate $main (with "host" (instance (export "f" (func $lowered))))))
  (core instance $last (instantiate $last (with "main" (instance $main)) (with "two" (instance $two))))
  (func (export "run") (result u32) (canon lift (core func $last "run"))))
