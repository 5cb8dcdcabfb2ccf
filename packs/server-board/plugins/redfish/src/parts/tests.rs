use super::*;
use proptest::prelude::*;

fn of(document: &str) -> Vec<Part> {
    all(&[Page {
        path: "/redfish/v1/X".to_owned(),
        document: serde_json::from_str(document).unwrap(),
    }])
}

#[test]
fn names_say_which_part() {
    for (document, kind, name) in [
        (
            r##"{"@odata.type":"#Drive.v1_9_0.Drive","Id":"Disk.Bay.3","Name":"SSD 3","Model":"KPM6","SerialNumber":"Y1","PhysicalLocation":{"PartLocation":{"ServiceLabel":"Bay 3"}},"Status":{"Health":"OK"}}"##,
            Kind::Drive,
            "SSD 3 (Bay 3, Disk.Bay.3, KPM6, serial Y1)",
        ),
        (
            r##"{"@odata.type":"#Processor.v1_16_0.Processor","Id":"GPU_SXM_3","Name":"Processor","ProcessorType":"GPU","Model":"H100","Status":{"State":"Enabled"}}"##,
            Kind::Gpu,
            "Processor (GPU_SXM_3, H100)",
        ),
        (
            r##"{"@odata.type":"#Memory.v1_7_0.Memory","Id":"1","Name":"DIMM","DeviceLocator":"P1-DIMMA1","Status":{"Health":"OK"}}"##,
            Kind::Memory,
            "DIMM (P1-DIMMA1, 1)",
        ),
    ] {
        let found = of(document);
        assert_eq!((found[0].kind, found[0].name.as_str()), (kind, name));
    }
}

#[test]
fn arrays_of_the_older_documents() {
    let found = of(
        r##"{"@odata.type":"#Thermal.v1_4_0.Thermal","Fans":[{"MemberId":"0","Name":"Fan 1","Reading":29,"ReadingUnits":"Percent","Status":{"State":"Enabled","Health":"Critical"}}],
        "Temperatures":[{"Name":"Inlet","ReadingCelsius":22.5,"Status":{"State":"Enabled","Health":"OK"}},{"Name":"x","Status":{"State":"Absent"}}],
        "Redundancy":[{"Name":"Fans","Status":{"Health":"Warning"}}]}"##,
    );
    let shown: Vec<String> = found
        .iter()
        .map(|one| {
            format!(
                "{} {} {} {:?}",
                one.path,
                one.name,
                one.health.label(),
                one.reading
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "/redfish/v1/X#/Fans/0 Fan 1 (0) Critical Some((29.0, \"Percent\"))",
            "/redfish/v1/X#/Temperatures/0 Inlet OK Some((22.5, \"Celsius\"))",
            "/redfish/v1/X#/Temperatures/1 x unknown None",
            "/redfish/v1/X#/Redundancy/0 Fans Warning None",
        ]
    );
    assert!(!found[2].is_present());
}

#[test]
fn a_fan_of_both_generations_counts_once() {
    let page = |path: &str, document: &str| Page {
        path: path.to_owned(),
        document: serde_json::from_str(document).unwrap(),
    };
    let older = r##"{"@odata.type":"#Thermal.v1_4_0.Thermal","Fans":[{"Name":"Fan 1","Status":{"Health":"OK"}}],"Temperatures":[{"Name":"Inlet","Status":{"Health":"OK"}}]}"##;
    let newer = r##"{"@odata.type":"#Fan.v1_5_0.Fan","Name":"Fan 1","Status":{"Health":"OK"}}"##;
    let unit = r##"{"@odata.type":"#Chassis.v1_9_0.Chassis","Name":"A","Status":{"HealthRollup":"CRITICAL"}}"##;
    let pages = [
        page("/redfish/v1/Chassis/A", unit),
        page("/redfish/v1/Chassis/A/Thermal", older),
        page("/redfish/v1/Chassis/A/ThermalSubsystem/Fans/1", newer),
        page("/redfish/v1/Chassis/AB/Thermal", older),
    ];
    let shown: Vec<String> = all(&pages)
        .iter()
        .map(|one| format!("{} {}", one.path, one.health.label()))
        .collect();
    assert_eq!(
        shown,
        [
            "/redfish/v1/Chassis/A Critical",
            "/redfish/v1/Chassis/A/Thermal#/Temperatures/0 OK",
            "/redfish/v1/Chassis/A/ThermalSubsystem/Fans/1 OK",
            "/redfish/v1/Chassis/AB/Thermal#/Fans/0 OK",
            "/redfish/v1/Chassis/AB/Thermal#/Temperatures/0 OK",
        ]
    );
}

proptest! {
    #[test]
    fn any_document_is_survived(name in any::<String>(), key in "(Fans|Temperatures|Status|Name)", number in any::<f64>()) {
        let document = serde_json::json!({"@odata.type": name, key: [{"Status": {"Health": name}, "Reading": number, "Name": name}], "Status": name});
        all(&[Page { path: name, document }]);
    }
}
