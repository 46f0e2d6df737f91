package main

import (
	"time"

	"gorm.io/gorm"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
)

//docs:begin hooks

// A Paper is a row whose changes the application records itself, in the transactions that make
// them.
type Paper struct {
	Slug      string `gorm:"primaryKey;size:100"`
	Text      string
	UpdatedAt time.Time
}

// Papers are the journal of the papers, and the URL below which they are.
var Papers struct {
	Journal *sqlstore.Journal
	URL     string
}

// AfterCreate, AfterUpdate and AfterDelete are hooks of GORM. If they fail, the write is rolled back.
func (p *Paper) AfterCreate(tx *gorm.DB) error { return p.record(tx, resourcesync.Created) }
func (p *Paper) AfterUpdate(tx *gorm.DB) error { return p.record(tx, resourcesync.Updated) }
func (p *Paper) AfterDelete(tx *gorm.DB) error { return p.record(tx, resourcesync.Deleted) }

func (p *Paper) record(tx *gorm.DB, change resourcesync.ChangeType) error {
	return Papers.Journal.Record(tx.Statement.Context, sqlstore.SQLTx(tx.Statement.ConnPool), resourcesync.Change{
		Type:     change,
		Resource: resourcesync.Resource{Key: p.Slug, URI: Papers.URL + p.Slug, LastModified: p.UpdatedAt},
	})
}

//docs:end
