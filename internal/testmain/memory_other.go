//go:build !linux

package testmain

// inMemory returns "": the system has no common file system in memory.
func inMemory() string { return "" }
