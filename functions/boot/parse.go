package boot

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A setter reads one setting's text into the configuration. The functions
// below make setters for fields of each type.
type setter = func(*Config, string) error

// field makes a setter of a parser.
func field[T any](at func(*Config) *T, parse func(string) (T, error)) setter {
	return func(c *Config, text string) error {
		value, err := parse(text)
		if err != nil {
			return err
		}
		*at(c) = value
		return nil
	}
}

func text(at func(*Config) *string) setter {
	return field(at, func(s string) (string, error) { return s, nil })
}

func boolean(at func(*Config) *bool) setter {
	return field(at, func(s string) (bool, error) {
		switch s {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return false, errors.New("neither true nor false")
	})
}

// The forms of settings. The template's parameters have the same, so that a value
// that deploys also starts (TestParametersAreSettings).
var (
	durationForm = regexp.MustCompile(`^(0|[1-9][0-9]{0,5})(ms|s|m|h)$`)
	countForm    = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})$`)
	ratioForm    = regexp.MustCompile(`^0?\.0{0,5}[1-9][0-9]{0,5}$`)
	sizeForm     = regexp.MustCompile(`^[1-9][0-9]{0,8}(KiB|MiB)?$`)
)

// duration reads times that may be 0.
func duration(at func(*Config) *time.Duration) setter {
	return field(at, func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err != nil || !durationForm.MatchString(s) {
			return 0, errors.New("not a duration such as 30s, 5m or 1h")
		}
		return d, nil
	})
}

// positive reads times that may not be 0.
func positive(at func(*Config) *time.Duration) setter {
	return field(at, func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err != nil || d == 0 || !durationForm.MatchString(s) {
			return 0, errors.New("not a duration above zero, such as 30s, 5m or 1h")
		}
		return d, nil
	})
}

func count(at func(*Config) *int) setter {
	return field(at, func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || !countForm.MatchString(s) {
			return 0, errors.New("not a whole number of 0 or more")
		}
		return n, nil
	})
}

// atLeastOne reads numbers that may not be 0.
func atLeastOne(at func(*Config) *int) setter {
	return field(at, func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n == 0 || !countForm.MatchString(s) {
			return 0, errors.New("not a whole number of 1 or more")
		}
		return n, nil
	})
}

// maxInstance is the largest REGISTRY_MAX_INSTANCE, which is what the stored
// form of an instance can hold.
const maxInstance = 1 << 20

func instanceSize(c *Config, text string) error {
	var bytes int64
	if err := size(func(*Config) *int64 { return &bytes })(c, text); err != nil {
		return err
	}
	if bytes > maxInstance {
		return errors.New("more than 1MiB")
	}
	c.MaxInstance = int(bytes)
	return nil
}

func ratio(at func(*Config) *float64) setter {
	return field(at, func(s string) (float64, error) {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !ratioForm.MatchString(s) {
			return 0, errors.New("not a number between 0 and 1, such as 0.85")
		}
		return f, nil
	})
}

// perSecond reads rates.
func perSecond(at func(*Config) *float64) setter {
	return field(at, func(s string) (float64, error) {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f > 0) || f > maxRate {
			return 0, fmt.Errorf("not a number above 0 and up to %d", maxRate)
		}
		return f, nil
	})
}

// maxRate is the largest rate, which is as good as none.
const maxRate = 1_000_000

// list reads texts separated by commas.
func list(at func(*Config) *[]string) setter {
	return field(at, func(s string) ([]string, error) {
		var out []string
		for item := range strings.SplitSeq(s, ",") {
			item = strings.TrimSpace(item)
			if item == "" {
				return nil, errors.New("an empty name")
			}
			out = append(out, item)
		}
		return out, nil
	})
}

// units are the units of sizes, the longer ones first.
var units = []struct {
	suffix string
	bytes  int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"", 1}}

func size(at func(*Config) *int64) setter {
	return field(at, func(s string) (int64, error) {
		for _, unit := range units {
			number, ok := strings.CutSuffix(s, unit.suffix)
			if !ok {
				continue
			}
			if n, err := strconv.ParseInt(number, 10, 32); err == nil && sizeForm.MatchString(s) {
				return n * unit.bytes, nil
			}
			break
		}
		return 0, errors.New("not a size above zero, such as 65536, 64KiB or 1MiB")
	})
}

func endpoint(at func(*Config) *string) setter {
	return field(at, func(s string) (string, error) {
		u, err := url.Parse(s)
		if err != nil || u.Hostname() == "" || u.Port() != "" && !isPort(u.Port()) || u.Scheme != "http" && u.Scheme != "https" {
			return "", errors.New("not a URL such as http://127.0.0.1:8000")
		}
		return s, nil
	})
}

// address reads a host and a port to listen at; the host may be empty.
func address(at func(*Config) *string) setter {
	return field(at, func(s string) (string, error) {
		host, port, err := net.SplitHostPort(s)
		switch {
		case err == nil && port != "" && !isPort(port):
			return "", errors.New("the port is not a number from 0 to 65535")
		case err == nil && port != "" && !strings.ContainsAny(host, "/ "):
			return s, nil
		case isPort(s):
			return "", fmt.Errorf("host or port is missing; write 127.0.0.1:%s, or :%[1]s for every address of this machine", s)
		case err == nil && port == "" || net.ParseIP(s) != nil || !strings.Contains(s, ":"):
			return "", errors.New("the port is missing; write host:port, such as 127.0.0.1:8761")
		}
		return "", errors.New("not an address such as 127.0.0.1:8761 or [::1]:8761")
	})
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// shortestPace is the shortest time between two rounds of work that goes on all
// the time; a shorter one would only keep a processor busy.
const shortestPace = time.Second

// pace reads the time between two rounds of work; 0 turns the work off.
func pace(at func(*Config) *time.Duration) setter {
	return func(c *Config, text string) error {
		if err := duration(at)(c, text); err != nil {
			return err
		}
		if d := *at(c); d > 0 && d < shortestPace {
			return fmt.Errorf("shorter than %s", shortestPace)
		}
		return nil
	}
}

// tableName reads a name that DynamoDB takes for a table.
func tableName(at func(*Config) *string) setter {
	return field(at, func(s string) (string, error) {
		if !tableNames.MatchString(s) {
			return "", errors.New("not the name of a table, which has 3 to 255 letters, digits, underscores, hyphens and dots")
		}
		return s, nil
	})
}

// awsRegion reads the name of an AWS region, which becomes part of a host name.
func awsRegion(at func(*Config) *string) setter {
	return field(at, func(s string) (string, error) {
		if !awsRegions.MatchString(s) {
			return "", errors.New("not a region such as us-east-1")
		}
		return s, nil
	})
}

var (
	tableNames = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)
	awsRegions = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

func level(c *Config, text string) error {
	if err := c.LogLevel.UnmarshalText([]byte(text)); err != nil {
		return errors.New("not debug, info, warn or error")
	}
	return nil
}
