package wire

import (
	"strings"

	"github.com/eurekaless/registry/core/eureka"
)

// In an object that has a member twice, the last one counts, and counts whole.

func decodeJSONInstance(body []byte, strict bool, limits Limits) (*eureka.InstanceInfo, error) {
	open := newCursor
	if strict {
		open = newStrictCursor
	}
	c, err := open(body, "instance")
	if err != nil {
		return nil, err
	}
	if c.peek() != '{' {
		return nil, eureka.Invalidf("instance", "must be an object")
	}
	d := newDraft(strict, limits, nil)
	d.readJSON(c)
	return d.finish()
}

func decodeJSONApplication(body []byte, b *budget) (*eureka.Application, error) {
	c, err := newCursor(body, "application")
	if err != nil {
		return nil, err
	}
	if c.peek() != '{' {
		return nil, eureka.Invalidf("application", "must be an object")
	}
	a := readJSONApplication(c, newListDraft(b))
	if err := b.failed(); err != nil {
		return nil, err
	}
	return &a, nil
}

func decodeJSONApplications(body []byte, b *budget) (*eureka.Applications, error) {
	c, err := newCursor(body, "applications")
	if err != nil {
		return nil, err
	}
	if !c.enter('{') {
		return nil, eureka.Invalidf("applications", "must be an object")
	}
	out := &eureka.Applications{}
	d := newListDraft(b)
	for b.failed() == nil && c.more('}') {
		switch string(c.text()) {
		case "versions__delta", "versions_delta":
			out.Version, _ = parseInteger(c.value().text)
		case "apps__hashcode", "apps_hashcode":
			out.HashCode = string(c.value().text)
		case "application":
			eachJSONObject(c, func() bool {
				if a := readJSONApplication(c, d); len(a.Instances) > 0 {
					out.Applications = append(out.Applications, a)
				}
				return b.next()
			})
		default:
			c.skip()
		}
	}
	if err := b.failed(); err != nil {
		return nil, err
	}
	return out, nil
}

// readJSONApplication reads the object of an application, by a draft that serves
// for all instances.
func readJSONApplication(c *cursor, d *draft) eureka.Application {
	var a eureka.Application
	c.enter('{')
	for d.budget.failed() == nil && c.more('}') {
		switch string(c.text()) {
		case "name":
			a.Name = string(c.value().text)
		case "instance":
			eachJSONObject(c, func() bool {
				d.readJSON(c)
				if i := d.listed(); i != nil {
					a.Instances = append(a.Instances, i)
				}
				return d.budget.next()
			})
		default:
			c.skip()
		}
	}
	completeApplication(&a)
	return a
}

// eachJSONObject calls read at each object of a list, or at the one object
// that old servers write instead of a list of one. Anything else is skipped.
// When read returns false it stops where it is.
func eachJSONObject(c *cursor, read func() bool) {
	if c.peek() == '{' {
		read()
		return
	}
	if !c.enter('[') {
		c.skip()
		return
	}
	for c.more(']') {
		if c.peek() != '{' {
			c.skip()
		} else if !read() {
			return
		}
	}
}

// readJSON reads the object of an instance.
func (d *draft) readJSON(c *cursor) {
	c.enter('{')
	d.readJSONMembers(c)
}

func (d *draft) readJSONMembers(c *cursor) {
	for c.more('}') {
		name := c.text()
		switch string(name) {
		case "port":
			d.readJSONPort(c, &d.instance.Port, "port", defaultPort)
		case "securePort":
			d.readJSONPort(c, &d.instance.SecurePort, "securePort", defaultSecurePort)
		case "dataCenterInfo":
			d.readJSONDataCenter(c)
		case "leaseInfo":
			d.readJSONLease(c)
		case "metadata":
			d.instance.Metadata = d.readJSONMetadata(c, "metadata")
		default:
			d.set(name, c.value())
		}
	}
}

// object steps into the object that a member must be; an empty text or null is
// as none.
func (d *draft) object(c *cursor, f field) bool {
	if c.enter('{') {
		return true
	}
	if v := c.value(); v.parts || len(v.text) > 0 {
		d.fail(f, "must be an object")
	}
	return false
}

func (d *draft) readJSONPort(c *cursor, p *eureka.Port, name string, otherwise eureka.Port) {
	*p = otherwise
	if !d.object(c, field{name: name}) {
		return
	}
	var number, enabled value
	for c.more('}') {
		switch member := c.text(); string(member) {
		case "$":
			number = c.value()
		case "@enabled":
			enabled = c.value()
		default:
			d.fail(field{name, clip(string(member))}, `is no member of a port, which has "$" and "@enabled"`)
			c.skip()
		}
	}
	d.setPort(p, name, number, enabled)
}

func (d *draft) readJSONDataCenter(c *cursor) {
	if !d.object(c, field{name: "dataCenterInfo"}) {
		return
	}
	var class, name value
	var metadata map[string]string
	for c.more('}') {
		switch member := c.text(); string(member) {
		case "@class":
			class = c.value()
		case "name":
			name = c.value()
		case "metadata":
			metadata = d.readJSONMetadata(c, "dataCenterInfo.metadata")
		default:
			d.fail(field{"dataCenterInfo", clip(string(member))}, `is no member of a data centre, which has "@class", "name" and "metadata"`)
			c.skip()
		}
	}
	if len(class.text) == 0 {
		d.fail(field{"dataCenterInfo", "@class"}, "is missing")
	}
	d.setDataCenter(class, name, metadata)
}

func (d *draft) readJSONLease(c *cursor) {
	if !d.object(c, field{name: "leaseInfo"}) {
		return
	}
	for c.more('}') {
		d.setLease(c.text(), c.value())
	}
}

func (d *draft) readJSONMetadata(c *cursor, name string) map[string]string {
	if !d.object(c, field{name: name}) {
		return nil
	}
	var m map[string]string
	for c.more('}') {
		key := c.text()
		if c.damaged {
			d.fail(field{name, clip(strings.ToValidUTF8(string(key), replacement))}, notUnicode)
		}
		m = d.put(m, name, key, c.value())
	}
	return m
}
