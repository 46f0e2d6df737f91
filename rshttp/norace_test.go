//go:build !race

package rshttp_test

const raceEnabled = false
