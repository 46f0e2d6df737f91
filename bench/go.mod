module github.com/resourcesync-go/resourcesync/bench

go 1.26.0

require (
	github.com/resourcesync-go/resourcesync v0.0.0
	github.com/snabb/sitemap v1.0.4
)

require github.com/snabb/diagio v1.0.4 // indirect

replace github.com/resourcesync-go/resourcesync => ../
