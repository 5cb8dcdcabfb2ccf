;; One module, two instances of it.
(component
  (core module $counter
    (global $n (mut i32) (i32.const 0))
    (func (export "count") (result i32)
      (global.set $n (i32.add (global.get $n) (i32.const 1)))
      (global.get $n)))
  (core module $a (func (export "a") (result i32) (i32.const 1)))
  (core module $b (import "a" "a" (func (result i32))))
  (core instance $one (instantiate $counter))
  (core instance $a (instantiate $a))
  (core instance $two (instantiate $counter))
  (core instance $b (instantiate $b (with "a" (instance $a))))
  (func (export "run") (result u32) (canon lift (core func $two "count"))))
