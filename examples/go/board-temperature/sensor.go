package main

import (
	"cmp"
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
	// key is what the configuration calls it: nvme/Composite.
	key string
	// path of the file.
	path string
	// readable: value is known, since the file could be read and is a plausible temperature.
	readable bool
	// value in degrees Celsius.
	value float64
}

// place is where a sensor is: its file, the folder of its chip, and the numbers of both, by which the kernel orders.
type place struct {
	chip, sensor uint64
	folder       string
	file         *sysfs.File
}

// sensors finds the sensors of all files temp*_input, temp*_label and name, with hwmon2 before hwmon10.
func sensors(inputs, labels, names []sysfs.File) []sensor {
	places := make([]place, len(inputs))
	for i := range inputs {
		folder, base := path.Split(inputs[i].Path)
		places[i] = place{number(path.Base(folder)), number(base), folder, &inputs[i]}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.chip, b.chip), strings.Compare(a.folder, b.folder),
			cmp.Compare(a.sensor, b.sensor), strings.Compare(a.file.Path, b.file.Path))
	})
	var (
		drivers = texts(names, "name")
		labelOf = texts(labels, "_label")
		found   = make([]sensor, 0, len(places))
		many    = map[string]int{}                   // chips of a driver
		seen    = make(map[string]bool, len(places)) // keys
		chip    string
	)
	for i, place := range places {
		if i == 0 || place.folder != places[i-1].folder {
			chip = cmp.Or(drivers[place.folder], "unknown")
			many[chip]++
			if count := many[chip]; count > 1 {
				chip += "." + strconv.Itoa(count)
			}
		}
		stem := strings.TrimSuffix(place.file.Path, "_input")
		base := stem[len(place.folder):]
		one := sensor{chip: chip, name: cmp.Or(labelOf[stem], base), path: place.file.Path}
		one.key = chip + "/" + one.name
		if seen[one.key] {
			one.name += " (" + base + ")"
			one.key = chip + "/" + one.name
		}
		seen[one.key] = true
		one.value, one.readable = celsius(place.file)
		found = append(found, one)
	}
	return found
}

// texts has the texts of files that hold a name, by path without the suffix.
func texts(files []sysfs.File, suffix string) map[string]string {
	out := make(map[string]string, len(files))
	for i := range files {
		if text := files[i].Text(); files[i].Err == nil && isName(text) {
			out[strings.TrimSuffix(files[i].Path, suffix)] = text
		}
	}
	return out
}

func isName(text string) bool {
	return text != "" && len(text) <= maxName && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' })
}

// celsius is a sensor's reading, if it is one.
func celsius(input *sysfs.File) (float64, bool) {
	thousandths, err := strconv.ParseInt(input.Text(), 10, 64)
	if err != nil || input.Err != nil {
		return 0, false
	}
	value := float64(thousandths) / 1000
	return value, value > coldest && value < hottest
}

// number is the first number in a name.
func number(name string) uint64 {
	isDigit := func(letter byte) bool { return letter >= '0' && letter <= '9' }
	for name != "" && !isDigit(name[0]) {
		name = name[1:]
	}
	var out uint64
	for ; name != "" && isDigit(name[0]); name = name[1:] {
		out = 10*out + uint64(name[0]-'0')
	}
	return out
}
