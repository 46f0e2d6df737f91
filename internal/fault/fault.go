// Package fault lets tests make operations on files and databases fail: to end a process
// between any two of them, or to fill its disk. In programs, hooks are nil and cost nothing.
package fault

// A Hook is called before each operation, such as ("rename", "a/b.txt"). If it returns an error,
// the operation has failed and has changed nothing. A nil Hook lets all operations happen. Hooks
// are called concurrently.
type Hook func(operation, name string) error

// Before calls h, unless it is nil.
func (h Hook) Before(operation, name string) error {
	if h == nil {
		return nil
	}
	return h(operation, name)
}
