package wire

import (
	"slices"
	"strings"

	"github.com/eurekaless/registry/core/eureka"
)

// DecodeRegistration reads the instance that a client registers. What it
// leaves out has the protocol's default, except for times, which need a clock:
// LastDirty is zero when it was not given. A status that the protocol does not
// have is UNKNOWN, none is UP. What only a registry may say (lease times, last
// update, action, whether the instance coordinates) is ignored.
//
// What is wrong is an [eureka.InvalidError] that names the field. Members that
// the protocol does not have are ignored in the instance, but refused inside
// port, securePort and dataCenterInfo, where they are misspelt ones. Whether
// the application is the one that the request's path names is left to the
// caller.
func DecodeRegistration(f Format, body []byte, limits Limits) (*eureka.InstanceInfo, error) {
	body, err := inUTF8(f, body)
	if err != nil {
		return nil, err
	}
	if err := limits.checkInstance(f, body); err != nil {
		return nil, err
	}
	if f == XML {
		return decodeXMLInstance(body, true, limits)
	}
	return decodeJSONInstance(body, true, limits)
}

// DecodeInstance reads the document of one instance as a server sends it. It
// fails only when the body is not such a document.
func DecodeInstance(f Format, body []byte) (*eureka.InstanceInfo, error) {
	body, err := inUTF8(f, body)
	if err != nil {
		return nil, err
	}
	if f == XML {
		return decodeXMLInstance(body, false, Limits{})
	}
	return decodeJSONInstance(body, false, Limits{})
}

// DecodeApplication reads the document of one application as a server sends
// it; see [DecodeApplications].
func DecodeApplication(f Format, body []byte) (*eureka.Application, error) {
	body, err := inUTF8(f, body)
	if err != nil {
		return nil, err
	}
	if f == XML {
		return decodeXMLApplication(body)
	}
	return decodeJSONApplication(body, nil)
}

// DecodeApplications reads a list as a server sends it, full or compact: an
// object where old servers write no list of one, numbers as texts and the
// reverse. It fails only when the body is not such a document. Compact answers
// leave fields out, which then have the protocol's defaults. An instance
// without an id is known by its host name, see [eureka.InstanceInfo.ID]; one
// without either, or of no application, is left out.
//
// What comes from elsewhere is read by a [ListDecoder], which has bounds.
func DecodeApplications(f Format, body []byte) (*eureka.Applications, error) {
	body, err := inUTF8(f, body)
	if err != nil {
		return nil, err
	}
	if f == XML {
		return decodeXMLApplications(body)
	}
	return decodeJSONApplications(body, nil)
}

// newListDraft returns a draft for the instances of a list.
func newListDraft(b *budget) *draft {
	d := newDraft(false, Limits{}, newTextCache())
	d.budget = b
	return d
}

// completeApplication gives name and instances what they can have from one
// another.
func completeApplication(a *eureka.Application) {
	a.Name = strings.ToUpper(a.Name)
	a.Instances = slices.DeleteFunc(a.Instances, func(i *eureka.InstanceInfo) bool {
		if i.App == "" {
			i.App = a.Name
		}
		return i.App == ""
	})
	if a.Name == "" && len(a.Instances) > 0 {
		a.Name = a.Instances[0].App
	}
}
