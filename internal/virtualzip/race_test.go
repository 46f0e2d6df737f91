//go:build race

package virtualzip_test

const raceEnabled = true
