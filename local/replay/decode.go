package replay

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// decode reads JSON, with numbers as they are written, or XML.
func decode(body string) (any, error) {
	trimmed := strings.TrimSpace(body)
	if strings.HasPrefix(trimmed, "<") {
		return decodeXML(trimmed)
	}
	if trimmed == "" {
		return nil, nil
	}
	var out any
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more after the document")
	}
	return out, nil
}

// element is an XML element in the making.
type element struct {
	name     string
	fields   map[string]any
	text     strings.Builder
	children int
}

// decodeXML makes a tree of the same kind as JSON's: attributes as "@name",
// the text of an element that has some as "#".
func decodeXML(text string) (any, error) {
	d := xml.NewDecoder(strings.NewReader(text))
	open := []*element{{fields: map[string]any{}}}
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		top := open[len(open)-1]
		switch v := token.(type) {
		case xml.StartElement:
			e := &element{name: v.Name.Local, fields: map[string]any{}}
			for _, a := range v.Attr {
				e.fields["@"+a.Name.Local] = a.Value
			}
			open = append(open, e)
		case xml.CharData:
			top.text.Write(v)
		case xml.EndElement:
			open = open[:len(open)-1]
			open[len(open)-1].add(top.name, top.value())
		}
	}
	return open[0].value(), nil
}

// add puts a child beside those of the same name; applications and instances
// are lists even when there is one.
func (e *element) add(name string, value any) {
	e.children++
	isList := name == "application" || name == "instance"
	switch before := e.fields[name].(type) {
	case nil:
		if isList {
			value = []any{value}
		}
		e.fields[name] = value
	case []any:
		e.fields[name] = append(before, value)
	default:
		e.fields[name] = []any{before, value}
	}
}

func (e *element) value() any {
	text := strings.TrimSpace(e.text.String())
	switch {
	case e.children > 0:
		return e.fields
	case len(e.fields) > 0:
		e.fields["#"] = text
		return e.fields
	}
	return text
}
