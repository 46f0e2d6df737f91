package versions

// isUnsupported reports whether folders cannot be synced, as on Windows.
func isUnsupported(error) bool { return true }
