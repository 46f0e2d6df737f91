package settings

import (
	"testing"
	"time"
)

func TestSizes(t *testing.T) {
	for given, want := range map[string]int64{
		"0":                   0,
		"1":                   1,
		"1023B":               1023,
		"1024":                1 << 10,
		"500MB":               500e6,
		"4GiB":                4 << 30,
		"1000KB":              1e6,
		"8388607TiB":          8388607 << 40,
		"8388608TiB":          -1,
		"9223372036854775808": -1,
		"-1":                  -1,
		"1.5GB":               -1,
		"1gb":                 -1,
		"GB":                  -1,
		"":                    -1,
	} {
		var n int64
		err := Size(&n).Set(given)
		if (err == nil) != (want >= 0) || err == nil && n != want {
			t.Errorf("%s: %d, %v, want %d", given, n, err, want)
		}
	}
}

func TestSpans(t *testing.T) {
	for given, want := range map[string]string{
		"90d":     "90d",
		"2160h":   "90d",
		"36h":     "36h0m0s",
		"1m30s":   "1m30s",
		"65535d":  "65535d",
		"65536d":  "",
		"-1d":     "",
		"1.5d":    "",
		"1d12h":   "",
		"d":       "",
		"30":      "",
		"300000h": "12500d",
	} {
		var d time.Duration
		err := Span(&d).Set(given)
		if (err == nil) != (want != "") || err == nil && SpanText(d) != want {
			t.Errorf("%s: %v, %v, want %q", given, d, err, want)
		}
	}
}
