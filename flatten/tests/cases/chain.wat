;; Nothing but such chains: no two instances can become one.
(component
  (component $other
    (core module $m (func (export "f") (param i32 i32)) (memory (export "memory") 1)
      (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 64)))
    (core instance $m (instantiate $m))
    (func (export "f") (param "s" string)
      (canon lift (core func $m "f") (memory (core memory $m "memory")) (realloc (core func $m "realloc")))))
  (instance $other (instantiate $other))
  (alias export $other "f" (func $f))
  (core module $a (memory (export "memory") 1))
  (core module $b (import "x" "f" (func (param i32 i32))) (memory (export "memory") 1))
  (core module $c (import "x" "f" (func (param i32 i32))) (memory (export "memory") 1))
  (core module $d
    (import "x" "f" (func $f (param i32 i32)))
    (func (export "run") (result i32) (call $f (i32.const 0) (i32.const 0)) (i32.const 3)))
  (core instance $a (instantiate $a))
  (core func $fa (canon lower (func $f) (memory (core memory $a "memory"))))
  (core instance $b (instantiate $b (with "x" (instance (export "f" (func $fa))))))
  (core func $fb (canon lower (func $f) (memory (core memory $b "memory"))))
  (core instance $c (instantiate $c (with "x" (instance (export "f" (func $fb))))))
  (core func $fc (canon lower (func $f) (memory (core memory $c "memory"))))
  (core instance $d (instantiate $d (with "x" (instance (export "f" (func $fc))))))
  (func (export "run") (result u32) (canon lift (core func $d "run"))))
