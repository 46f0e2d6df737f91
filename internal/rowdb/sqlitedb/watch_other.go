//go:build !linux

package sqlitedb

// A logWatch reports nothing on this system.
type logWatch struct{}

func watchLog(string) *logWatch            { return nil }
func (*logWatch) arm() bool                { return false }
func (*logWatch) written() <-chan struct{} { return nil }
func (*logWatch) close()                   {}
