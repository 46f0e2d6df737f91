package destination

import (
	"net/http"

	"github.com/resourcesync-go/resourcesync/internal/fault"
)

// OpenWith is New, with a transport instead of connections, and a hook before each change of the
// state and of partial downloads.
func OpenWith(source string, sink Sink, o *Options, transport http.RoundTripper, hook fault.Hook) (*Destination, error) {
	return open(source, sink, o, seams{transport, hook})
}

// OpenFolderWith is OpenFolder, with a hook before each change of the folder.
func OpenFolderWith(name string, hook fault.Hook) (*Folder, error) {
	return openFolder(name, false, hook)
}
