use super::*;

const SHAPE: Shape = Shape {
    name: "t",
    columns: &[
        Column {
            name: "id",
            definition: "uuid PRIMARY KEY",
            of_text: "{}::uuid",
        },
        Column {
            name: "a",
            definition: "text",
            of_text: "{}",
        },
    ],
    further: &["b integer"],
    indexes: &[("a", "(a)")],
};

#[test]
fn statements_are_made_of_the_shape() {
    let table = Table::new("s", "p_", &SHAPE);
    assert_eq!(table.name(), "\"s\".\"p_t\"");
    assert_eq!(
        table.create(),
        "CREATE TABLE IF NOT EXISTS \"s\".\"p_t\" (id uuid PRIMARY KEY, a text, b integer); \
             CREATE INDEX IF NOT EXISTS \"p_t_a\" ON \"s\".\"p_t\" (a);"
    );
    assert_eq!(
        table.insert,
        "INSERT INTO \"s\".\"p_t\" (id, a) SELECT u.id::uuid, u.a FROM UNNEST($1::text[], $2::text[]) AS u(id, a) \
             ON CONFLICT DO NOTHING"
    );
}

#[test]
fn nul_is_left_out() {
    let row = vec![Some("a\0b".to_owned()), None];
    assert_eq!(cell(&row, 0).as_deref(), Some("ab"));
    assert_eq!((cell(&row, 1), cell(&row, 2)), (None, None));
}
