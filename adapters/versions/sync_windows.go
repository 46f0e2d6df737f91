package versions

// isUnsupported returns true: Windows cannot sync folders.
func isUnsupported(error) bool { return true }
