//go:build race

package rshttp_test

const raceEnabled = true
