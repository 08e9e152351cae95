// The judge of random conformance cases: Kubernetes' own code, without a cluster.
//
// It reads one case per line on standard input, in the format of tests/conformance, and writes one
// answer per line, as the case's "expect" would be. The argument names the suite: validation,
// selector, placement, scaledown or filters.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// A line of placement has a whole cluster; the longest generated ones have 60 kB.
const longestLine = 16 << 20

type judge func(line []byte) (any, error)

var judges = map[string]judge{
	"validation": judgeValidation,
	"selector":   judgeSelector,
	"placement":  judgePlacement,
	"scaledown":  judgeScaledown,
	"filters":    judgeFilters,
}

func main() {
	if len(os.Args) != 2 || judges[os.Args[1]] == nil {
		fail("usage: oracle validation|selector|placement|scaledown|filters < cases.jsonl")
	}
	answer := judges[os.Args[1]]
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 0, 1<<20), longestLine)
	out := bufio.NewWriter(os.Stdout)
	for number := 1; lines.Scan(); number++ {
		found, err := answer(lines.Bytes())
		if err != nil {
			fail(fmt.Sprintf("case %d: %v", number, err))
		}
		written, err := json.Marshal(found)
		if err != nil {
			fail(fmt.Sprintf("case %d: %v", number, err))
		}
		out.Write(written)
		out.WriteByte('\n')
	}
	if err := lines.Err(); err != nil {
		fail(err.Error())
	}
	if err := out.Flush(); err != nil {
		fail(err.Error())
	}
}

func fail(problem string) {
	fmt.Fprintln(os.Stderr, "oracle: "+problem)
	os.Exit(1)
}
