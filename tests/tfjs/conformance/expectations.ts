// The committed list of specs that are known to fail, and its comparison with what happened.
//
// The list is exact in both directions: an unlisted failure is an error, and so is a listed failure that passes now.

import type { SpecResult } from "./protocol.ts";

/** One line of expected_failures.json. */
export interface ExpectedFailure {
  /** Test file, for example "ops/add_test.js". */
  readonly file: string;
  /** Full name of the spec; or `pattern`, a regular expression over full names, for several alike. */
  readonly spec?: string;
  readonly pattern?: string;
  /** The device it fails on; all devices where absent. */
  readonly device?: string;
  /** Why this is right, or what is to be done. */
  readonly reason: string;
}

/** A result list held against the expectations. */
export interface Verdict {
  readonly unexpected: readonly SpecResult[];
  /** Listed failures that happened. */
  readonly expected: readonly SpecResult[];
  /** Specs that are listed as failing and passed. */
  readonly fixed: readonly SpecResult[];
  /** Entries that match no spec that ran, so that they say nothing. */
  readonly stale: readonly ExpectedFailure[];
}

/** Reads and checks the list. */
export async function readExpectations(url: URL): Promise<readonly ExpectedFailure[]> {
  const entries = JSON.parse(await Deno.readTextFile(url)) as ExpectedFailure[];
  for (const entry of entries) {
    const names = Number(entry.spec !== undefined) + Number(entry.pattern !== undefined);
    if (!entry.file || names !== 1) {
      throw new SyntaxError(
        `Cannot use expectation ${
          JSON.stringify(entry)
        }: it needs "file" and one of "spec", "pattern"`,
      );
    }
    if (!entry.reason) {
      throw new SyntaxError(`Cannot use expectation ${JSON.stringify(entry)}: it needs a "reason"`);
    }
  }
  return entries;
}

function matches(entry: ExpectedFailure, { file, spec }: SpecResult): boolean {
  if (entry.file !== file) return false;
  return entry.pattern === undefined ? entry.spec === spec : new RegExp(entry.pattern).test(spec);
}

/** Compares the results of one device with the list. */
export function judge(
  results: readonly SpecResult[],
  entries: readonly ExpectedFailure[],
  device: string,
): Verdict {
  const ours = entries.filter((entry) => entry.device === undefined || entry.device === device);
  const used = new Set<ExpectedFailure>();
  const unexpected: SpecResult[] = [];
  const expected: SpecResult[] = [];
  const fixed: SpecResult[] = [];
  for (const result of results) {
    const hits = ours.filter((entry) => matches(entry, result));
    for (const hit of hits) used.add(hit);
    if (result.status === "failed") (hits.length > 0 ? expected : unexpected).push(result);
    else if (result.status === "passed" && hits.length > 0) fixed.push(result);
  }
  return { unexpected, expected, fixed, stale: ours.filter((entry) => !used.has(entry)) };
}
