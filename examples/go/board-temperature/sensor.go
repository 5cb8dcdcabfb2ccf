package main

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"gpud.internal/gpud/sysfs"
)

const (
	// maxName is the longest label or driver name that is used, in bytes.
	maxName = 64
	// coldest and hottest are the ends of what is a temperature. A chip that does not answer shows -128, 127 or 255.
	coldest, hottest = -50, 126
)

// sensor is one temperature sensor of /sys/class/hwmon (kernel document Documentation/hwmon/sysfs-interface.rst).
type sensor struct {
	// chip is the name of the chip's driver; with a number where there are several: nvme, nvme.2.
	chip string
	// name is its label, or else its file's name: temp1.
	name string
	// path of the file.
	path string
	// readable: value is known, since the file could be read and is a plausible temperature.
	readable bool
	// value in degrees Celsius.
	value float64
}

// key is what the configuration calls it: nvme/Composite.
func (s sensor) key() string { return s.chip + "/" + s.name }

// sensors finds the sensors of files that come in any order, with hwmon2 before hwmon10.
func sensors(files []sysfs.File) []sensor {
	texts := map[string]string{}
	var inputs []sysfs.File
	for _, file := range files {
		if name := path.Base(file.Path); strings.HasPrefix(name, "temp") && strings.HasSuffix(name, "_input") {
			inputs = append(inputs, file)
		} else if text := file.Text(); file.Err == nil && isName(text) {
			texts[file.Path] = text
		}
	}
	slices.SortFunc(inputs, byNumber)
	var (
		found []sensor
		chips = map[string]string{} // by folder
		many  = map[string]int{}    // chips of a driver
		seen  = map[string]bool{}   // keys
	)
	for _, input := range inputs {
		folder, base := path.Split(input.Path)
		if _, known := chips[folder]; !known {
			driver := cmp.Or(texts[folder+"name"], "unknown")
			many[driver]++
			chips[folder] = driver
			if many[driver] > 1 {
				chips[folder] = driver + "." + strconv.Itoa(many[driver])
			}
		}
		base = strings.TrimSuffix(base, "_input")
		one := sensor{chip: chips[folder], name: cmp.Or(texts[folder+base+"_label"], base), path: input.Path}
		if seen[one.key()] {
			one.name = fmt.Sprintf("%s (%s)", one.name, base)
		}
		seen[one.key()] = true
		if thousandths, err := strconv.ParseInt(input.Text(), 10, 64); err == nil && input.Err == nil {
			one.value = float64(thousandths) / 1000
			one.readable = one.value > coldest && one.value < hottest
		}
		found = append(found, one)
	}
	return found
}

func isName(text string) bool {
	return text != "" && len(text) <= maxName && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' })
}

// byNumber orders files by the numbers of chip and sensor.
func byNumber(a, b sysfs.File) int {
	return cmp.Or(
		cmp.Compare(number(path.Base(path.Dir(a.Path))), number(path.Base(path.Dir(b.Path)))),
		cmp.Compare(number(path.Base(a.Path)), number(path.Base(b.Path))),
		cmp.Compare(a.Path, b.Path),
	)
}

// number is the first number in a name.
func number(name string) uint64 {
	name = strings.TrimLeftFunc(name, func(r rune) bool { return r < '0' || r > '9' })
	if end := strings.IndexFunc(name, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		name = name[:end]
	}
	found, _ := strconv.ParseUint(name, 10, 64)
	return found
}
