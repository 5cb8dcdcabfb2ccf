use std::{fs, os::unix::fs::MetadataExt as _};

use super::*;

#[test]
fn a_token_is_made_once_and_only_its_owner_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data").join(TOKEN_FILE);
    let token = Token::open(&file).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    let text = read(&file).unwrap();
    assert_eq!(text.len(), 64);
    assert!(token.is(text.as_bytes()));
    for wrong in [
        "",
        "x",
        &text[..63],
        &format!("{text}0"),
        &text.to_uppercase(),
    ] {
        // All digits: the same in upper case.
        assert!(!token.is(wrong.as_bytes()) || wrong == text, "{wrong}");
    }
    let again = Token::open(&file).unwrap();
    assert!(again.is(text.as_bytes()));
    let other = Token::open(&folder.path().join("other")).unwrap();
    assert!(!other.is(text.as_bytes()));
}

#[test]
fn an_own_token_is_taken_and_a_new_one_replaces_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own");
    fs::write(&file, "  correct-horse-battery\n").unwrap();
    let token = Token::open(&file).unwrap();
    assert!(token.is(b"correct-horse-battery"));
    fs::write(&file, "staple-correct-horse").unwrap();
    token.reload().unwrap();
    assert!(token.is(b"staple-correct-horse") && !token.is(b"correct-horse-battery"));
    fs::write(&file, "short").unwrap();
    assert!(token.reload().is_err());
    assert!(
        token.is(b"staple-correct-horse"),
        "the one of before still counts"
    );
}

#[test]
fn what_is_no_token_is_refused_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    for content in [
        "",
        "short",
        "sixteen letters with blanks",
        "sechzehn-zeichen-ü",
    ] {
        fs::write(&file, content).unwrap();
        let error = Token::open(&file).unwrap_err().to_string();
        assert!(error.contains(&file.display().to_string()), "{error}");
    }
    fs::write(&file, "x".repeat(5000)).unwrap();
    assert!(matches!(Token::open(&file), Err(TokenError::Read(_))));
    // A file that stands where a folder should be.
    let error = Token::open(&file.join("below")).unwrap_err();
    assert!(error.to_string().contains("--token-file"), "{error}");
}

#[test]
fn a_file_that_others_can_change_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("open").join("token");
    Token::open(&file).unwrap();
    let parent = file.parent().unwrap();
    fs::set_permissions(parent, fs::Permissions::from_mode(0o777)).unwrap();
    for name in ["token", "new"] {
        let error = Token::open(&parent.join(name)).unwrap_err().to_string();
        assert!(error.contains("chmod go-w"), "{error}");
    }
    assert!(!parent.join("new").exists(), "none is made there");
}
