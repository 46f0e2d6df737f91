package site

import (
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/completion"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
)

// Declare adds the settings of the site. Settings without a group are for a first use.
func (s *Config) Declare(c *settings.Catalog) {
	c.Add(
		settings.Setting{Name: "listen", Value: settings.Text(&s.Listen), Default: "127.0.0.1:8080", Also: []string{"p", "port"}, Restart: true,
			Text: `The address and port to listen on. The default accepts connections from this computer only,
				0.0.0.0:8080 from everywhere. Port 0 is any free port.`},
		settings.Setting{Name: "base-url", Value: settings.Text(&s.BaseURL), Without: "http://, or https:// with --tls-cert, and the address of --listen", Restart: true,
			Text: `The public URL of the site, such as https://files.example.org/. The URLs of all documents begin
			with it, and those of the files and pages that this program serves. A proxy in front must not
			change paths.`},
		settings.Setting{Name: "prefix", Value: settings.Text(&s.Prefix), Default: "/resourcesync/", Restart: true,
			Text: `The path of the ResourceSync documents below the base URL. Files and pages at this path are not
			published. With /, the documents are at the top of the site, and only files and folders with the
			same names are not published; the log names them.`},
		settings.Setting{Name: "client-header", Value: settings.Text(&s.ClientHeader), Group: settings.Address, Restart: true,
			Text: `The header in which a proxy in front states the address of the client, such as X-Forwarded-For;
				the last address in it counts. It identifies clients for limits on packages and on the hub, and in
				the access log. Use it only behind a proxy that sets the header, because clients can set it too.`},
		settings.Setting{Name: "tls-cert", Value: settings.Text(&s.TlsCert), Without: "none, for http", Group: settings.Address, Offer: completion.Files, Restart: true,
			Text: `The file with the certificate chain (PEM), for https. It is read again when it changes. From 30
				days before it expires, the log warns.`},
		settings.Setting{Name: "tls-key", Value: settings.Text(&s.TlsKey), Group: settings.Address, Offer: completion.Files, Restart: true,
			Text: "The file with the private key of --tls-cert."},
		settings.Setting{Name: "status", Value: settings.Text(&s.Status), Restart: true,
			Text: `A second address and port with a status page for operators, as HTML for browsers and as JSON for
				programs: problems, the last scan, counters, the progress of hubs and subscribers, and the
				harvesters. It also serves /metrics for Prometheus. Restrict it to this computer or your own
				network.`},
	)
	c.AddSecret(settings.Setting{Name: "state", Value: settings.Text(&s.State), Without: "a file in the cache folder of the user", Show: settings.WithoutPassword, Offer: completion.Files, Restart: true,
		Text: `Where to keep checksums, changes and subscriptions across restarts: a file outside of published
			folders, or a database of PostgreSQL as in postgres://user@host/database, which several servers of
			the site can share.`})
	c.AddSecret(settings.Setting{Name: "read-from", Value: settings.Text(&s.ReadFrom), Without: "the server of --state", Group: settings.State, Show: settings.WithoutPassword, Restart: true,
		Text: `A standby of the database in --state, as in postgres://user@standby/database, which serves what
			lists and packages show. Whenever it lacks what this process has already shown, or cannot be
			reached, the server of --state serves that. The rows of a table are read from --db.`})
	c.Add(
		settings.Setting{Name: "window", Value: settings.Span(&s.Window), Default: "24h", Group: settings.Lists, Restart: true,
			Text: `The longest interval that one Change List covers, such as 1h, 24h or 7d, if more than --page-size
				changes need several lists.`},
		settings.Setting{Name: "retain", Value: settings.Span(&s.Retain), Default: "90d", Restart: true,
			Text: `How long changes stay listed, such as 48h or 90d. Destinations that ask less often must start
				again at the Resource List.`},
		settings.Setting{Name: "archive", Value: settings.Span(&s.Archive), Default: "0", Group: settings.Lists, Restart: true,
			Text: `How long Change Lists stay available in an archive after --retain, such as 730d, counted from the
				time of the changes. 0 keeps no archive.`},
		settings.Setting{Name: "page-size", Value: settings.Int(&s.PageSize), Default: "10000", Group: settings.Lists,
			Text: "The maximum number of entries in one document, 1 to 50000. Longer lists are divided."},
		settings.Setting{Name: "sitemap", Value: settings.Bool(&s.Sitemap),
			Text: `Publish a plain sitemap for search engines too: sitemap.xml, below the prefix. robots.txt names
			it. A robots.txt in a published folder is served with an additional line, and is not listed.
			Search engines accept a sitemap only for URLs below its own folder; --prefix / puts it at the top
			of the site.`},
		settings.Setting{Name: "robots-resource-list", Value: settings.Bool(&s.Robots), Group: settings.Lists,
			Text: `Name the Resource List in robots.txt, for Destinations that know only the site. Search engines
				read robots.txt too, and report the ResourceSync elements of the list as errors.`},
		settings.Setting{Name: "described-by", Value: settings.Text(&s.DescribedBy), Group: settings.Lists,
			Text: `The URL of a document about this Source, such as its operator and terms. The Source Description
				links to it.`},
		settings.Setting{Name: "pages", Value: settings.Bool(&s.Pages), Default: "true", Group: settings.Lists,
			Text: `Show documents as HTML pages to people who open them in a browser. Disable with --pages=false;
				browsers then get XML, as harvesters always do.`},
		settings.Setting{Name: "publish-lists", Value: settings.Span(&s.ListEvery), Default: "1h", Group: settings.Lists,
			Text: `How often Resource Lists in a bucket (--publish) are brought up to date, at most, such as 10m or
				1h. Change Lists there have a change within seconds.`},
		settings.Setting{Name: "publish-gzip", Value: settings.Bool(&s.PublishGzip), Group: settings.Lists,
			Text: `Store documents in a bucket (--publish) compressed, with the header Content-Encoding. Leave it out
				if a CDN in front of the bucket compresses them.`},
		settings.Setting{Name: "package-size", Value: settings.Size(&s.pkgSize), Default: "16MiB", Group: settings.Dumps,
			Text: `The maximum content of one package, such as 500MB or 4GiB. A larger file has its own package. The
				transfer of a package is aborted if a file in it changes, so choose a small size if files change
				often.`},
		settings.Setting{Name: "package-every", Value: settings.Span(&s.pkgEvery), Default: "1h", Group: settings.Dumps,
			Text: `The interval at which kept versions (--keep-versions) are put into a new package, such as 15m or
				1h. A full package is closed earlier.`},
		settings.Setting{Name: "harvesters", Value: settings.Bool(&s.Harvesters), Default: "true", Group: settings.Logs, Restart: true,
			Text: `Remember in memory which programs have read documents in the last 30 days, by name or agent, and address,
				and how far behind they are. Only the status page shows them, so this needs --status. Disable with
				--harvesters=false.`},
		settings.Setting{Name: "harvesters-keep", Value: settings.Bool(&s.KeepHarvesters), Group: settings.Logs, Restart: true,
			Text: `Keep the harvesters in the state as well, so that a restart remembers them. Their addresses may
				be personal data. A start without this flag removes them from the state.`},
		settings.Setting{Name: "harvesters-shorten", Value: settings.Bool(&s.ShortenHarvesters), Group: settings.Logs, Restart: true,
			Text: `Shorten the addresses of harvesters, in memory and in the state: IPv4 to 24 bits, as in
				192.0.2.0/24, and IPv6 to 48. Programs with the same name or
				agent in one such network are then one.`},
		settings.Setting{Name: "log-format", Value: settings.Choice(&s.LogFormat, "text", "json"), Default: "text", Group: settings.Logs, Restart: true,
			Text: "The format of log messages: text or json."},
		settings.Setting{Name: "access-log", Value: settings.Choice(&s.AccessLog, "combined", "json", "none"), Default: "none", Group: settings.Logs, Restart: true,
			Text: `Write a line about each request to the standard output: combined is the format of Apache and
				nginx, json has an object in each line, none writes nothing. Lines contain the addresses of
				clients, which may be personal data. With an access log, "Ready" and the URLs are in the log
				instead.`},
	)
	s.About.Declare(c, false)
	s.Push.declare(c)
}
