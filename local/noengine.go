//go:build noemulator

package main

// emulatorCommands are none in a build for service, which `make run` and the
// image are: the emulator would be a third of the program.
func emulatorCommands() []command { return nil }
