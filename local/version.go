package main

import (
	"context"
	"runtime"
	"runtime/debug"
)

const versionHelp = `
Prints the version: that of the module, or the commit that it was built from.`

// runVersion is the sub-command version.
func runVersion(_ context.Context, p *process) error {
	build, _ := debug.ReadBuildInfo()
	p.say("registry %s, %s, %s/%s", versionOf(build), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

// versionOf returns the version that a build has, "unknown" when it has none.
func versionOf(build *debug.BuildInfo) string {
	if build == nil {
		return "unknown"
	}
	if v := build.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	commit, changed := "", ""
	for _, s := range build.Settings {
		switch {
		case s.Key == "vcs.revision" && s.Value != "":
			commit = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = ", changed since"
		}
	}
	if commit == "" {
		return "unknown"
	}
	return "commit " + commit + changed
}
