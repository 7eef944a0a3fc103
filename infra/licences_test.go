package infra_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var updateLicences = flag.Bool("update", false, "write licences.md anew")

// licences tell licences by words that only they have, and whether the terms are
// no more than to keep a notice. The one that is not may be used by tests,
// which nobody is given.
var licences = []struct {
	name, words string
	permissive  bool
}{
	{"Apache-2.0", "Apache License Version 2.0", true},
	{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy", true},
	{"BSD", "Redistribution and use in source and binary forms, with or without modification, are permitted", true},
	{"MPL-2.0", "Mozilla Public License Version 2.0", false},
}

// audiences are who a module may be part of, the most exposed first.
var audiences = []struct{ name, pattern string }{
	{"functions", "./functions/..."}, {"local process", "./local"}, {"tests", "./..."},
}

// TestLicences: licences.md lists every module that is built into the functions,
// the local process or the tests, with the licence in its folder; and what is
// handed on has permissive ones only.
func TestLicences(t *testing.T) {
	seen := map[string]bool{}
	var rows []string
	for _, use := range audiences {
		modules := modulesOf(t, use.pattern, use.name == "tests")
		for _, path := range slices.Sorted(maps.Keys(modules)) {
			if seen[path] {
				continue
			}
			seen[path] = true
			licences, permissive := licencesIn(t, modules[path])
			assert.NotEmpty(t, licences, "%s: no licence that is known here", path)
			assert.True(t, permissive || use.name == "tests", "%s: %s", path, licences)
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |", path, strings.Join(licences, ", "), use.name))
		}
	}
	require.Greater(t, len(rows), 20)
	want := licencesHead + strings.Join(rows, "\n") + "\n"
	if *updateLicences {
		require.NoError(t, os.WriteFile("licences.md", []byte(want), 0o644))
	}
	got, err := os.ReadFile("licences.md")
	require.NoError(t, err)
	assert.Equal(t, want, string(got), "go test ./infra -run TestLicences -update writes it anew; look at what changed")
}

const licencesHead = `# Licences of the modules

Kept by ` + "`TestLicences`" + `, which reads the licence in each module's folder. "Used by" names the most exposed use: the functions that
are deployed, the process on a laptop, or tests alone.

| module | licence | used by |
|---|---|---|
`

// modulesOf returns the foreign modules that packages are built from, and their
// folders.
func modulesOf(t *testing.T, pattern string, tests bool) map[string]string {
	t.Helper()
	args := []string{"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}"}
	if tests {
		args = append(args, "-test")
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, pattern)...)
	cmd.Dir = ".."
	// Whatever this machine is; on arm64 one module less is needed.
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	require.NoError(t, err)
	modules := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			modules[path] = dir
		}
	}
	return modules
}

// licencesIn returns the licences that a folder's files hold.
func licencesIn(t *testing.T, dir string) (names []string, permissive bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "LICENSE*"))
	require.NoError(t, err)
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all = append(all, text...)
	}
	all = bytes.Join(bytes.Fields(all), []byte(" "))
	permissive = true
	for _, l := range licences {
		if bytes.Contains(all, []byte(l.words)) {
			names, permissive = append(names, l.name), permissive && l.permissive
		}
	}
	return names, permissive
}
