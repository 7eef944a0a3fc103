// Command cost prints what the registry costs a month on AWS, as README.md
// beside it shows it: `make cost`. What the database does comes from simulated
// hours on an engine that counts capacity as DynamoDB does (measured.json);
// prices are list prices with their date (prices.json).
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

//go:embed prices.json
var pricesJSON []byte

//go:embed measured.json
var measuredJSON []byte

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	var p prices
	var m measured
	if err := decode(pricesJSON, &p); err != nil {
		return fmt.Errorf("prices.json: %w", err)
	}
	if err := decode(measuredJSON, &m); err != nil {
		return fmt.Errorf("measured.json: %w", err)
	}
	return page(out, &p, &m)
}

func decode(data []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(to)
}
