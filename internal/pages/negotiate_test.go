package pages

import (
	"net/http/httptest"
	"testing"
)

const (
	chrome  = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
	firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"
	safari  = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/15.6 Safari/605.1.15"
	iphone  = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1"

	acceptChrome  = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"
	acceptFirefox = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	acceptJava    = "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"
)

// TestNavigates has the header fields that clients in the field send.
func TestNavigates(t *testing.T) {
	for _, tt := range []struct {
		name, agent, accept, dest string
		want                      bool
	}{
		// People.
		{"Chrome", chrome, acceptChrome, "document", true},
		{"Chrome on http", chrome, acceptChrome, "", true},
		{"Chrome headless", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/142.0.0.0 Safari/537.36", acceptChrome, "document", true},
		{"Edge", chrome + " Edg/142.0.0.0", acceptChrome, "document", true},
		{"Firefox", firefox, acceptFirefox, "document", true},
		{"Firefox 60", "Mozilla/5.0 (X11; Linux x86_64; rv:60.0) Gecko/20100101 Firefox/60.0", acceptFirefox, "", true},
		{"Safari 15", safari, acceptFirefox, "", true},
		{"iPhone", iphone, acceptFirefox, "document", true},
		{"Edge Legacy", "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/64.0.3282.140 Safari/537.36 Edge/18.17763", "text/html, application/xhtml+xml, application/xml; q=0.9, */*; q=0.8", "", true},

		// Scripts and parts of pages.
		{"fetch()", chrome, "*/*", "empty", false},
		{"fetch() with the Accept of a browser", chrome, acceptChrome, "empty", false},
		{"iframe", chrome, acceptChrome, "iframe", false},

		// Programs, with their defaults.
		{"curl", "curl/8.14.1", "*/*", "", false},
		{"Wget", "Wget/1.25.0", "*/*", "", false},
		{"Wget2", "Wget/2.2.0", "text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8", "", false},
		{"Python urllib", "Python-urllib/3.13", "", "", false},
		{"Python requests", "python-requests/2.32.5", "*/*", "", false},
		{"resync", "resync/2.0.1", "*/*", "", false},
		{"aiohttp", "Python/3.13 aiohttp/3.12.15", "*/*", "", false},
		{"Java HttpURLConnection", "Java/21.0.5", acceptJava, "", false},
		{"Java before 19", "Java/1.8.0_402", "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "", false},
		{"Java with the agent of a browser", chrome, acceptJava, "", false},
		{"jsoup", "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/135.0.0.0 Safari/537.36", acceptJava, "", false},
		{"Apache HttpClient", "Apache-HttpClient/5.5 (Java/21.0.5)", "", "", false},
		{"Go", "Go-http-client/1.1", "", "", false},
		{"Ruby", "Ruby", "*/*", "", false},
		{"Perl", "libwww-perl/6.78", "", "", false},
		{"PHP Guzzle", "GuzzleHttp/7", "", "", false},
		{"R httr", "libcurl/8.5.0 r-curl/6.2.0 httr/1.4.7", "application/json, text/xml, application/xml, */*", "", false},
		{".NET", "", "", "", false},
		{"PowerShell", "Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.19041.1", "", "", false},
		{"PowerShell with the Accept of a browser", "Mozilla/5.0 (Windows NT 10.0; Microsoft Windows 10.0; en-US) PowerShell/7.4.6", acceptFirefox, "", false},
		{"node", "node", "*/*", "", false},
		{"axios", "axios/1.12.2", "application/json, text/plain, */*", "", false},
		{"Thunderbird, a feed reader", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.5.0", acceptFirefox, "", false},
		{"Perl with the agent of a browser", "Mozilla/5.0 (X11; Linux x86_64) libwww-perl/6.78", acceptFirefox, "", false},
		{"Scrapy", "Scrapy/2.13.3 (+https://scrapy.org)", acceptFirefox, "", false},
		{"OAI-PMH harvester", "OAI-PMH Harvester/1.0 (mailto:oai@example.org)", acceptFirefox, "", false},
		{"pyoaiharvester", "pyoaiharvester/3.0", "text/html", "", false},
		{"DSpace", "Apache-HttpClient/4.5.13 (Java/17.0.9)", "", "", false},
		{"XML first", firefox, "application/xml,text/html;q=0.9", "", false},
		{"both alike", firefox, "text/html,application/xml", "", false},

		// Crawlers.
		{"Googlebot", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", acceptFirefox, "", false},
		{"Googlebot, mobile", "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", acceptChrome, "document", false},
		{"Google Inspection Tool", "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36 (compatible; Google-InspectionTool/1.0;)", acceptChrome, "document", false},
		{"Bingbot", "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/136.0.0.0 Safari/537.36", acceptChrome, "", false},
		{"YandexBot", "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)", acceptFirefox, "", false},
		{"Baiduspider", "Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)", acceptFirefox, "", false},
		{"Heritrix", "Mozilla/5.0 (compatible; heritrix/3.4.0 +https://archive.org/)", acceptFirefox, "", false},
		{"Nutch", "MyCrawler/Nutch-1.20", "text/html,application/xhtml+xml,application/xml;q=0.9,text/xml;q=0.9,*/*;q=0.8", "", false},
		{"GPTBot", "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)", acceptFirefox, "", false},
		{"Applebot", safari + " (Applebot/0.1; +http://www.apple.com/go/applebot)", acceptFirefox, "", false},
		{"GoogleOther", "GoogleOther", acceptFirefox, "", false},
	} {
		r := httptest.NewRequest("GET", "/resourcesync/resourcelist.xml", nil)
		for name, value := range map[string]string{"User-Agent": tt.agent, "Accept": tt.accept, "Sec-Fetch-Dest": tt.dest} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if got := Navigates(r); got != tt.want {
			t.Errorf("%s: HTML %t, want %t", tt.name, got, tt.want)
		}
		r.URL.RawQuery = "xml"
		if Navigates(r) {
			t.Errorf("%s: HTML with ?xml", tt.name)
		}
		r.URL.RawQuery, r.Method = "", "POST"
		if Navigates(r) {
			t.Errorf("%s: HTML for POST", tt.name)
		}
	}
}
