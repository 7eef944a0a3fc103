# What `sam build` runs for each function of template.yaml: the template's
# CodeUri is the folder beside this file that is called as the architecture,
# whose Makefile says what that is to Go. SAM's own Go builder passes neither
# tags nor linker flags, and a binary with its debug data is twice as large.
# HTTP/2 is 0.2 MB more, and the AWS services that are called speak HTTP/1.1.
# GOTOOLCHAIN=auto: what is deployed is built with the Go that go.mod names, as
# its standard library has no known vulnerability.

ROOT := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))../..)

build-%Function:
	cd $(ROOT) && CGO_ENABLED=0 GOOS=linux GOARCH=$(GOARCH) GOTOOLCHAIN=auto go build -trimpath -buildvcs=false -tags lambda.norpc,nethttpomithttp2 \
	  -ldflags '-s -w' -o $(ARTIFACTS_DIR)/bootstrap ./functions/$(shell echo $* | tr A-Z a-z)
