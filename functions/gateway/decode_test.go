package gateway

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// oddEvents are events that no gateway sends.
var oddEvents = []string{
	`{}`, ` { } `, `null`, `[]`, `"text"`, `1`, ``, `{`, `{"headers"`, `{"headers":`, `{"headers":{"a":`, `{"headers":{"a":"b",}}`, `{"version":"2.0"}x`,
	`{"version":null,"headers":null,"body":null,"isBase64Encoded":null,"requestContext":null,"cookies":null,"multiValueHeaders":null}`,
	`{"headers":{"a":null},"cookies":[null,"b"],"multiValueHeaders":{"a":null,"b":[],"c":["d",null]}}`,
	`{"headers":{},"cookies":[],"multiValueHeaders":{},"requestContext":{"http":null,"identity":{}}}`,
	`{"version":2.0}`, `{"headers":[]}`, `{"headers":{"a":1}}`, `{"isBase64Encoded":"true"}`, `{"cookies":"a"}`, `{"cookies":{}}`,
	`{"Version":"2.0","RAWPATH":"/a"}`, `{"Requestcontext":{"HTTP":{"method":"GET"}}}`, "{\"cooKieſ\":[\"a\"]}",
	`{"version":"1.0","version":"2.0","headers":{"a":"b"},"headers":{"c":"d"},"cookies":["a"],"cookies":[]}`,
	`{"rawPath":"/a\u0062\n\"\\\/\ud83d\ude00","body":"\ud800","stage":"größer"}`, "{\"body\":\"\xff\"}", "{\"body\":\"a\nb\"}", `{"body":"\x"}`, `{"body":"\`,
	`{"timeEpoch":1770000000000,"a":-1.5e3,"b":true,"c":false,"d":null,"e":[1,[2,{"f":"g"}]],"h":{"version":"x"},"version":"2.0"}`,
	`{"a":01,"version":"2.0"}`, `{"a":tru,"version":"2.0"}`, `{"a":,"version":"2.0"}`, `{"a":[1,],"version":"2.0"}`, `{"version":"2.0",}`, `{"a" 1}`,
	strings.Repeat(`{"a":`, 200) + `1` + strings.Repeat(`}`, 200),
	strings.Repeat(`[`, 20000),
}

// checkDecode holds decode to encoding/json.
func checkDecode(t *testing.T, payload []byte) {
	t.Helper()
	var want event
	wrong := json.Unmarshal(payload, &want)
	got, err := decode(payload)
	if wrong != nil {
		assert.Error(t, err, "%.200q", payload)
		return
	}
	require.NoError(t, err, "%.200q", payload)
	assert.Equal(t, &want, got, "%.200q", payload)
}

// TestDecode: the scanner and encoding/json agree, and real events need only
// the scanner.
func TestDecode(t *testing.T) {
	for _, odd := range oddEvents {
		checkDecode(t, []byte(odd))
	}
	for _, payload := range realEvents(t) {
		checkDecode(t, payload)
		s := scanner{text: string(payload)}
		s.event(new(event))
		assert.True(t, s.done(), "stopped at %.50q", s.text[s.at:])
	}
}

func realEvents(t testing.TB) [][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var out [][]byte
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		out = append(out, data)
	}
	return out
}

func FuzzDecode(f *testing.F) {
	for _, odd := range oddEvents {
		f.Add([]byte(odd))
	}
	for _, payload := range realEvents(f) {
		f.Add(payload)
	}
	f.Fuzz(checkDecode)
}

// BenchmarkDecode is the decoding of an event as an HTTP API sends it.
func BenchmarkDecode(b *testing.B) {
	payload, err := os.ReadFile("testdata/http.json")
	require.NoError(b, err)
	ways := map[string]func() error{
		"scanner":       func() error { _, err := decode(payload); return err },
		"encoding-json": func() error { return json.Unmarshal(payload, new(event)) },
	}
	for name, way := range ways {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.ReportMetric(float64(len(payload)), "event-bytes")
			for b.Loop() {
				if err := way(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
