use super::*;
use proptest::prelude::*;

const TEXT: &str = "Personalities : [raid1] [raid6] [raid5] [raid4] [raid0]\n\
md0 : active raid1 sdb1[1] sda1[0](F)\n      1046528 blocks super 1.2 [2/1] [_U]\n      \n\
md1 : active raid5 nvme3n1[4] nvme2n1[2] nvme1n1[1] nvme0n1[0]\n      5626358784 blocks super 1.2 level 5, 512k chunk, algorithm 2 [4/3] [UUU_]\n      [=>...................]  recovery =  8.5% (160000000/1875452928) finish=120.5min speed=237000K/sec\n      bitmap: 0/14 pages [0KB], 65536KB chunk\n\n\
md2 : active (auto-read-only) raid1 sdc1[0] sdd1[1]\n      1046528 blocks super 1.2 [2/2] [UU]\n      \tresync=PENDING\n\n\
md3 : active raid0 sde[0] sdf[1]\n      2000 blocks super 1.2 512k chunks\n\n\
md4 : broken raid0 sdg[0] sdh[1]\n      2000 blocks super 1.2 512k chunks\n\n\
md127 : inactive sdi[1](S) sdj[0](S)\n      10402 blocks super external:imsm\n\n\
md126 : active raid1 sdi[1] sdj[0]\n      1000 blocks super external:/md127/0 [2/2] [UU]\n\n\
md5 : inactive sdk[0]\n      1000 blocks super 1.2\n       \nunused devices: <none>\n";

#[test]
fn arrays() {
    let shown: Vec<String> = parse(TEXT)
        .iter()
        .map(|one| {
            let members: Vec<String> = one
                .members
                .iter()
                .map(|member| {
                    let faulty = if member.is_faulty { "!" } else { "" };
                    let spare = if member.is_spare { "+" } else { "" };
                    format!("{}{faulty}{spare}", member.name)
                })
                .collect();
            let work = one
                .work
                .as_ref()
                .map(|work| format!("{} {}", work.kind, work.progress));
            format!(
                "{} {} {} {} {:?} {} {}",
                one.name,
                one.activity,
                one.level,
                members.join("+"),
                one.devices,
                work.unwrap_or_default(),
                one.is_container
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "md0 active raid1 sdb1+sda1! Some((2, 1))  false",
            "md1 active raid5 nvme3n1+nvme2n1+nvme1n1+nvme0n1 Some((4, 3)) recovery 8.5% false",
            "md2 active raid1 sdc1+sdd1 Some((2, 2)) resync PENDING false",
            "md3 active raid0 sde+sdf None  false",
            "md4 broken raid0 sdg+sdh None  false",
            "md127 inactive  sdi++sdj+ None  true",
            "md126 active raid1 sdi+sdj Some((2, 2))  false",
            "md5 inactive  sdk None  false",
        ]
    );
    assert!(parse("Personalities : \nunused devices: <none>\n").is_empty());
}

proptest! {
    #[test]
    fn any_text_is_survived(text in "(md[0-9]|active|raid1| : |\\[|\\]|/|[0-9]|\\(F\\)|recovery|=|%|\n| ){0,60}") {
        parse(&text);
    }

    #[test]
    fn what_the_kernel_writes_is_read(number in 0u32..200, all in 1u64..64, working in 0u64..64) {
        let text = format!("md{number} : active raid6 sda[0]\n      1000 blocks level 6, 64k chunk, algorithm 2 [{all}/{working}] [U]\n");
        let found = parse(&text);
        prop_assert_eq!(found.len(), 1);
        prop_assert_eq!(found[0].devices, Some((all, working)));
    }
}
