package dir

import (
	"net/http"
	"path"
	"strings"
)

// sniffLen is the number of bytes from which the media type of a file is detected.
const sniffLen = 512

// typeByName returns the media type for the extension of a file name, or "" if the
// extension is unknown. It does not use the system's mime.types, with which the same
// folder would be published differently on another machine.
func typeByName(name string) string {
	return mediaTypes[strings.ToLower(path.Ext(name))]
}

// encodingByName returns the content coding for the extension of a file name, or "".
// Other compressed files, such as .gz, are published as archives, with the media type
// of the compressed data.
func encodingByName(name string) string {
	if strings.EqualFold(path.Ext(name), ".svgz") {
		return "gzip" // browsers show it only with this Content-Encoding
	}
	return ""
}

// typeByContent returns the media type of a file of unknown extension that
// begins with head: sniffLen bytes, or all if there are fewer.
func typeByContent(head []byte) string {
	mediaType, _, _ := strings.Cut(http.DetectContentType(head), ";")
	return mediaType
}

// mediaTypes maps extensions to media types, preferably those registered with IANA.
var mediaTypes = map[string]string{
	// Text and the web.
	".atom":        "application/atom+xml",
	".bib":         "application/x-bibtex",
	".css":         "text/css",
	".csv":         "text/csv",
	".dtd":         "application/xml-dtd",
	".htm":         "text/html",
	".html":        "text/html",
	".ics":         "text/calendar",
	".js":          "text/javascript",
	".json":        "application/json",
	".jsonl":       "application/jsonl",
	".map":         "application/json",
	".markdown":    "text/markdown",
	".md":          "text/markdown",
	".mjs":         "text/javascript",
	".rss":         "application/rss+xml",
	".rtf":         "application/rtf",
	".tex":         "application/x-tex",
	".text":        "text/plain",
	".tsv":         "text/tab-separated-values",
	".txt":         "text/plain",
	".vtt":         "text/vtt",
	".wasm":        "application/wasm",
	".webmanifest": "application/manifest+json",
	".xht":         "application/xhtml+xml",
	".xhtml":       "application/xhtml+xml",
	".xml":         "application/xml",
	".xsd":         "application/xml",
	".xsl":         "application/xslt+xml",
	".xslt":        "application/xslt+xml",
	".yaml":        "application/yaml",
	".yml":         "application/yaml",

	// Metadata and linked data.
	".geojson": "application/geo+json",
	".gml":     "application/gml+xml",
	".jsonld":  "application/ld+json",
	".kml":     "application/vnd.google-earth.kml+xml",
	".kmz":     "application/vnd.google-earth.kmz",
	".mods":    "application/mods+xml",
	".mrc":     "application/marc",
	".mrcx":    "application/marcxml+xml",
	".n3":      "text/n3",
	".nq":      "application/n-quads",
	".nt":      "application/n-triples",
	".owl":     "application/rdf+xml",
	".rdf":     "application/rdf+xml",
	".rq":      "application/sparql-query",
	".srx":     "application/sparql-results+xml",
	".trig":    "application/trig",
	".ttl":     "text/turtle",

	// Documents.
	".doc":   "application/msword",
	".docx":  "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".epub":  "application/epub+zip",
	".eps":   "application/postscript",
	".odg":   "application/vnd.oasis.opendocument.graphics",
	".odp":   "application/vnd.oasis.opendocument.presentation",
	".ods":   "application/vnd.oasis.opendocument.spreadsheet",
	".odt":   "application/vnd.oasis.opendocument.text",
	".pdf":   "application/pdf",
	".ppt":   "application/vnd.ms-powerpoint",
	".pptx":  "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".ps":    "application/postscript",
	".xls":   "application/vnd.ms-excel",
	".xlsx":  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".ipynb": "application/x-ipynb+json",

	// Images.
	".avif": "image/avif",
	".bmp":  "image/bmp",
	".djvu": "image/vnd.djvu",
	".fits": "image/fits",
	".gif":  "image/gif",
	".heic": "image/heic",
	".ico":  "image/vnd.microsoft.icon",
	".jp2":  "image/jp2",
	".jpeg": "image/jpeg",
	".jpg":  "image/jpeg",
	".jxl":  "image/jxl",
	".png":  "image/png",
	".svg":  "image/svg+xml",
	".svgz": "image/svg+xml",
	".tif":  "image/tiff",
	".tiff": "image/tiff",
	".webp": "image/webp",

	// Sound and moving images.
	".aac":  "audio/aac",
	".avi":  "video/vnd.avi",
	".flac": "audio/flac",
	".m4a":  "audio/mp4",
	".m4v":  "video/mp4",
	".mid":  "audio/midi",
	".mkv":  "video/matroska",
	".mov":  "video/quicktime",
	".mp3":  "audio/mpeg",
	".mp4":  "video/mp4",
	".mpeg": "video/mpeg",
	".mpg":  "video/mpeg",
	".oga":  "audio/ogg",
	".ogg":  "audio/ogg",
	".ogv":  "video/ogg",
	".opus": "audio/ogg",
	".wav":  "audio/vnd.wave",
	".weba": "audio/webm",
	".webm": "video/webm",

	// Data, archives and fonts.
	".7z":      "application/x-7z-compressed",
	".bin":     "application/octet-stream",
	".bz2":     "application/x-bzip2",
	".gz":      "application/gzip",
	".h5":      "application/x-hdf5",
	".hdf5":    "application/x-hdf5",
	".jar":     "application/java-archive",
	".nc":      "application/x-netcdf",
	".otf":     "font/otf",
	".parquet": "application/vnd.apache.parquet",
	".rar":     "application/vnd.rar",
	".sqlite":  "application/vnd.sqlite3",
	".tar":     "application/x-tar",
	".tgz":     "application/gzip",
	".ttf":     "font/ttf",
	".warc":    "application/warc",
	".wacz":    "application/wacz",
	".woff":    "font/woff",
	".woff2":   "font/woff2",
	".xz":      "application/x-xz",
	".zip":     "application/zip",
	".zst":     "application/zstd",
}
