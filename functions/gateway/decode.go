package gateway

import "encoding/json"

// An event is decoded for every request, and encoding/json, which looks at each
// byte twice and finds its way by reflection, took half of a whole read's time.
// The scanner below reads the plain case, which is every event of a real
// gateway; whatever it does not know is left to encoding/json, and so are its
// errors (FuzzDecode holds that both say the same).

// decode decodes an event.
func decode(payload []byte) (*event, error) {
	var quick event
	s := scanner{text: string(payload)}
	if s.event(&quick); s.done() {
		return &quick, nil
	}
	var ev event
	if err := json.Unmarshal(payload, &ev); err != nil {
		return nil, err
	}
	return &ev, nil
}

// event reads the fields of an event.
func (s *scanner) event(ev *event) {
	s.object(func(name string) bool {
		switch name {
		case "version":
			s.string(&ev.Version)
		case "headers":
			s.strings(&ev.Headers)
		case "queryStringParameters":
			s.strings(&ev.Query)
		case "pathParameters":
			s.strings(&ev.PathParameters)
		case "body":
			s.string(&ev.Body)
		case "isBase64Encoded":
			s.bool(&ev.Base64)
		case "requestContext":
			s.requestContext(&ev.RequestContext)
		case "httpMethod":
			s.string(&ev.HTTPMethod)
		case "path":
			s.string(&ev.Path)
		case "multiValueHeaders":
			s.lists(&ev.MultiHeaders)
		case "multiValueQueryStringParameters":
			s.lists(&ev.MultiQuery)
		case "rawPath":
			s.string(&ev.RawPath)
		case "rawQueryString":
			s.string(&ev.RawQuery)
		case "cookies":
			s.list(&ev.Cookies)
		default:
			return false
		}
		return true
	})
}

func (s *scanner) requestContext(rc *requestContext) {
	s.object(func(name string) bool {
		switch name {
		case "stage":
			s.string(&rc.Stage)
		case "domainName":
			s.string(&rc.DomainName)
		case "path":
			s.string(&rc.Path)
		case "resourcePath":
			s.string(&rc.ResourcePath)
		case "identity":
			s.object(s.field("sourceIp", &rc.Identity.SourceIP))
		case "http":
			s.object(func(name string) bool {
				switch name {
				case "method":
					s.string(&rc.HTTP.Method)
				case "path":
					s.string(&rc.HTTP.Path)
				case "sourceIp":
					s.string(&rc.HTTP.SourceIP)
				default:
					return false
				}
				return true
			})
		default:
			return false
		}
		return true
	})
}

// field reads one field of an object.
func (s *scanner) field(name string, to *string) func(string) bool {
	return func(n string) bool {
		if n == name {
			s.string(to)
		}
		return n == name
	}
}
