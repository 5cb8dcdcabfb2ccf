//! Which machine this is: the name of its file on a volume that many machines share.

/// Longest name, bytes.
const MAX: usize = 128;

/// The number of the board, else of the installation; empty when neither is known or usable as a file's name.
pub fn machine_id(board: &str, installation: &str) -> String {
    let candidates = [
        board.trim().to_ascii_lowercase(),
        installation.trim().to_owned(),
    ];
    candidates
        .into_iter()
        .find(|id| is_name(id))
        .unwrap_or_default()
}

fn is_name(id: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    !id.is_empty() && id.len() <= MAX && id.bytes().all(fits) && !id.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_can_be_a_name() {
        let installation = "5b2f0c8d4e9a4f6f8d1b7c3a2e6d9f10";
        for (board, installed, expected) in [
            ("0F7C1D52-90AA\n", installation, "0f7c1d52-90aa"),
            ("", "5b2f0c8d4e9a4f6f8d1b7c3a2e6d9f10\n", installation),
            ("../x", installation, installation),
            ("a b", installation, installation),
            ("-rf", "", ""),
            ("", "\u{fffd}\0", ""),
            (&"x".repeat(129), "", ""),
        ] {
            assert_eq!(machine_id(board, installed), expected);
        }
    }
}
