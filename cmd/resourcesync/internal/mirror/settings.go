package mirror

import (
	"log/slog"
	"math"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/completion"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/requests"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/copyname"
)

// A Config is the command line of mirror.
type Config struct {
	Source, Folder string // folder may be the URL of a bucket
	state          string // the folder of the state of a copy in a bucket

	requests.Settings
	requests.CopyLimits
	requests.Callback
	audit, json, follow     bool
	moved, rebuild, replace bool
	maxDelete               float64
	every                   time.Duration
	status                  string
	dumps, logFormat, only  string
	name                    string // for the operators of the Source
}

func (m *Config) Declare(c *settings.Catalog) {
	m.Settings.Declare(c)
	m.CopyLimits.Declare(c)
	m.Callback.Declare(c)
	c.Add(
		settings.Setting{Name: "audit", Value: settings.Bool(&m.audit),
			Text: `Compare the copy with the Source and with the contents received, and change nothing. The next run
				without --audit repairs the differences. While another process follows the Source, that process
				audits and repairs.`},
		settings.Setting{Name: "every", Value: settings.Span(&m.every), Default: "0",
			Text: `Keep running, and update the copy at this interval, such as 15m. With 0, update it once and exit,
				or every 15 minutes with --follow.`},
		settings.Setting{Name: "follow", Value: settings.Bool(&m.follow),
			Text: "Keep running, and receive changes when the Source sends them."},
		settings.Setting{Name: "json", Value: settings.Bool(&m.json), Group: settings.Logs,
			Text: "Print the result as JSON."},
		settings.Setting{Name: "log-format", Value: settings.Choice(&m.logFormat, "text", "json"), Default: "text", Group: settings.Logs,
			Text: "The format of log messages: text or json."},
		settings.Setting{Name: "max-delete", Value: settings.Percent(&m.maxDelete), Default: "25%",
			Text: `The share of the copy that is deleted because Resource Lists no longer list it. More
				deletions are held, because a broken Source looks the same. One or two are never held, unless
				nothing would be left. The resources of a set that the Source no longer names are held,
				however few they are. 100% holds nothing. Deletions in Change Lists are always followed.`},
		settings.Setting{Name: "moved", Value: settings.Bool(&m.moved), Group: settings.State,
			Text: `Continue a copy whose Source has a new URL. The Source must list resources of the copy, or
				the run fails. They get their new URIs and keep their files, and only those that differ are
				requested.`},
		settings.Setting{Name: "name", Value: settings.Text(&m.name), Without: "none",
			Text: `A name for the copy, shown to the operators of the Source, such as library-berlin. Only the host of URL
				gets it, in the User-Agent.`},
		settings.Setting{Name: "only", Value: settings.Text(&m.only), Without: "none; all lists of the Source are copied", Group: settings.Lists,
			Text: `Restrict a new copy to the Resource List or Resource Dump at this URL, and to the Change Lists and
				dumps of its set. Later runs need not repeat the flag.`},
		settings.Setting{Name: "rebuild", Value: settings.Bool(&m.rebuild), Group: settings.State,
			Text: `Rebuild a damaged or lost state. A file in the place of a resource whose content is that of the
				Source is adopted; it is requested only if the Source lists no hash. Others are named, and stay. A
				damaged state is put aside.`},
		settings.Setting{Name: "replace", Value: settings.Bool(&m.replace), Group: settings.State,
			Text: "With --rebuild, replace files in the places of resources whose contents differ."},
		settings.Setting{Name: "state-folder", Value: settings.Text(&m.state), Without: "none; the state of a copy in a folder is in that folder", Group: settings.State, Offer: completion.Folders,
			Text: "The folder of this computer with the state of a copy in a bucket."},
		settings.Setting{Name: "status", Value: settings.Text(&m.status),
			Text: `An address and port with a status page for operators, such as 127.0.0.1:8082, with --follow or
				--every: how far behind the copy is, what failed, held deletions, channels, pauses, and the next run.
				It is HTML for browsers and JSON for programs, and has /healthz and /metrics too. Restrict it to this
				computer or your own network.`},
		settings.Setting{Name: "use-dumps", Value: settings.Choice(&m.dumps, "auto", "always", "never"), Default: "auto", Group: settings.Dumps,
			Text: `Whether Resource Dumps and Change Dumps are used. With auto, a package is downloaded if that costs
				less than requests for the needed resources in it; with always, whenever it has a needed resource;
				with never, not at all.`},
	)
}

func (m *Config) Check() error {
	var f settings.Faults
	f.If(m.every < 0 || m.every > 0 && m.every < time.Second, "every", "give a time of at least a second, such as 15m")
	f.If(m.audit && (m.every > 0 || m.follow), "audit", "excludes --every and --follow")
	f.If(m.moved && (m.audit || m.rebuild), "moved", "excludes --audit and --rebuild")
	f.If(m.rebuild && (m.audit || m.every > 0 || m.follow), "rebuild", "excludes --audit, --every and --follow")
	f.If(m.replace && !m.rebuild, "replace", "needs --rebuild")
	f.If(m.status != "" && !m.follow && m.every == 0, "status", "needs --follow or --every, because a run that ends at once has no status; its output and exit status say what it did")
	f.If(m.CallbackListen != "" && !m.follow, "callback-listen", "needs --follow")
	f.If(m.CallbackURL != "" && !m.follow, "callback-url", "needs --follow")
	f.If(m.name != "" && !copyname.Valid(m.name), "name", "give %s", copyname.Rule)
	f.If(m.only != "" && requests.CheckURL(m.only) != nil, "only", "give the URL of a list, such as https://example.org/resourcelist.xml")
	f.Add(requests.CheckURL(m.Source), m.Settings.Check(), m.Callback.Check(), m.checkState())
	return f.Err()
}

// options returns the options of the Destination.
func (c *Config) options(log *slog.Logger, progress func(destination.Progress)) *destination.Options {
	o := &destination.Options{
		State: c.state,
		Allow: c.Addresses, Rate: c.Rate, Concurrency: c.Concurrency, IgnoreRobots: c.IgnoreRobots,
		MaxResource: c.MaxResource, MaxBytes: c.MaxSize, MaxState: c.MaxState, MaxDelete: c.maxDelete,
		Moved: c.moved, Rebuild: c.rebuild, Replace: c.replace,
		Progress: progress, Logger: log,
	}
	o.Only, o.Name = c.only, c.name
	if c.dumps != "auto" {
		o.Dumps = destination.Dumps(c.dumps)
	}
	if o.MaxDelete == 0 {
		o.MaxDelete = math.SmallestNonzeroFloat64 // zero is the default
	}
	return o
}
