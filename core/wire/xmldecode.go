package wire

import (
	"bytes"

	"github.com/eurekaless/registry/core/eureka"
)

func decodeXMLInstance(body []byte, strict bool, limits Limits) (*eureka.InstanceInfo, error) {
	r, err := newXMLReader(body, "instance")
	if err != nil {
		return nil, err
	}
	root, err := r.element("instance", nil, 0)
	if err != nil {
		return nil, err
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	d := newDraft(strict, limits, nil)
	d.readXML(&root)
	return d.finish()
}

func decodeXMLApplication(body []byte) (*eureka.Application, error) {
	r, err := newXMLReader(body, "application")
	if err != nil {
		return nil, err
	}
	a, err := readXMLApplication(r, newListDraft(nil))
	if err != nil {
		return nil, err
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	return &a, nil
}

func decodeXMLApplications(body []byte) (*eureka.Applications, error) {
	r, err := newXMLReader(body, "applications")
	if err != nil {
		return nil, err
	}
	out := &eureka.Applications{}
	d := newListDraft(nil)
	err = r.children("applications", func(name string, attributes []attribute) error {
		if name == "application" {
			a, err := readXMLApplication(r, d)
			if len(a.Instances) > 0 {
				out.Applications = append(out.Applications, a)
			}
			return err
		}
		e, err := r.element(name, attributes, 1)
		switch name {
		case "versions__delta", "versions_delta":
			out.Version, _ = parseInteger(e.text)
		case "apps__hashcode", "apps_hashcode":
			out.HashCode = string(e.text)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	return out, nil
}

// readXMLApplication reads the rest of an application element.
func readXMLApplication(r *xmlReader, d *draft) (eureka.Application, error) {
	var a eureka.Application
	err := r.children("application", func(name string, attributes []attribute) error {
		e, err := r.element(name, attributes, 2)
		switch name {
		case "name":
			a.Name = string(e.text)
		case "instance":
			d.readXML(&e)
			if i := d.listed(); i != nil {
				a.Instances = append(a.Instances, i)
			}
		}
		return err
	})
	completeApplication(&a)
	return a, err
}

// readXML reads the element of an instance.
func (d *draft) readXML(instance *element) {
	for n := range instance.children {
		e := &instance.children[n]
		switch e.name {
		case "port":
			d.readXMLPort(e, &d.instance.Port, defaultPort)
		case "securePort":
			d.readXMLPort(e, &d.instance.SecurePort, defaultSecurePort)
		case "dataCenterInfo":
			d.readXMLDataCenter(e)
		case "leaseInfo":
			for k := range e.children {
				d.setLease([]byte(e.children[k].name), e.children[k].value())
			}
		case "metadata":
			d.instance.Metadata = d.readXMLMetadata(e, "metadata")
		case "status", "overriddenStatus", "overriddenstatus":
			v := e.value()
			v.text = bytes.ToUpper(v.text) // Java reads any case in XML, but not in JSON
			d.set([]byte(e.name), v)
		default:
			d.set([]byte(e.name), e.value())
		}
	}
}

func (d *draft) readXMLPort(e *element, p *eureka.Port, otherwise eureka.Port) {
	*p = otherwise
	var enabled value
	for _, a := range e.attributes {
		if a.name == "enabled" {
			enabled = value{text: []byte(a.value)}
			continue
		}
		d.fail(field{e.name, "@" + clip(a.name)}, `is no attribute of a port, which has "enabled"`)
	}
	d.setPort(p, e.name, e.value(), enabled)
}

// readXMLDataCenter reads a data center. In a registration its name alone says
// which one it is: clients leave the class out, or send the default class with
// any name (TestXMLDataCenterNameDecides).
func (d *draft) readXMLDataCenter(e *element) {
	var class, name value
	var metadata map[string]string
	for _, a := range e.attributes {
		if a.name == "class" {
			class = value{text: []byte(a.value)}
			continue
		}
		d.fail(field{e.name, "@" + clip(a.name)}, `is no attribute of a data centre, which has "class"`)
	}
	for n := range e.children {
		switch child := &e.children[n]; child.name {
		case "name":
			name = child.value()
		case "metadata":
			metadata = d.readXMLMetadata(child, "dataCenterInfo.metadata")
		default:
			d.fail(field{e.name, clip(child.name)}, `is no part of a data centre, which has "name" and "metadata"`)
		}
	}
	if d.strict {
		class = value{}
	}
	d.setDataCenter(class, name, metadata)
}

func (d *draft) readXMLMetadata(e *element, name string) map[string]string {
	var m map[string]string
	for n := range e.children {
		child := &e.children[n]
		m = d.put(m, name, []byte(xmlKey(child.name)), child.value())
	}
	return m
}
