package blobsink

// Conditional reports whether uploads are conditional.
func (s *Sink) Conditional() bool { return s.conditional }

// SetConditional sets it.
func (s *Sink) SetConditional(conditional bool) { s.conditional = conditional }
