package witrt

// Tags of Option and Result.
const (
	OptionNone uint8 = 0
	OptionSome uint8 = 1
	ResultOk   uint8 = 0
	ResultErr  uint8 = 1
)

// Option is a value that may be absent.
type Option[T any] struct {
	tag   uint8
	value T
}

// None is no value.
func None[T any]() Option[T] { return Option[T]{} }

// Some is a value.
func Some[T any](value T) Option[T] { return Option[T]{OptionSome, value} }

// Tag is OptionNone or OptionSome.
func (o Option[T]) Tag() uint8 { return o.tag }

// Some gives the value; the zero value if there is none.
func (o Option[T]) Some() T { return o.value }

// Result is a value or an error.
type Result[T, E any] struct {
	tag uint8
	ok  T
	err E
}

// Ok is a value.
func Ok[T, E any](value T) Result[T, E] { return Result[T, E]{tag: ResultOk, ok: value} }

// Err is an error.
func Err[T, E any](err E) Result[T, E] { return Result[T, E]{tag: ResultErr, err: err} }

// Tag is ResultOk or ResultErr.
func (r Result[T, E]) Tag() uint8 { return r.tag }

// IsErr says which it is.
func (r Result[T, E]) IsErr() bool { return r.tag == ResultErr }

// Ok gives the value; the zero value if there is none.
func (r Result[T, E]) Ok() T { return r.ok }

// Err gives the error; the zero value if there is none.
func (r Result[T, E]) Err() E { return r.err }

// Tuple2 is two values.
type Tuple2[A, B any] struct {
	F0 A
	F1 B
}

// Tuple3 is three values.
type Tuple3[A, B, C any] struct {
	F0 A
	F1 B
	F2 C
}

// Unit is no value.
type Unit struct{}
