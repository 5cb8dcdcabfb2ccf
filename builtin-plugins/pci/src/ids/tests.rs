use super::*;
use proptest::prelude::*;

const TEXT: &str = "# comment\n\
        10de  NVIDIA Corporation\n\
        \t2330  GH100 [H100 SXM5 80GB]\n\
        \t\t10de 16c0  a subsystem\n\
        \t2331  GH100 [H100 PCIe]\n\
        \n\
        1af4  Red Hat, Inc.\n\
        \t2330  not this one\n\
        \u{fffd}\0broken\n\
        \tffff  of nobody\n\
        C 03  Display controller\n\
        \t00  VGA compatible controller\n\
        \t\t00  VGA controller\n\
        \t02  3D controller\n\
        C 06  Bridge\n";

#[test]
fn names_of_numbers() {
    let numbers = |class, vendor, device| Numbers {
        class,
        vendor,
        device,
    };
    let ids = Ids::new(TEXT.to_owned());
    let names = ids.names(&[
        numbers(0x0302, 0x10de, 0x2330),
        numbers(0x0604, 0x10de, 0x9999),
        numbers(0xff00, 0x8086, 0x2330),
        numbers(0x0300, 0x1af4, 0xffff),
    ]);
    assert_eq!(
        names,
        [
            [
                Some("3D controller"),
                Some("NVIDIA Corporation"),
                Some("GH100 [H100 SXM5 80GB]")
            ],
            [Some("Bridge"), Some("NVIDIA Corporation"), None],
            [None, None, None],
            [
                Some("VGA compatible controller"),
                Some("Red Hat, Inc."),
                None
            ],
        ]
    );
    assert_eq!(Ids::default().names(&[Numbers::default()]), [[None; 3]]);
}

proptest! {
    #[test]
    fn any_text_is_survived(text in "((\t|\t\t|C )?[0-9a-f]{1,4}  [a-z]{0,3}\n|\\PC{0,20}\n){0,9}") {
        Ids::new(text).names(&[Numbers::default()]);
    }
}
