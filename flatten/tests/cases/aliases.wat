;; The same kinds of connections through aliases, instances of inline exports and re-exports of imports.
(component
  (core module $one (func (export "one") (result i32) (i32.const 1)))
  (core module $again
    (import "x" "renamed" (func $f (result i32)))
    (export "handed-on" (func $f)))
  (core module $two
    (import "x" "renamed" (func $f (result i32)))
    (import "y" "handed-on" (func $g (result i32)))
    (func (export "two") (result i32) (i32.add (call $f) (call $g))))
  (core module $three
    (import "x" "one" (func $one (result i32)))
    (import "x" "two" (func $two (result i32)))
    (func $never (result i32) (call $one))
    (func (export "run") (result i32) (i32.add (call $one) (call $two))))
  (core instance $one (instantiate $one))
  (alias core export $one "one" (core func $f))
  (core instance $x1 (export "renamed" (func $f)))
  (core instance $again (instantiate $again (with "x" (instance $x1))))
  (core instance $two (instantiate $two (with "x" (instance $x1)) (with "y" (instance $again))))
  (alias core export $two "two" (core func $g))
  (alias core export $x1 "renamed" (core func $f2))
  (core instance $x2 (export "one" (func $f2)) (export "two" (func $g)))
  (core instance $three (instantiate $three (with "x" (instance $x2))))
  (alias core export $three "run" (core func $run))
  (func (export "run") (result u32) (canon lift (core func $run)))
  (func (export "one") (result u32) (canon lift (core func $one "one"))))
