//! Verdicts where the site expects no number of links.

use super::*;

#[test]
fn without_a_threshold() {
    let ok = Some(0);
    let no_way = "no GPU pairs report NVLink P2P connectivity on 2-GPU NVLink-capable system";
    let no_links = "no GPUs report active nvlink links on 2-GPU NVLink-capable system";
    let fine = "all 2 GPU(s) were checked, no nvlink issue found";
    for (what, product, readings, ways, reason, action) in [
        (
            "all well",
            H100,
            vec![up(), up()],
            vec![ok],
            Ok(fine),
            &[][..],
        ),
        (
            "a link is down, but there is a way",
            H100,
            vec![up(), down()],
            vec![ok],
            Ok(fine),
            &[],
        ),
        (
            "links are down, but there is a way",
            H100,
            vec![down(), down()],
            vec![ok],
            Ok(fine),
            &[],
        ),
        (
            "no way, none supported",
            H100,
            vec![up(), up()],
            vec![Some(5)],
            Err(format!("{no_way} (peer nvlink p2p statuses=NS)")),
            &[],
        ),
        (
            "no way, and nobody knows why",
            H100,
            vec![up(), up()],
            vec![Some(6)],
            Err(format!("{no_way} (peer nvlink p2p statuses=U)")),
            REBOOT,
        ),
        (
            "no way, and a link is down",
            H100,
            vec![up(), down()],
            vec![Some(1)],
            Err(format!(
                "{no_way} (peer nvlink p2p statuses=CNS; inactive nvlinks={GPU_1})"
            )),
            REBOOT,
        ),
        (
            "ways could not be asked, links are up",
            H100,
            vec![up(), up()],
            vec![None],
            Ok(fine),
            &[],
        ),
        (
            "ways could not be asked, links are down",
            H100,
            vec![down(), none()],
            vec![None],
            Err(format!(
                "{no_links} (inactive nvlinks={GPU_0}; unsupported nvlinks={GPU_1})"
            )),
            REBOOT,
        ),
        (
            "no links at all",
            H100,
            vec![none(), none()],
            vec![None],
            Err(format!("{no_links} (unsupported nvlinks={GPU_0},{GPU_1})")),
            &[],
        ),
        (
            "a product without",
            "NVIDIA A10",
            vec![none(), none()],
            vec![Some(5)],
            Ok(fine),
            &[],
        ),
        (
            "cards in slots",
            "NVIDIA H100 PCIe",
            vec![down(), down()],
            vec![Some(6)],
            Ok(fine),
            &[],
        ),
        (
            "MIG",
            H100,
            vec![mig(down()), mig(down())],
            vec![],
            Ok(fine),
            &[],
        ),
        (
            "one in MIG",
            H100,
            vec![mig(down()), down()],
            vec![],
            Ok(fine),
            &[],
        ),
    ] {
        let report = default(&on(product, readings), &ways);
        let (health, reason) = match &reason {
            Ok(reason) => (Health::Healthy, *reason),
            Err(reason) => (Health::Unhealthy, reason.as_str()),
        };
        assert_eq!(short(&report), (health, reason, action), "{what}");
    }
}
