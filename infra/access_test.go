package infra_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMutualTLSHasNoWayAround: where client certificates are demanded, the API's
// own name, which demands none, is off, and there is no other entry (TestRules).
func TestMutualTLSHasNoWayAround(t *testing.T) {
	branches := list(t, properties(t, "Domain"), "MutualTlsAuthentication", "Fn::If")
	assert.Equal(t, "HasTruststore", branches[0])
	assert.Equal(t, object{"Ref": "TruststoreUri"}, at(t, branches[1], "TruststoreUri"))
	off := list(t, properties(t, "HttpApi"), "DisableExecuteApiEndpoint", "Fn::If")
	require.Equal(t, "HasDomain", off[0])
	assert.Equal(t, []any{"true", "false"}, off[1:])
	for _, configuration := range list(t, properties(t, "Domain"), "DomainNameConfigurations") {
		assert.Equal(t, "TLS_1_2", text(t, configuration, "SecurityPolicy"))
	}
}

// TestRolesReachTheirSecretAlone: the functions that ask for credentials may
// read them, the others may not, and no role may do anything to everything but
// what has no narrower form.
func TestRolesReachTheirSecretAlone(t *testing.T) {
	wide := map[string]bool{"dynamodb:ListStreams": true, "xray:PutTraceSegments": true, "xray:PutTelemetryRecords": true}
	for role, secret := range map[string]bool{"WriteRole": true, "ReadRole": true, "ApiRole": true, "StreamRole": false, "EvictRole": false} {
		found := false
		for _, s := range statementsOf(t, role) {
			for _, action := range actionsOf(t, s) {
				if strings.HasPrefix(action, "secretsmanager:") {
					found = true
					assert.Equal(t, "secretsmanager:GetSecretValue", action)
					assert.Equal(t, "CredentialsSecretArn", text(t, s, "Resource", "Ref"))
				}
				assert.NotContains(t, action, "*", role)
				if resource, ok := at(t, s, "Resource").(string); ok {
					assert.True(t, wide[action], "%s: %s on %s", role, action, resource)
				}
			}
		}
		assert.Equal(t, secret, found, role)
	}
}

// statementsOf returns all statements of a role's policies, also of those that
// depend on a condition.
func statementsOf(t *testing.T, role string) []any {
	t.Helper()
	var out []any
	for _, p := range list(t, properties(t, role), "Policies") {
		policy := p.(object)
		if choice, ok := policy["Fn::If"]; ok {
			policy = choice.([]any)[1].(object)
		}
		out = append(out, list(t, policy, "PolicyDocument", "Statement")...)
	}
	return out
}

func actionsOf(t *testing.T, statement any) []string {
	t.Helper()
	if one, ok := at(t, statement, "Action").(string); ok {
		return []string{one}
	}
	var out []string
	for _, a := range list(t, statement, "Action") {
		out = append(out, a.(string))
	}
	return out
}

// TestThreatsAreHeld: each test and template line that the list of threats names
// is there.
func TestThreatsAreHeld(t *testing.T) {
	section, err := os.ReadFile("THREATS.md")
	require.NoError(t, err)
	source, err := os.ReadFile("../template.yaml")
	require.NoError(t, err)
	tests := testNames(t)
	rows := 0
	for line := range strings.Lines(string(section)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| what |") {
			continue
		}
		rows++
		cells := strings.Split(line, " | ")
		holds := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[len(cells)-1], -1)
		assert.NotEmpty(t, holds, "nothing holds: %s", line)
		for _, hold := range holds {
			_, noFile := os.Stat(filepath.Join("..", hold[1]))
			assert.True(t, tests[hold[1]] || noFile == nil || strings.Contains(string(source), hold[1]), "%s is no test, nor in the template", hold[1])
		}
	}
	assert.Greater(t, rows, 20)
}

// testNames returns the names of the module's tests.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	names := map[string]bool{}
	err := filepath.WalkDir("..", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != ".." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(name)
		for _, match := range declared.FindAllSubmatch(text, -1) {
			names[string(match[1])] = true
		}
		return err
	})
	require.NoError(t, err)
	require.Greater(t, len(names), 200)
	return names
}
