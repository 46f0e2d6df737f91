//go:build !unix

package pgtest

// leaveRoot does nothing: there is no root.
func (s *Server) leaveRoot() {}

// own does nothing: the user of the server has the file.
func (s *Server) own(string) {}
