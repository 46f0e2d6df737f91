package site

import (
	"go.yaml.in/yaml/v3"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
)

// Effective returns the effective configuration as a file, with defaults and without
// secrets.
func (c *Config) Effective() []byte {
	shared := new(settings.Catalog)
	new(origin.Common).Declare(shared)
	var sets []*yaml.Node
	for _, set := range c.Catalogs {
		sets = append(sets, set.Effective(nil))
	}
	return settings.FileText(c.Catalog.Effective(shared), sets)
}
