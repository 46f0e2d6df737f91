package publisher

import (
	"os"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/testmain"
)

func TestMain(m *testing.M) { os.Exit(testmain.Run(m)) }
