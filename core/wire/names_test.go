package wire

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/eurekaless/registry/core/eureka"
)

func TestXMLNames(t *testing.T) {
	for _, c := range []struct{ key, name string }{
		{"zone", "zone"},
		{"management.port", "management.port"},
		{"a_b$c", "a__b_-c"},
		{"versions_delta", "versions__delta"},
		{"_", "__"},
		{"_.0041", "__.0041"},
		{"a b", "a_.0020b"},
		{"a/b", "a_.002fb"},
		{"-a", "_.002da"},
		{".d", "_.002ed"},
		{"1x", "_.0031x"},
		{"a1-.", "a1-."},
		{"@x", "_.0040x"},
		{"<k>", "_.003ck_.003e"},
		{"x:y", "x_.003ay"}, // the stock server's <x:y> is a prefix of no namespace
		{"é", "é"},
		{"名前", "名前"},
		{"ȡ", "_.0221"}, // a letter for some editions of XML only
		{"\x01", "_.0001"},
		{"\n", "_.000a"},
		{"\uFFFF", "_.ffff"},
		{"😀", "_.d83d_.de00"},
		{"", "_"}, // the stock server's <> is no element
	} {
		assert.Equal(t, c.name, string(appendXMLName(nil, c.key)), "name of %q", c.key)
		assert.Equal(t, c.key, xmlKey(c.name), "key of %q", c.name)
	}
	assert.Equal(t, "_.fffd", string(appendXMLName(nil, "\xff")))
}

// Names that no encoder makes are read as XStream reads them.
func TestXMLNamesOfOthers(t *testing.T) {
	for name, key := range map[string]string{
		"x_":            "x_",
		"x_y":           "x_y",
		"_x":            "_x",
		"x_.":           "x_.",
		"x_.00":         "x_.00",
		"x_.00zz":       "x_.00zz",
		"x_.0041_.0042": "xAB",
		"x_.00E9":       "xé",
		"x_.d83d":       "x\uFFFD",
		"x_.d83d_.0041": "x\uFFFDA",
		"x_.de00_.d83d": "x\uFFFD\uFFFD",
		"x___-_":        "x_$_",
		"x:y":           "x:y",
	} {
		assert.Equal(t, key, xmlKey(name), "key of %q", name)
	}
}

func TestXMLNamesAreNames(t *testing.T) {
	isName := func(t require.TestingT, key string) {
		name := string(appendXMLName(nil, key))
		decoder := xml.NewDecoder(strings.NewReader("<" + name + "/>"))
		token, err := decoder.Token()
		require.NoError(t, err, "%q", name)
		assert.Equal(t, xml.StartElement{Name: xml.Name{Local: name}, Attr: []xml.Attr{}}, token)
	}
	for _, letters := range nameLetters {
		for r := letters[0]; r <= letters[1]; r++ {
			isName(t, string(r))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.String().Draw(t, "key")
		isName(t, key)
		assert.Equal(t, strings.ToValidUTF8(key, replacement), xmlKey(string(appendXMLName(nil, key))))
	})
}

// A Java client that registers by XML writes a colon as it is.
func TestXMLMetadataKeys(t *testing.T) {
	i, err := DecodeRegistration(XML, []byte(`<instance><hostName>a</hostName><app>p</app><ipAddr>1</ipAddr>
		<dataCenterInfo><name>MyOwn</name></dataCenterInfo>
		<metadata class="x"><a__b_-c_.0020_x_>1</a__b_-c_.0020_x_><x:y>2</x:y> <_>3</_><_.0040class>4</_.0040class><e/><s> p </s></metadata></instance>`), Limits{})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a_b$c _x_": "1", "x:y": "2", "": "3", "e": "", "s": " p "}, i.Metadata)
}

func TestXMLControlCharacters(t *testing.T) {
	i := &eureka.InstanceInfo{HostName: "h", Metadata: map[string]string{
		"k\x01": "a\x00b\x1f\uFFFE\uFFFF\xffc", "ok": "tab\tline\ncr\r\u0085 \u2028 \U0010FFFF",
	}}
	out := Encoding{Format: XML}.AppendInstanceDocument(nil, i)
	assert.Contains(t, string(out), "<k_.0001>a\uFFFDb\uFFFD\uFFFD\uFFFD\uFFFDc</k_.0001>")
	read, err := DecodeInstance(XML, out)
	require.NoError(t, err)
	assert.Equal(t, i.Metadata["ok"], read.Metadata["ok"])
}

func TestTextCache(t *testing.T) {
	c := newTextCache()
	for _, text := range []string{"", "a", "b", "a", strings.Repeat("x", maxCachedText), strings.Repeat("x", maxCachedText+1)} {
		assert.Equal(t, text, c.get([]byte(text)))
		assert.Equal(t, text, (*textCache)(nil).get([]byte(text)))
	}
	bytes := []byte("held")
	held := c.get(bytes)
	bytes[0] = 'x'
	assert.Equal(t, "held", held, "a string is its own")
	long := []byte(strings.Repeat("x", maxCachedText))
	assert.Zero(t, testing.AllocsPerRun(10, func() { c.get(long) }))
}
