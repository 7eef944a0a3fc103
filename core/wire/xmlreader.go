package wire

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"

	"github.com/eurekaless/registry/core/eureka"
)

// xmlReader reads elements by encoding/xml. It works on raw tokens, since
// metadata keys may hold a colon that names no namespace, and so checks itself
// that elements match. Document types are refused, and with them entities;
// comments and processing instructions are skipped.
type xmlReader struct {
	decoder *xml.Decoder
}

// element is an element with all it holds.
type element struct {
	name       string
	attributes []attribute
	// text is the text directly inside.
	text     []byte
	children []element
}

type attribute struct{ name, value string }

// value returns what an element holds. An empty element holds an empty text.
func (e *element) value() value {
	if e.text == nil {
		return value{text: []byte{}, parts: len(e.children) > 0}
	}
	return value{text: e.text, parts: len(e.children) > 0}
}

// newXMLReader returns a reader of what is inside the root element.
func newXMLReader(body []byte, root string) (*xmlReader, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, eureka.Invalidf("body", "is empty")
	}
	r := &xmlReader{decoder: xml.NewDecoder(bytes.NewReader(body))}
	r.decoder.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil } // inUTF8 has converted it
	for {
		token, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil, eureka.Invalidf(root, "is missing: the body must be an element of this name")
		}
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if name := qualified(t.Name); name != root {
				return nil, eureka.Invalidf(root, "is missing: the body is an element %q", clip(name))
			}
			return r, nil
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return nil, eureka.Invalidf("body", "is not XML: it begins with a text")
			}
		}
	}
}

// next returns the next token that counts, or io.EOF.
func (r *xmlReader) next() (xml.Token, error) {
	for {
		token, err := r.decoder.RawToken()
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		if err != nil {
			// The decoder's errors quote the document at any length.
			return nil, eureka.Invalidf("body", "is not XML: %s", clipTo(err.Error(), 200))
		}
		switch token.(type) {
		case xml.Comment, xml.ProcInst:
		case xml.Directive:
			return nil, eureka.Invalidf("body", "must not declare a document type or entities")
		default:
			return token, nil
		}
	}
}

// children calls read at the beginning of each child of an element that was
// begun, until its end. Read must read the child to its end. Text between is
// ignored.
func (r *xmlReader) children(parent string, read func(name string, attributes []attribute) error) error {
	for {
		token, err := r.inside(parent)
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if err := read(qualified(t.Name), attributesOf(t.Attr)); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		}
	}
}

// element reads the rest of an element that was begun.
func (r *xmlReader) element(name string, attributes []attribute, depth int) (element, error) {
	e := element{name: name, attributes: attributes}
	if depth > maxDepth {
		return e, eureka.TooLargef("body", "has elements more than %d deep", maxDepth)
	}
	for {
		token, err := r.inside(name)
		if err != nil {
			return e, err
		}
		switch t := token.(type) {
		case xml.CharData:
			e.text = append(e.text, t...)
		case xml.StartElement:
			child, err := r.element(qualified(t.Name), attributesOf(t.Attr), depth+1)
			if err != nil {
				return e, err
			}
			e.children = append(e.children, child)
		case xml.EndElement:
			return e, nil
		}
	}
}

// inside returns the next token of an element that was begun; an end is its
// own.
func (r *xmlReader) inside(name string) (xml.Token, error) {
	token, err := r.next()
	if errors.Is(err, io.EOF) {
		return nil, eureka.Invalidf("body", "is not XML: it ends inside of %q", clip(name))
	}
	if err != nil {
		return nil, err
	}
	if end, ok := token.(xml.EndElement); ok && qualified(end.Name) != name {
		return nil, eureka.Invalidf("body", "is not XML: %q ends as %q", clip(name), clip(qualified(end.Name)))
	}
	return token, nil
}

// end checks that nothing follows the root element.
func (r *xmlReader) end() error {
	for {
		token, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if text, ok := token.(xml.CharData); !ok || len(bytes.TrimSpace(text)) > 0 {
			return eureka.Invalidf("body", "is not XML: something follows the root element")
		}
	}
}

// qualified returns a name as it was written.
func qualified(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

// attributesOf returns attributes without those of XML itself and of schemas,
// which some libraries put anywhere.
func attributesOf(raw []xml.Attr) []attribute {
	var out []attribute
	for _, a := range raw {
		switch {
		case a.Name.Space == "xmlns", a.Name.Space == "xml", a.Name.Space == "xsi", qualified(a.Name) == "xmlns":
		default:
			out = append(out, attribute{qualified(a.Name), a.Value})
		}
	}
	return out
}
