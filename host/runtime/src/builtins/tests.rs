use super::*;

#[test]
fn an_archive_is_made_once_and_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("archive");
    let components = ["(component)", "(component (core module))"];
    let components = components.map(|text| wat::parse_str(text).unwrap());
    let components: Vec<&[u8]> = components.iter().map(Vec::as_slice).collect();
    let first = compile(&components, None, &file).unwrap();
    assert_eq!((first.components, first.compiled), (2, 2));
    std::fs::write(&file, &first.archive).unwrap();
    let second = compile(&components, None, &file).unwrap();
    assert_eq!((second.components, second.compiled), (2, 0));
    assert!(first.archive == second.archive);

    let archive = Archive::open(Parts::open(&file).unwrap()).unwrap().unwrap();
    let engine = engine::for_target(engine::HOST_TARGET).unwrap();
    for wasm in components {
        let code = archive
            .code(cache::key(&engine, Wasm::Bytes(wasm)))
            .unwrap();
        assert!(code.is_some_and(|code| !code.is_empty()));
    }
}

#[test]
fn code_takes_the_place_of_other_code_behind_the_program_of_its_components() {
    let folder = tempfile::tempdir().unwrap();
    let compile = |text: &str| {
        let wasm = wat::parse_str(text).unwrap();
        compile(&[&wasm], None, folder.path()).unwrap()
    };
    let (first, second) = (compile("(component)"), compile("(component (core module))"));
    let before = [b"program".as_slice(), &first.sums[0], &second.sums[0]].concat();
    let mut program = before.clone();
    for compiled in [&first, &second, &second] {
        compiled.append_to(&mut program).unwrap();
        assert!(program == [&*before, &*compiled.archive].concat());
    }
    let mut other = [b"program".as_slice(), &first.sums[0]].concat();
    let error = second.append_to(&mut other).unwrap_err();
    assert!(error.contains("1 of the 1 compiled components"), "{error}");
    assert!(other.ends_with(&first.sums[0]), "it stays as it was");
}

#[test]
fn what_cannot_be_compiled_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let error = |components: &[&[u8]], target| {
        let compiled = compile(components, target, folder.path());
        compiled.err().unwrap()
    };
    assert!(error(&[b"no component"], None).contains("cannot be compiled"));
    let of_target = error(&[], Some("no-such-machine"));
    assert!(of_target.contains("no-such-machine"), "{of_target}");
}
