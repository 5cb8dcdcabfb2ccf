use super::*;
use gpud_builtin_ipmi::states::Weight;
use proptest::prelude::*;

/// Composed on the form of iDRAC 8 and 9.
const TEXT: &str = "\
Sensor Type : POWER
<Sensor Name>                   <Status>                 <Type>
PS1 Status                      Present                  AC
PS2 Status                      Input Lost               AC
PS3 Status                      Absent                   N/A

Sensor Type : TEMPERATURE
<Sensor Name>            <Status>    <Reading> <lc> <uc>  <lnc>[R/W]  <unc>[R/W]
[Key = iDRAC.Embedded.1#SystemBoardInletTemp]
System Board Inlet Temp       Ok      21C      -7C  47C      3C [Y]      42C [Y]
CPU1 Temp                     Critical      99C      3C   98C      8C [N]      93C [N]

Sensor Type : FAN
<Sensor Name>                   <Status>    <Reading>   <lc>        <uc>        <PWM %>
System Board Fan1A              Ok          5880RPM     600RPM      NA          23%
System Board Fan2A              Critical    0RPM        600RPM      NA          0%

Sensor Type : VOLTAGE
<Sensor Name>                   <Status>    <Reading>   <lc>        <uc>
CPU1 VCORE PG                   Ok          Good                NA          NA
CPU2 VCORE PG                   Critical    Bad                 NA          NA
PS1 Voltage 1                   Ok          222.00V             NA          NA

Sensor Type : CURRENT
System Board Pwr Consumption  Ok      224Watts NA   980Watts 0Watts [N]      896Watts [Y]

Sensor Type : MEMORY
DIMM A1                         Ok          Presence_Detected   NA          NA
DIMM A5                         N/A         Absent              NA          NA

Sensor Type : BATTERY
System Board CMOS Battery       Ok          Present             NA          NA
PERC1 ROMB Battery              Critical    Failed              NA          NA

Sensor Type : INTRUSION
System Board Intrusion          Closed         Power ON

Sensor Type : REDUNDANCY
System Board Fan Redundancy     Full Redundant           Fan
System Board PS Redundancy      Lost                     PSU

Sensor Type : SYSTEM PERFORMANCE
System Board CPU Usage   Ok             99%     NA  NA    NA  [N]      101% [Y]
";

#[test]
fn lines() {
    let shown: Vec<String> = parse(TEXT)
        .iter()
        .map(|one| {
            let status = one.status.map_or("none", Status::label);
            let value = one
                .value
                .as_ref()
                .map(|(value, unit)| format!("{value} {unit}"));
            format!(
                "{}: {status} {} {} {}",
                one.name,
                one.entity,
                value.unwrap_or_default(),
                one.states.join("+")
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "PS1 Status: none 10  Presence detected",
            "PS2 Status: cr 10  Presence detected+Power Supply AC lost",
            "PS3 Status: none 10  ",
            "System Board Inlet Temp: ok 0 21 degrees C ",
            "CPU1 Temp: cr 0 99 degrees C ",
            "System Board Fan1A: ok 29 5880 RPM ",
            "System Board Fan2A: cr 29 0 RPM ",
            "CPU1 VCORE PG: ok 0  ",
            "CPU2 VCORE PG: cr 0  Bad",
            "PS1 Voltage 1: ok 0 222 Volts ",
            "System Board Pwr Consumption: ok 0 224 Watts ",
            "DIMM A1: ok 32  Presence Detected",
            "DIMM A5: none 32  ",
            "System Board CMOS Battery: ok 40  ",
            "PERC1 ROMB Battery: cr 40  Failed",
            "System Board Fan Redundancy: none 0  Fully Redundant",
            "System Board PS Redundancy: none 0  Redundancy Lost",
        ]
    );
    let sensors = parse(TEXT);
    let worst = |at: usize| sensors[at].worst().map(|(state, _)| state.weight);
    assert_eq!(worst(1), Some(Weight::Warning));
    assert_eq!(worst(16), Some(Weight::Warning));
    assert_eq!((worst(0), worst(11), worst(15)), (None, None, None));
}

proptest! {
    #[test]
    fn any_text_is_survived(text in "(Sensor Type : (POWER|FAN|MEMORY|REDUNDANCY)\n)?[ -~\n é]{0,200}") {
        for sensor in parse(&text) {
            prop_assert!(sensor.value.is_none_or(|(value, _)| value.is_finite()));
            prop_assert!(sensor.name.len() <= MAX_TEXT && sensor.states.len() <= 2);
        }
    }
}
