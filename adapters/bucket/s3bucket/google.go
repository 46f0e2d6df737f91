package s3bucket

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// googleMD5 returns the MD5 that Google Cloud Storage states in a response, or nil.
func googleMD5(answer http.Header) []byte {
	for _, line := range answer.Values("X-Goog-Hash") {
		for field := range strings.SplitSeq(line, ",") {
			if text, ok := strings.CutPrefix(strings.TrimSpace(field), "md5="); ok {
				if sum, err := base64.StdEncoding.DecodeString(text); err == nil && len(sum) == 16 {
					return sum
				}
			}
		}
	}
	return nil
}
