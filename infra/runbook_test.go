package infra_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRunbookCommands: what the runbook deploys are parameters with values that
// CloudFormation accepts, and the outputs that it reads are there.
func TestRunbookCommands(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	deploys := 0
	for _, section := range regexp.MustCompile("(?m)^##+ ").Split(string(readme), -1) {
		parameters := map[string]string{"CredentialsSecretArn": "the first deployment's"}
		for _, m := range regexp.MustCompile(`--parameter-overrides "([^"]+)"`).FindAllStringSubmatch(section, -1) {
			deploys++
			for word := range strings.FieldsSeq(m[1]) {
				name, value, _ := strings.Cut(word, "=")
				if word == "..." {
					continue
				}
				assert.Contains(t, dict(t, template(t), "Parameters"), name)
				if !strings.Contains(value, "$") {
					assert.True(t, acceptor(t, name)(value), word)
				}
				parameters[name] = value
			}
			assert.Empty(t, refusals(t, template(t), parameters), m[1])
		}
	}
	assert.Greater(t, deploys, 8)
	outputs := dict(t, template(t), "Outputs")
	for _, m := range regexp.MustCompile(`\$\(output (\w+)\)`).FindAllSubmatch(readme, -1) {
		assert.Contains(t, outputs, string(m[1]))
	}
}

// TestPagesLink: relative links and anchors of the pages lead somewhere.
func TestPagesLink(t *testing.T) {
	for _, page := range []string{"README.md", "THREATS.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(string(m[1]), "#")
			if strings.Contains(target, "://") {
				continue
			}
			if target == "" {
				target = page
			}
			data, err := os.ReadFile(target)
			if err != nil {
				assert.DirExists(t, target, "%s: %s", page, m[1])
				continue
			}
			if anchor != "" {
				assert.Contains(t, anchors(string(data)), anchor, "%s: %s", page, m[1])
			}
		}
	}
}

// anchors returns those of a page's headings.
func anchors(page string) []string {
	var out []string
	for _, m := range regexp.MustCompile("(?m)^#+ (.+)$").FindAllStringSubmatch(page, -1) {
		words := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, strings.ReplaceAll(words, " ", "-"))
	}
	return out
}
