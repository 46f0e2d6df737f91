//go:build !unix

package pgtest

// leaveRoot does nothing: there is no root.
func (s *Server) leaveRoot() {}
