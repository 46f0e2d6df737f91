//go:build !unix

package dir

// isBadName reports whether err means that no file can have this name. On this system
// validName has already refused such names.
func isBadName(error) bool { return false }
