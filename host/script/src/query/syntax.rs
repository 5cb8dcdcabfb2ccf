//! The syntax tree of a query.

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expr {
    /// A literal.
    Constant(Constant),
    /// `-x`, of what is or reads as a number.
    Negative(Box<Expr>),
    /// `a == b != c …`, from left to right.
    Comparison(Box<Expr>, Vec<(Relation, Expr)>),
    /// `$…` or `@…`.
    Path(Path),
    /// `a.b[0]`: names and keys from the document's root on.
    Variable(Vec<Expr>),
    /// `a.b(…)`: the first name and all. There are no functions, so the arguments are of no use.
    Call(String, Vec<Expr>),
}

/// A literal.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Constant {
    /// `true`, `false`.
    Bool(bool),
    /// `42`, `.5e3`.
    Number(f64),
    /// `"x"`, `` `x` ``, `'x'`, and the names in a path.
    Text(String),
}

/// The only operators between two values. Both compare type and content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// `==`
    Equal,
    /// `!=`
    Unequal,
}

/// Steps from an origin.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Path {
    pub origin: Origin,
    /// Up to the first step with several results.
    pub definite: Vec<Step>,
    /// That step and all after it.
    pub multiple: Vec<Step>,
}

/// The value at which a path starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// `$`: the document.
    Root,
    /// `@`: the element that a filter or script looks at; null outside of them.
    Current,
}

/// A step of a path. Expressions in it see the value that the step is applied to as `@`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// `.key`, `[x]`: one member or element.
    Key(Expr),
    /// `(x)`: the value of an expression.
    Script(Expr),
    /// `.*`, `[*]`: all members or elements.
    Children,
    /// First half of `..x`: the value itself and all below.
    Descendants,
    /// `[x, y]`: those of them that are there.
    Keys(Vec<Expr>),
    /// `[from:to:step]`
    Slice { from: Expr, to: Expr, step: Expr },
    /// `[?x]`: the members or elements, each of them `@`, for which `x` is true.
    Filter(Expr),
}

impl Step {
    /// Whether the step has one result, or fails.
    pub fn is_definite(&self) -> bool {
        matches!(self, Self::Key(_) | Self::Script(_))
    }
}
